"""The program ``paimon-spark``: what the store can do, from a shell. It needs no Spark and does not import it.

Here: the program, its arguments, messages, and how values are printed. Commands are in ``commands``,
but for ``sql``, which is in the room ``shell`` above.
May import: catalog, procedures, store and what lies below.
Invariant: stdout holds the output alone; messages go to stderr; an error is one sentence and exit code 2.
"""
