"""``paimon_spark.catalog``: the tables of a warehouse by their names, in Python and in SQL.

May import: ``spark.statements``, ``catalogs.factory``. No JVM.
Invariant: a method does what the SQL statement of its name does.
"""
