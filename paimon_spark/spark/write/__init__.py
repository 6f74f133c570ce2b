"""Writes from Spark: opened on the driver, routed to buckets, written in tasks, committed on the driver.

May import: ``spark.adapters``. No JVM.
Invariant: a job commits once, whichever way its rows take; tasks that are repeated leave no rows behind.
"""
