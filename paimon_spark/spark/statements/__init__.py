"""Statements of SQL, done: one function for each kind of statement that ``paimon_spark.sql`` reads.

May import: ``spark.copy``, ``spark.queries``, ``procedures.call``. No JVM.
Invariant: a statement that names a table of ours is done or refused here; Spark gets only what it can do alone.
"""
