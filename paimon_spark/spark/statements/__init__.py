"""Statements of SQL, done: one function for each kind of statement that ``paimon_spark.sql`` reads.

May import: ``spark.table``, ``spark.native`` and what lies below, ``sql``, ``catalogs``, ``procedures``.
Invariant: a statement that names a table of ours is done or refused here; Spark gets only what it can do alone.
"""
