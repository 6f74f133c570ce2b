"""Keys and windows of rows: key order as integers, sections of overlapping files, the winning rows.

May import: ``arrow``.
Invariant: the order of keys is exactly Java's (format section 7.2), for every type.
"""
