"""Commit messages: what a writer task hands to the committer (Java: CommitMessageImpl)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.format.manifest import DataFileMeta, IndexManifestEntry


@dataclass(frozen=True, slots=True)
class NewHashes:
    """The key hashes that a task adds to the HASH index of a dynamic bucket.

    Attributes:
        hashes: the new hashes, little-endian int32, each once; empty if all keys of its rows are known, or if the task
            wrote the index file itself.
        planned: the index manifest in which the job looked up known hashes; None: the snapshot had none.
    """

    hashes: bytes
    planned: str | None


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """The changes of one task to one (partition, bucket).

    Attributes:
        partition: an arity-prefixed BinaryRow.
        new_files, deleted_files, changelog_files: the changes of the APPEND (or OVERWRITE) snapshot; their index
            entries, of kind ADD and DELETE, are committed with them.
        compact_*: the changes of the COMPACT snapshot.
        new_hashes: the commit makes index entries of these; None for tables without a HASH index.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    deleted_files: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()
    index_entries: tuple[IndexManifestEntry, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    compact_changelog: tuple[DataFileMeta, ...] = ()
    compact_index_entries: tuple[IndexManifestEntry, ...] = ()
    new_hashes: NewHashes | None = None
