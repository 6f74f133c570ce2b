"""Compaction as arithmetic: which files are merged, and what becomes of their rows.

May import: ``merge.runs`` and what lies below.
Invariant: a compaction never changes what a read returns.
"""
