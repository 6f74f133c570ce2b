"""Expiry of snapshots and changelogs, with the files that only they need.

May import: ``store.commit``, ``store.stream_notes``. No ``store.read``.
Invariant: a file is deleted only if no snapshot, tag, branch, changelog or hold needs it.
"""
