"""Columns of values in Arrow: types, casts, schema evolution, hashes and buckets.

May import: errors, ``format``. No storage.
Invariant: whole columns at a time; no function here loops over rows, except where a docstring says why.
"""
