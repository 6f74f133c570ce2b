"""The operations on tables, each declared once: its arguments with their docs, what it does, and what follows it.

A procedure is a frozen dataclass of its arguments, with ``run(table, engine)``. The methods of ``PaimonTable``, the
commands of the program and SQL ``CALL`` take names, types, defaults and help from the declaration. What only one of
them has (a question before files go, progress bars, output) stays with it. What may be too big for one process is asked
of an ``Engine``: ``LocalEngine`` works in this process, the Spark package has one of Spark tasks.

May import: ``store.indexing``, ``store.upkeep``. No Spark, no ``cli``.
Invariants: the name of a procedure, and the names and order of its arguments in SQL, are those of the official system
where that has the procedure. A module with declarations imports no other one of them (but ``databases`` runs
``orphan_files``), so that a command imports only what it runs; ``catalogue`` imports each when it is asked for,
``table_procedures`` all.
"""
