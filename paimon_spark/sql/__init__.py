"""SQL text in, frozen statements out: which tables of ours a text names, and what it asks of them.

May import: errors, ``sql.text``, ``sql.queries``. No Spark, no storage, no catalog: whether a table exists, and what
its columns are, is asked by those who run a statement.
Invariant: what is ours and not understood is refused; what is not ours stays as it is. ``parse`` is the entry.
"""
