"""Dynamic buckets: the bucket of each key, by the HASH index files (format section 8.2).

May import: ``store.metadata``.
Invariant: a key that has a bucket keeps it, until the table is rescaled.
"""
