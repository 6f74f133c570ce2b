"""Rules for whole tables: what a new table must fulfil, and which tables and columns this release can read and write.

May import: ``format.file_index``.
Invariant: a feature that this release does not support is refused by its name; it never gives wrong rows.
"""
