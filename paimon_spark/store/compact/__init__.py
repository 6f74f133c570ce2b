"""Compaction of buckets: the plan, the tasks, and the COMPACT snapshot.

May import: ``store.scan``, ``store.write``, ``store.commit`` and what lies below.
Invariant: a bucket that another job changed is planned again; results from files that are no longer live are never
committed.
"""
