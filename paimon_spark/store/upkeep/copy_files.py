"""Copies a table file by file (features 7, copy; Java: CopyFilesProcedure).

The latest state is copied: data files with their sidecars, deletion vectors and hash indexes, under new names, as one
snapshot. Java renames data files but not their deletion vectors, and does not copy sidecars; here both are correct.
Changelogs, tags, branches and older snapshots are not copied, as in Java.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.manifest import DataFileMeta, FileKind, IndexManifestEntry, ManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import POSTPONE_BUCKET, data_file_path, extra_file_path, index_file_path, index_name
from paimon_spark.format.rules.blobs import has_packs
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, overwritten, table_state
from paimon_spark.store.commit.commit_loop import commit_request, discarding_if_failed
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.compact.live_buckets import is_chosen, place_of
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.expire.delete import delete_empty_directories
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.manifest_files import HASH
from paimon_spark.store.metadata.messages import DELETION_VECTORS, CommitChanges
from paimon_spark.store.metadata.partitions import PartitionFilter, describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.scan.row_limits import check_unlimited
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.upkeep.copy_target import CopyTarget, find_target

_PIECE = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileCopy:
    """One file to copy; size in bytes, None if it was not recorded."""

    source: str
    target: str
    size: int | None


CopyAll: TypeAlias = Callable[[FileIO, FileIO, Sequence[FileCopy]], None]
"""Copies files from one store to another; all are durable on return, and after an error no copy is under way."""


@dataclass(frozen=True, repr=False)
class CopyResult(Result):
    """The result of a copy.

    Attributes:
        location: the location of the target.
        created: whether the target table was created.
        source_snapshot_id: the copied snapshot; None: the source has no snapshot.
        snapshot_id: the new snapshot in the target; None: there were no files to copy, and none to replace.
        partitions: the names of the copied partitions, sorted.
        files, index_files: the numbers of files; sidecars are not counted.
        rows: the rows in the data files; rows with equal keys are counted separately.
        bytes: the bytes of data and index files.
        millis: the duration of the call.
    """

    location: str
    created: bool
    source_snapshot_id: int | None
    snapshot_id: int | None
    partitions: tuple[str, ...]
    files: int
    index_files: int
    rows: int
    bytes: int
    millis: int


def copy_here(source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
    """Copies files by threads of this process.

    Raises:
        CorruptFile: a file is missing, or its size is not the recorded one.
        StorageError: a store failed.
    """
    map_parallel(partial(copy_file, source, target), files)


def copy_file(source: FileIO, target: FileIO, file: FileCopy) -> None:
    """Copies one file.

    Raises:
        CorruptFile: the file is missing, or its size is not the recorded one.
        StorageError: a store failed.
    """
    try:
        with source.open_input(file.source) as given, target.open_output(file.target) as made:
            while piece := given.read(_PIECE):
                made.write(piece)
            copied = made.tell()
    except FileNotFoundError:
        raise CorruptFile(
            f"copying {file.source}: the file does not exist. If the snapshot that names it has just expired, copy "
            "again, and keep the snapshot with a tag meanwhile; else the table is damaged"
        ) from None
    if file.size is not None and copied != file.size:
        raise CorruptFile(f"copying {file.source}: it has {copied} bytes, and its metadata say {file.size}")


def copy_table(
    table: Table,
    target: str,
    where: str | None = None,
    options: Mapping[str, str] | None = None,
    copy_all: CopyAll = copy_here,
) -> CopyResult:
    """Copies the latest state of a table, or of some partitions, to another one.

    A new target has the schemas and options of the source, except options that name locations or branches. In an
    existing target, the partitions that have rows in the source are replaced; the whole table is replaced if it has no
    partition columns, or `dynamic-partition-overwrite` is false.

    Args:
        table: the source, opened on the branch to copy.
        target: the directory of the target.
        where: a condition on partition columns, such as ``dt < '2026-11-01'``; None: all.
        options: storage options of the target.
        copy_all: copies the files.

    Raises:
        OptionError: the condition does not fit, the target is inside the source, or an option chooses a snapshot.
        PredicateError: the condition does not fit.
        SchemaError: the target does not fit the source, or the location has something else.
        UnsupportedFeature: the target cannot be written, or the source has files of a kind that cannot be copied.
        CorruptFile: a file of the source is missing or damaged.
        CommitConflict, RetriesExhausted: other jobs committed to the target concurrently.
        CommitStateUnknown: the store of the target did not answer.

    After any error, unless the outcome is unknown, the target is unchanged; a new one does not exist, or is empty.
    """
    began = time.monotonic()
    refuse_travel(table, "copied")
    check_unlimited(table, "copying the files")
    condition = partition_condition(table, where)
    chosen = find_target(table, target, options or {})
    _check_untracked(table, chosen.table)
    latest = table.snapshots.latest()
    copies = _Copies() if latest is None else _copies(table, chosen, table_state(table, latest), condition)
    snapshot = _copy(table, chosen, copies, copy_all)
    return _metrics(chosen, table, latest, copies, snapshot, began)


def _check_untracked(source: Table, target: Table) -> None:
    """Files hold ids of rows, which would be those of other rows in the target."""
    for table in (source, target):
        if table.schema.tracking_fields:
            raise UnsupportedFeature(
                f"copying {source.location} to {target.location}: '{TableSettings.row_tracking.key}' of "
                f"{table.location} is true, and ids of rows cannot be copied; create the target, and append the rows "
                "of the source to it"
            )
        if has_packs(table.schema, table.settings):
            raise UnsupportedFeature(
                f"copying {source.location} to {target.location}: the files of {table.location} refer to bytes of BLOB "
                "columns in files of that table, which the copy would need too; create the target, and append the rows "
                "of the source to it"
            )


@dataclass(frozen=True)
class _Copies:
    """The copies: entries for the manifests of the target, and the files that they name."""

    entries: tuple[ManifestEntry, ...] = ()
    indexes: tuple[IndexManifestEntry, ...] = ()
    files: tuple[FileCopy, ...] = ()


def _copies(table: Table, target: CopyTarget, state: TableState, condition: Predicate) -> _Copies:
    entries = [entry for entry in state.live_entries(None) if is_chosen(table, condition, entry.partition)]
    touched = {place_of(table, entry.partition, 0) for entry in entries}  # an index without files is not copied
    indexes = [entry for entry in state.index_entries if place_of(table, entry.partition, 0) in touched]
    _check_order_stays(table, entries)
    return _plan(table, target, entries, indexes)


def _copy(source: Table, target: CopyTarget, copies: _Copies, copy_all: CopyAll) -> Snapshot | None:
    """Copies and commits; None: there was nothing to commit."""
    table, paths = target.table, [file.target for file in copies.files]
    since = table.snapshots.latest_id() or 0
    try:
        copy_all(source.file_io, table.file_io, copies.files)
        target.publish()
    except BaseException:
        discard(table.file_io, paths)
        delete_empty_directories(table, {(entry.partition, entry.bucket) for entry in copies.entries})
        raise
    propose = partial(_replaced, table, copies)
    request = CommitRequest(
        new_user(table), BATCH_COMMIT_IDENTIFIER, CommitKind.OVERWRITE, None, propose, checks_files=True
    )
    with discarding_if_failed(table, request, since, lambda: paths):
        return commit_request(table, request, since).snapshot


def _check_order_stays(table: Table, entries: Sequence[ManifestEntry]) -> None:
    """Refuses copies that lose the order of rows: under `sequence.snapshot-ordering` all files get one number."""
    if not table.schema.primary_keys or not table.settings.sequence_snapshot_ordering:
        return
    levels: dict[tuple[bytes, int], set[int]] = {}
    for entry in entries:
        levels.setdefault((entry.partition, entry.bucket), set()).add(entry.file.level)
    if any(found != {max(found)} or 0 in found for found in levels.values()):
        raise UnsupportedFeature(
            f"copying {table.location}: with {TableSettings.sequence_snapshot_ordering.key} the order of rows that are "
            "not compacted yet would be lost; compact the table fully, then copy it"
        )


def _plan(
    source: Table, target: CopyTarget, entries: Sequence[ManifestEntry], indexes: Sequence[IndexManifestEntry]
) -> _Copies:
    schema_ids = {number: target.schema_id_of(source.schemas.load(number)) for number in _schemas_of(entries)}
    prefix = target.table.settings.files.prefix
    drawn = uuid.uuid4()
    made: list[ManifestEntry] = []
    files: list[FileCopy] = []
    names: dict[str, str] = {}
    for number, entry in enumerate(entries):
        new_name = names[entry.file.file_name] = _new_name(entry, prefix, f"{drawn}-{number}")
        copied = _renamed(entry.file, new_name, schema_ids[entry.file.schema_id])
        made.append(entry._replace(kind=FileKind.ADD, file=copied))
        files += _file_copies(source, target.table, entry, copied)
    made_indexes: list[IndexManifestEntry] = []
    for number, index in enumerate(indexes):
        if index.index_type not in (HASH, DELETION_VECTORS):
            raise UnsupportedFeature(
                f"copying {source.location}: index files of type {index.index_type} are not copied by this release; "
                "drop the index before"
            )
        new = _renamed_index(index, index_name(str(drawn), number), names)
        made_indexes.append(new)
        paths = (_index_path(source, index), _index_path(target.table, new))
        files.append(FileCopy(*paths, index.file_size))
    return _Copies(tuple(made), tuple(made_indexes), tuple(files))


def _schemas_of(entries: Sequence[ManifestEntry]) -> set[int]:
    return {entry.file.schema_id for entry in entries}


def _new_name(entry: ManifestEntry, prefix: str, drawn: str) -> str:
    """A new, unique name. It keeps the format and, for postponed files, their order (see postpone_files)."""
    old = entry.file.file_name
    if entry.bucket == POSTPONE_BUCKET and "-u-" in old:
        before, _, after = old.partition("-u-")
        return f"{before}-u-{drawn.rpartition('-')[0]}-{after}"
    return f"{prefix}{drawn}.{old.rpartition('-')[2].partition('.')[2]}"


def _renamed(file: DataFileMeta, name: str, schema_id: int) -> DataFileMeta:
    extra = tuple(_extra_name(file.file_name, other, name) for other in file.extra_files)
    return file._replace(file_name=name, schema_id=schema_id, extra_files=extra, external_path=None)


def _extra_name(old: str, extra: str, new: str) -> str:
    stem = old.partition(".")[0]
    return new + extra.removeprefix(old) if extra.startswith(old) else extra.replace(stem, new.partition(".")[0])


def _renamed_index(entry: IndexManifestEntry, name: str, names: Mapping[str, str]) -> IndexManifestEntry:
    """The index entry with new names. Vectors of files that are no longer live keep the old data file name."""
    ranges = entry.deletion_ranges
    if ranges is not None:
        ranges = tuple(replace(r, data_file=names.get(r.data_file, r.data_file)) for r in ranges)
    return replace(entry, kind=FileKind.ADD, file_name=name, deletion_ranges=ranges, external_path=None)


def _file_copies(source: Table, target: Table, entry: ManifestEntry, copied: DataFileMeta) -> Iterator[FileCopy]:
    old, new = (bucket_directory(table, entry.partition, entry.bucket) for table in (source, target))
    yield FileCopy(data_file_path(old, entry.file), data_file_path(new, copied), entry.file.file_size)
    for extra, made in zip(entry.file.extra_files, copied.extra_files, strict=True):
        yield FileCopy(extra_file_path(old, entry.file, extra), extra_file_path(new, copied, made), None)


def _index_path(table: Table, entry: IndexManifestEntry) -> str:
    directory = bucket_directory(table, entry.partition, entry.bucket)
    return index_file_path(table.location, directory, entry, table.settings)


def _replaced(target: Table, copies: _Copies, state: TableState) -> Proposal[None]:
    """Asked anew in every attempt, so that what others have added goes too."""
    fields = target.schema.partition_fields
    only_touched = bool(fields) and target.settings.dynamic_partition_overwrite
    partitions = {entry.partition for entry in copies.entries}
    replaced = PartitionFilter.of_rows(fields, partitions) if only_touched else None
    changes = overwritten(state, CommitChanges(copies.entries, index=copies.indexes), replaced)
    return Proposal(None if changes.is_empty else changes, None)


def _metrics(
    target: CopyTarget, source: Table, latest: Snapshot | None, copies: _Copies, made: Snapshot | None, began: float
) -> CopyResult:
    files = [entry.file for entry in copies.entries]
    return CopyResult(
        location=target.table.location,
        created=bool(target.new_schemas),
        source_snapshot_id=None if latest is None else latest.id,
        snapshot_id=None if made is None else made.id,
        partitions=tuple(
            sorted(describe_partition(source, row) for row in {entry.partition for entry in copies.entries})
        ),
        files=len(files),
        index_files=len(copies.indexes),
        rows=sum(file.row_count for file in files),
        bytes=sum(file.file_size for file in files) + sum(entry.file_size for entry in copies.indexes),
        millis=millis_since(began),
    )
