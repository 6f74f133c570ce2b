"""What a writer task hands to the committer (Java: CommitMessageImpl)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.spec.manifest import DataFileMeta, IndexManifestEntry


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """The changes of one task to one (partition, bucket). partition is an arity-prefixed BinaryRow.

    new_files, deleted_files and changelog_files go into the APPEND (or OVERWRITE) snapshot; the compact_* files into
    the COMPACT snapshot. Index entries of kind ADD and DELETE go with the files beside them.
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
