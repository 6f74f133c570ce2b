"""Rows moved to other buckets: a new number of buckets, and postponed rows that get their bucket.

May import: ``store.compact``, ``store.write``, ``store.commit`` and what lies below.
Invariant: rows that waited keep their order: a row that was written later wins.
"""
