"""SQL text in, frozen statements out: which tables of ours a text names, and what it asks of them.

May import: ``sql.queries``. No Spark, no storage, no ``catalogs``. The caller finds out if a table exists and which
columns it has.
Invariant: what is ours and not understood is refused; what is not ours stays as it is. ``parse`` is the entry.
"""
