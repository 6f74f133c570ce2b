"""What a writer task hands to the committer (Java: CommitMessageImpl)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.format.manifest import DataFileMeta, IndexManifestEntry


@dataclass(frozen=True, slots=True)
class NewHashes:
    """What a task knows of the HASH index of a dynamic bucket it wrote to.

    Attributes:
        hashes: those it adds to the bucket, little-endian int32, each once; none where its rows have known keys, or
            where the task wrote the index file itself.
        planned: the index manifest in which the job looked for known hashes; None: there was none to look into.
    """

    hashes: bytes
    planned: str | None


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """The changes of one task to one (partition, bucket). partition is an arity-prefixed BinaryRow.

    new_files, deleted_files and changelog_files go into the APPEND (or OVERWRITE) snapshot; the compact_* files into
    the COMPACT snapshot. Index entries of kind ADD and DELETE go with the files beside them. new_hashes is None for
    tables without a HASH index; else the commit makes index entries of it.
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
