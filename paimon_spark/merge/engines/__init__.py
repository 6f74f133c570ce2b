"""Merge engines: each turns the rows of one window into the rows that a reader or a compaction keeps.

May import: ``merge.aggregates``, ``merge.keys`` and what lies below.
Invariant: an engine gets all rows of a key at once, sorted by key and sequence number.
"""
