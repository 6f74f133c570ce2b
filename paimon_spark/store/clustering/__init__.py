"""Rewrites files of tables without a primary key so that their rows are sorted by columns or along a curve.

May import: ``store.compact``.
Invariant: one COMPACT snapshot replaces just the files that were read; a bucket that another job changed is sorted
again or left as it is.
"""
