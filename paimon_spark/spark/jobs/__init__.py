"""Writes and maintenance as Spark jobs: planned and committed on the driver; tasks read and write the data files.

May import: ``spark.write``, ``store.indexing``. No JVM.
"""
