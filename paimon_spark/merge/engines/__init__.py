"""Merge engines: each turns the rows of one window into the rows that a reader or a compaction keeps.

May import: ``merge.aggregates``.
Invariant: an engine gets all rows of a key at once, sorted by key and sequence number.
"""
