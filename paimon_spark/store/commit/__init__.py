"""Commits: turns commit messages into a snapshot, and writes the index files of deletion vectors (``vector_files``).

States of a commit::

    read the latest snapshot -> check conflicts -> write manifests -> create snapshot-<n> if absent
         ^                                                             |            |
         +---------- delete the manifests of this attempt <- lost -----+            v won
         ^                                                             check the base (``base``)
         +------------------------ withdraw snapshot-<n> <- base gone -+            |
                                                                                    v base present: done

Invariants (protocol C1 to C14 in docs/internals/protocol.md): a snapshot becomes visible in one atomic step; no file is
deleted after a step whose outcome is unknown (CommitStateUnknown); a commit of the same user and identifier happens
once; no commit builds on a snapshot that may be withdrawn.

May import: ``store.buckets``, ``store.holds``, ``store.iceberg``, ``store.reporting``. No ``store.read``.
"""
