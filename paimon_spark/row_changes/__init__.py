"""DELETE, UPDATE and MERGE, with Spark and without it: tried until they are committed, on the state that was read.

A statement reads its table at one snapshot, writes what changes, and one commit publishes it, or refuses if another job
has changed the same rows since. Then the statement runs again from the start (``attempts``). What a merge engine would
not apply is an error (``update_rules``). Without Spark, ``statements_here`` and ``merge_here`` find the changes on
Arrow, by conditions and values of ``arrow_values``, and ``written_here`` writes them; with Spark the rooms above do.

May import: ``store.rows``, ``sql.queries``, ``writes``. No Spark.
Invariant: a statement is committed on the state that it has read, or not at all.
"""
