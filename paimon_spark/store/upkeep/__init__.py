"""Upkeep after commits, and jobs on whole tables: expiry, compaction after writes, analysis, copies, done marks.

May import: ``store.clean``, ``store.clustering``, ``store.open``, ``store.rescale``.
Libraries: ``datasketches`` in ``count_columns``.
Invariant: upkeep never fails a commit that has happened; a failure is logged, and a later commit does the work.
"""
