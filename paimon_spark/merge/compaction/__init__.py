"""The rules of compaction as pure functions: which files are merged, and which rows and changelog result.

May import: ``merge.runs``.
Invariant: a compaction changes what a read returns only where reads skip level 0, and where
``record-level.expire-time`` drops old rows.
"""
