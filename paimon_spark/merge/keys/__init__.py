"""Keys and windows of rows: the order of keys, sections of overlapping files, the order of the rows of a key.

May import: ``arrow``.
Invariant: the order of keys is exactly Java's (format section 7.2), for every type.
"""
