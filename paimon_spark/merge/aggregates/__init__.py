"""Aggregate functions: each folds the values of one column, key by key, into one value a key.

May import: ``merge.keys``.
Libraries: ``pyroaring`` in ``bitmaps``; ``datasketches`` in ``sketches``.
Invariant: a function sees the values of a key in the order in which they were written.
"""
