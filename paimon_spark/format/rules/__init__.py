"""Rules for whole tables: what a new table must fulfil, and which tables and columns this release can read and write.

May import: errors, ``format``, ``format.options``. No I/O.
Invariant: a feature that this release does not support is refused by its name; it never gives wrong rows.
"""
