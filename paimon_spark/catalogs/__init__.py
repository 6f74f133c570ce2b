"""Catalogs: databases and tables by name; and the creation of a table by its first schema.

``FileCatalog`` is the catalog over files, once. ``names`` is its port: what stores the names of databases and tables.
The directories of a warehouse are one (``filesystem``), the rooms ``jdbc`` and ``hive`` two others. ``rest`` is a
catalog of its own, because a server keeps its tables.

May import: ``store.clean``, ``store.open``. No Spark.
Invariant: a table is created by its first schema file, in one atomic step; what an interrupted creation, rename or drop
leaves is a whole table or none, for every reader and writer.
"""
