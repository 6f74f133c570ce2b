"""The order of clustered rows: by columns, by a z-order or by a Hilbert curve, and the ranges that a sort is cut into.

May import: ``merge.keys``.
Invariant: rows of a lower range never come after rows of a higher one; no loop of Python goes over rows.
"""
