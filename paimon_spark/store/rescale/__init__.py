"""Moves rows to other buckets: a new number of buckets, and postponed rows that get their bucket.

May import: ``store.compact``, ``store.scan``.
Invariant: postponed rows keep their order: of equal keys the row that was written later wins.
"""
