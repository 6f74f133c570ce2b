"""Queries over the tables of a catalog: what a session is, how a table is named and read in it, and how a query runs.

May import: ``spark.table``, ``sql``. No JVM.
Invariant: a table is read with all that the session says of it, whether a query names it or a method.
"""
