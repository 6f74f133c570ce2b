"""MERGE INTO: which row of a source meets which row of a table, and what becomes of each.

The clauses are put together by ``clauses``, or read from SQL. ``merge`` joins the source with the rows of the table
that may match, gives each row its kind by the first clause that fits, and hands the changes to the writers of
``spark.rows``.

May import: ``spark.rows``. No JVM.
Invariant: several rows of the source for one row of the table are an error, not a choice.
"""
