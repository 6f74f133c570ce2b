"""One table on storage: its snapshots, reads, writes, commits, compaction and expiry, its tags and branches.

No Spark. A name after "Java:" is a class or method of the official system, as the sources of its 2.1 snapshot have it
(docs/internals/format.md and features.md), unless another release is given.
"""
