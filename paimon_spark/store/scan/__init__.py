"""Plans reads: time travel, pruning by partition and bucket, increments, branches; the result is splits.

May import: ``store.search``. No ``store.commit``.
Libraries: ``duckdb`` in ``table_scan``; ``polars`` in ``polars_frame``, ``table_scan``.
Invariant: the splits of a plan hold every row that may satisfy the condition, and each row once.
"""
