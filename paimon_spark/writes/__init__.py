"""Writes, with Spark and without it: opened, written in tasks, committed once, followed by upkeep.

A ``WriteJob`` is what tasks and commit need to know. ``open_write`` makes it: it opens the table, or creates it, and
checks all that can be checked before there is a row. ``task_rows`` is a task. ``end_write`` is the end of every write.
How rows come to tasks is decided elsewhere.

May import: ``catalogs``, ``store.evolution``, ``store.stream_sink``. No Spark.
Invariant: a job commits once, whoever runs it; a try that fails leaves no rows behind.
"""
