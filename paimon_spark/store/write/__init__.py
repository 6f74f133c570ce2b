"""Writes rows to data files and makes commit messages: defaults, buckets, sorted runs, file layout.

May import: ``store.buckets``, ``merge.clustering``, ``merge.runs``, ``arrow.file_index``, ``arrow.formats``. No
``store.commit``.
Invariant: nothing that is written here is visible before a commit; a write that fails deletes its files.
"""
