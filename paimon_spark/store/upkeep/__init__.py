"""Upkeep after commits, and jobs on whole tables: expiry, compaction after writes, analysis, copies, done marks.

May import: all rooms of the store but ``store.checks``.
Invariant: upkeep never fails a commit that has happened; it is logged and tried again by the next one.
"""
