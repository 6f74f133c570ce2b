"""Tables in a process without Spark: opened by path or by name, read, written and kept.

``open_table`` and ``open_catalog`` return tables that have everything of ``store.open``, and the writes and procedures
on top. Rows are written by this process, by the same jobs, commits and rules as those of Spark.

May import: ``catalogs.factory``, ``procedures``, ``row_changes``, ``store.stream_source``. No Spark.
Invariant: what a call has written is committed once, or no reader sees it.
"""
