"""The rules of compaction as pure functions: which files are merged, and which rows and changelog result.

May import: ``merge.runs``.
Invariant: a compaction never changes what a read returns.
"""
