"""Rows changed in place: DELETE and UPDATE, and what MERGE shares with them, on classic Spark and on Connect.

A statement reads its table at one snapshot and makes a DataFrame of changes: rows with a kind, and for append tables
with the place of the row that they change. A writer turns the changes into files by the strategy that ``store.rows``
chooses for the table, and one commit publishes them, or refuses if another job has changed the same rows since. Then
the statement runs again from the start.

May import: ``spark.native``, ``spark.jobs``, ``row_changes``. No JVM.
Invariant: the driver holds the rows of few changes at most; of others it sees names of files and counts of rows.
"""
