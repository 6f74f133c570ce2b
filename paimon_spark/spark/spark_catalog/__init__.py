"""``register_catalog``: the tables of a warehouse in Spark's own SQL and DataFrames, without a jar.

Spark asks a catalog, its tables and their scans by Java interfaces. JVM objects whose calls this process answers
implement them; two classes are compiled. Nothing of ours is sent to the executors but functions and readers of Python.

May import: ``spark.statements``, ``catalogs.factory``. Libraries: ``py4j``.
Invariant: a session with the catalog shows the rows, and does the changes, that ``SessionCatalog.sql`` does.
"""
