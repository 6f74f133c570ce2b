"""Conditions on rows: one frozen tree, parsed from SQL or Python, evaluated on rows and on statistics.

May import: ``arrow.statistics``, ``arguments``.
Libraries: ``sqlglot`` in ``sql_text``.
Invariant: three-valued logic as Spark's; on statistics a condition may keep too much, never too little.
"""
