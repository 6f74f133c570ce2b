"""Maintenance as Spark jobs: planned and committed on the driver, which reads no data file; tasks do the rest.

May import: ``spark.write``. No JVM.
"""
