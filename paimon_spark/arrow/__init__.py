"""Columns of values in Arrow: types, casts, schema evolution, hashes and buckets.

May import: ``format``. No storage.
Libraries: ``pytz`` in ``zones``.
Invariant: functions work on whole columns; none loops over rows, except where its docstring says why.
"""
