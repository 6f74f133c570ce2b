"""Compaction of buckets: the plan, the tasks, and the COMPACT snapshot.

May import: ``store.write``, ``store.pruning``, ``store.commit``.
Invariant: a bucket that another job changed is planned again; results from files that are no longer live are never
committed.
"""
