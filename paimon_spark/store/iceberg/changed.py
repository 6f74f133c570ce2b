"""The manifests of a snapshot, made of those of the snapshot before (Java: IcebergCommitCallback).

Manifests of which nothing is taken away are named again. Small ones are merged from time to time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.iceberg.manifests import Content, Entry, Manifest, PartitionSummary, Status, path_key
from paimon_spark.format.iceberg.types import partition_value, value_reader
from paimon_spark.format.manifest import FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.messages import DELETION_VECTORS

if TYPE_CHECKING:
    from paimon_spark.store.iceberg.directory import IcebergDirectory
    from paimon_spark.store.iceberg.shown import ShownFiles

APPEND, OVERWRITE, REPLACE = "append", "overwrite", "replace"


@dataclass(frozen=True)
class Made:
    """The manifests of a snapshot, and what it changed.

    Attributes:
        manifests: of data files, then of deletion vectors.
        operation: as the summary of a snapshot tells it.
        added, deleted: the records of the data files.
        obsolete: paths of manifests that were made on the way and are named by nothing.
    """

    manifests: tuple[Manifest, ...]
    operation: str
    added: tuple[Mapping[str, Any], ...]
    deleted: tuple[Mapping[str, Any], ...] = ()
    obsolete: tuple[str, ...] = ()


def all_files(directory: IcebergDirectory, shown: ShownFiles, snapshot: Snapshot) -> Made:
    """The manifests of all files of a snapshot, as if it had added them."""
    entries = [shown.added(entry) for entry in shown.live()]
    vectors = list(shown.vectors()) if shown.with_vectors else []
    manifests = (
        *directory.write_entries(entries, snapshot.id, Content.DATA),
        *directory.write_entries(vectors, snapshot.id, Content.DELETES),
    )
    return Made(manifests, APPEND, tuple(entry.file for entry in entries))


def changed_files(
    directory: IcebergDirectory,
    shown: ShownFiles,
    snapshot: Snapshot,
    before: Sequence[Manifest],
    files: Sequence[ManifestEntry],
    index: Iterable[IndexManifestEntry],
) -> Made:
    """The manifests of a snapshot, of those of the one before.

    Args:
        directory: where they are.
        shown: of the snapshot.
        snapshot: the snapshot.
        before: the manifests of the one before.
        files, index: the changes of data files and index files.
    """
    added = {path_key(shown.path(e)): e for e in files if e.kind == FileKind.ADD and shown.shows(e.file)}
    removed = {path_key(shown.path(e)): e for e in files if e.kind == FileKind.DELETE}
    data = [meta for meta in before if meta.content == Content.DATA]
    deleted: list[Entry] = []
    if removed:
        touched = _Touched(directory.table.schema.partition_fields, [*added.values(), *removed.values()])
        kept: list[Manifest] = []
        for meta in data:
            kept += (
                _without(directory, meta, snapshot.id, added, removed, deleted) if touched.may_be_in(meta) else [meta]
            )
        data = kept
    entries = [shown.added(entry) for entry in added.values()]
    data += directory.write_entries(entries, snapshot.id, Content.DATA)
    vectors: list[Manifest] = []
    if shown.with_vectors:
        if any(entry.index_type == DELETION_VECTORS for entry in index):
            vectors = directory.write_entries(list(shown.vectors()), snapshot.id, Content.DELETES)
        else:
            vectors = [meta for meta in before if meta.content == Content.DELETES]
    merged = _merged(directory, data, snapshot.id)
    obsolete = {meta.path for meta in data if meta.snapshot_id == snapshot.id} - {meta.path for meta in merged}
    operation = APPEND
    if deleted:
        operation = REPLACE if snapshot.commit_kind == CommitKind.COMPACT else OVERWRITE
    return Made(
        (*merged, *vectors),
        operation,
        tuple(entry.file for entry in entries),
        tuple(entry.file for entry in deleted),
        tuple(obsolete),
    )


class _Touched:
    """The partitions that a snapshot changes."""

    def __init__(self, fields: Sequence[DataField], entries: Iterable[ManifestEntry]) -> None:
        types = [field.type for field in fields]
        rows = {decode_arity_row(partition, types) for partition in {entry.partition for entry in entries}}
        self._rows = [[partition_value(v, t) for v, t in zip(row, types, strict=True)] for row in rows]
        self._readers: list[Callable[[bytes], Any]] = [value_reader(t) for t in types]

    def may_be_in(self, manifest: Manifest) -> bool:
        """True if a manifest may have a file of one of the partitions."""
        if len(manifest.partitions) != len(self._readers):
            return True
        ranges = [_range(summary, read) for summary, read in zip(manifest.partitions, self._readers, strict=True)]
        return any(all(holds(value) for holds, value in zip(ranges, row, strict=True)) for row in self._rows)


def _range(summary: PartitionSummary, read: Callable[[bytes], Any]) -> Callable[[Any], bool]:
    low = None if summary.lower is None else read(summary.lower)
    high = None if summary.upper is None else read(summary.upper)

    def holds(value: Any) -> bool:
        if value is None:
            return summary.contains_null
        if low is None or high is None or value != value:
            return True
        return bool(low <= value <= high)

    return holds


def _without(
    directory: IcebergDirectory,
    meta: Manifest,
    snapshot_id: int,
    added: dict[str, ManifestEntry],
    removed: Mapping[str, ManifestEntry],
    deleted: list[Entry],
) -> list[Manifest]:
    """A manifest without the removed files: itself, or one in its place. Added files that it has already are no longer
    added: only their level has changed."""
    live = [entry for entry in directory.entries(meta) if entry.is_live]
    gone = []
    for entry in live:
        key = path_key(entry.path)
        if added.pop(key, None) is None and key in removed:
            gone.append(entry)
    if not gone:
        return [meta]
    deleted += gone
    paths = {entry.path for entry in gone}
    rewritten = [
        replace(entry, status=Status.DELETED, snapshot_id=snapshot_id)
        if entry.path in paths
        else replace(entry, status=Status.EXISTING)
        for entry in live
    ]
    return directory.write_entries(rewritten, snapshot_id, Content.DATA)


def _merged(directory: IcebergDirectory, metas: list[Manifest], snapshot_id: int) -> list[Manifest]:
    """The manifests with the small ones merged, if there are too many of them."""
    settings = directory.table.settings
    target = settings.commits.manifest_target_file_size
    small = [meta for meta in metas if meta.length < target * 2 // 3]
    if len(small) < settings.iceberg.compact_min_files:
        return metas
    if len(small) < settings.iceberg.compact_max_files and sum(meta.length for meta in small) < target:
        return metas
    entries = [
        entry if entry.snapshot_id == snapshot_id else replace(entry, status=Status.EXISTING)
        for meta in small
        for entry in directory.entries(meta)
        if entry.is_live or entry.snapshot_id == snapshot_id
    ]
    merged = {meta.path for meta in small}
    return [meta for meta in metas if meta.path not in merged] + directory.write_entries(
        entries, snapshot_id, Content.DATA
    )
