"""DELETE, UPDATE and MERGE, with Spark and without it: tried until they are committed, on the state that was read.

A statement reads its table at one snapshot, writes what changes, and one commit publishes it, or refuses if another job
has changed the same rows since. Then the statement runs again from the start (``attempts``). What a statement finds and
writes is decided elsewhere: by Spark for statements of a session.

May import: ``store.rows``, ``writes``. No Spark.
Invariant: a statement is committed on the state that it has read, or not at all.
"""
