"""Compaction of buckets: the plan, the tasks, and the COMPACT snapshot.

May import: ``store.scan``, ``store.write``, ``store.commit`` and what lies below.
Invariant: a bucket that another job changed is planned again; files that are not live any more are never committed.
"""
