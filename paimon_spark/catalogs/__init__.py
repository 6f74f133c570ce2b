"""Catalogs: databases and tables by name, over directories; and the creation of a table by its first schema.

May import: ``store.clean``, ``store.open``. No Spark.
Invariant: a table is created by its first schema file, in one atomic step; what an interrupted creation, rename or drop
leaves is a whole table or none, for every reader and writer.
"""
