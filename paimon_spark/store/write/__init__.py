"""Writes rows to data files and makes commit messages: defaults, buckets, sorted runs, file layout.

May import: ``store.buckets``, ``merge.clustering``, ``arrow.file_index``. No ``store.commit``.
Invariant: nothing that is written here is visible before a commit; a write that fails deletes its files.
"""
