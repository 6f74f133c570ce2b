"""Commit messages: what a writer task hands to the committer, and the manifest entries that they make.

The changes of a commit: the messages of its tasks as manifest entries (Java: ManifestEntryChanges).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from paimon_spark.format.manifest import DataFileMeta, FileKind, FileSource, IndexManifestEntry, ManifestEntry
from paimon_spark.format.schema import ROW_ID
from paimon_spark.merge.keys.row_ids import is_part_file

DELETION_VECTORS = "DELETION_VECTORS"


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


@dataclass(frozen=True)
class NewBase:
    """What a commit says anew of the files of the state that it builds on; the files stay as they are.

    Attributes:
        manifests: the name of a manifest of the state -> the entries that take the place of its own.
        index: all index files.
        next_row_id: the first id that no row has.
    """

    manifests: Mapping[str, Sequence[ManifestEntry]]
    index: tuple[IndexManifestEntry, ...]
    next_row_id: int


@dataclass(frozen=True)
class CommitChanges:
    """The content of one snapshot's delta: data files, changelog files, index files.

    Attributes:
        base: what is said anew of files that are there; None: nothing. The delta is empty where it is given.
    """

    files: tuple[ManifestEntry, ...] = ()
    changelog: tuple[ManifestEntry, ...] = ()
    index: tuple[IndexManifestEntry, ...] = ()
    base: NewBase | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.files or self.changelog or self.index or self.base)

    @property
    def deletes(self) -> bool:
        """True if live data is removed, by file or by deletion vector, so that the commit is not an append."""
        return any(e.kind == FileKind.DELETE for e in self.files) or any(
            e.index_type == DELETION_VECTORS for e in self.index
        )

    @property
    def names_rows(self) -> bool:
        """True if added files hold columns of rows that are there, which they name by their ids (data evolution)."""
        return any(e.kind == FileKind.ADD and e.file.first_row_id is not None for e in self.files)

    @property
    def partitions(self) -> set[bytes]:
        """The partition rows of files and deletion vectors."""
        vectors = (e.partition for e in self.index if e.index_type == DELETION_VECTORS)
        return {e.partition for e in self.files} | set(vectors)


def appended(messages: Sequence[CommitMessage]) -> CommitChanges:
    """The part of messages that makes the APPEND (or OVERWRITE) snapshot."""
    return CommitChanges(
        files=(
            *_entries(FileKind.ADD, ((m, m.new_files) for m in messages)),
            *_entries(FileKind.DELETE, ((m, m.deleted_files) for m in messages)),
        ),
        changelog=tuple(_entries(FileKind.ADD, ((m, m.changelog_files) for m in messages))),
        index=tuple(entry for m in messages for entry in m.index_entries),
    )


def compacted(messages: Sequence[CommitMessage]) -> CommitChanges:
    """The part of messages that makes the COMPACT snapshot."""
    return CommitChanges(
        files=(
            *_entries(FileKind.DELETE, ((m, m.compact_before) for m in messages)),
            *_entries(FileKind.ADD, ((m, m.compact_after) for m in messages)),
        ),
        changelog=tuple(_entries(FileKind.ADD, ((m, m.compact_changelog) for m in messages))),
        index=tuple(entry for m in messages for entry in m.compact_index_entries),
    )


def numbered_by_snapshot(files: Sequence[ManifestEntry], snapshot_id: int) -> tuple[ManifestEntry, ...]:
    """The entries with the id of the snapshot as sequence number of added files (`sequence.snapshot-ordering`)."""

    def numbered(file: DataFileMeta) -> DataFileMeta:
        return file._replace(min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)

    return tuple(e if e.kind == FileKind.DELETE else e._replace(file=numbered(e.file)) for e in files)


@dataclass(frozen=True)
class TrackedFiles:
    """The entries of a commit to a table with row tracking; next_row_id: the first id that no row has yet."""

    entries: tuple[ManifestEntry, ...]
    next_row_id: int


def tracked_files(
    files: Sequence[ManifestEntry], snapshot_id: int, next_row_id: int, groups_partitions: bool
) -> TrackedFiles:
    """The entries with the row ids and sequence numbers that a snapshot gives to added files (format section 10).

    A file of new rows gets the id of its first row, and the id of the snapshot as the number of all its rows. A file of
    rows that are written again holds their ids. Those of its rows that were changed have no number, and get that of the
    snapshot: the metadata of the file say so by 0. Files of BLOB and VECTOR columns follow the file of the other
    columns, and have its rows (Java: RowTrackingCommitUtils.assignRowTracking).

    Args:
        files: the entries of the delta.
        snapshot_id: of the new snapshot.
        next_row_id: the first id that no row has, as the snapshot before says.
        groups_partitions: whether the new rows of a partition get consecutive ids.
    """
    if groups_partitions:
        places = {row: number for number, row in enumerate(dict.fromkeys(entry.partition for entry in files))}
        files = sorted(files, key=lambda entry: places[entry.partition])
    found = []
    first = next_row_id  # of the last file that has all rows
    of_parts: dict[tuple[str, ...] | None, int] = {}  # columns of part files of these rows: the next row of each
    for entry in files:
        file = entry.file
        if entry.kind == FileKind.ADD:
            file = _numbered_rows(file, snapshot_id)
            if file.file_source == FileSource.APPEND and file.first_row_id is None and not _holds_ids(file):
                if is_part_file(file):
                    start = of_parts.get(file.write_cols, first)
                    of_parts[file.write_cols] = start + file.row_count
                else:
                    start = first = next_row_id
                    of_parts, next_row_id = {}, next_row_id + file.row_count
                file = file._replace(first_row_id=start)
        found.append(entry._replace(file=file))
    return TrackedFiles(tuple(found), next_row_id)


def _numbered_rows(file: DataFileMeta, snapshot_id: int) -> DataFileMeta:
    if file.min_sequence_number == 0:
        return file._replace(min_sequence_number=snapshot_id, max_sequence_number=snapshot_id)
    return file._replace(max_sequence_number=snapshot_id) if file.max_sequence_number == 0 else file


def _holds_ids(file: DataFileMeta) -> bool:
    return file.write_cols is not None and ROW_ID in file.write_cols


def created_files(message: CommitMessage) -> Iterator[DataFileMeta]:
    """The data and changelog files that the task of a message wrote, without those that were only upgraded."""
    moved = {file.file_name for file in message.compact_before}
    yield from message.new_files
    yield from message.changelog_files
    yield from (file for file in message.compact_after if file.file_name not in moved)
    yield from message.compact_changelog


def _entries(
    kind: FileKind, files: Iterable[tuple[CommitMessage, tuple[DataFileMeta, ...]]]
) -> Iterator[ManifestEntry]:
    for message, metas in files:
        for file in metas:
            yield ManifestEntry(kind, message.partition, message.bucket, message.total_buckets, file)
