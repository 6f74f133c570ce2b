"""Aggregate functions: each folds the values of one column, key by key, into one value a key.

May import: ``merge.keys``.
Libraries: ``pyroaring`` in ``unions``; ``datasketches`` in ``unions``.
Invariant: a function sees the values of a key in the order in which they were written.
"""
