"""Queries over the tables of a catalog: what a session is, how a table is named and read in it, and how a query runs.

May import: ``spark.table``, ``spark.native`` and what lies below, ``sql``, ``catalogs``.
Invariant: a table is read with all that the session says of it, whether a query names it or a method.
"""
