"""Creates and drops an index of a whole table.

Java: CreateGlobalIndexProcedure, DropGlobalIndexProcedure, ConflictDetection.checkGlobalIndexRowIdExistence,
IndexManifestFileHandler.GlobalIndexCombiner (release 2.0). Java does not notice an update of the column that is
committed while the index is made, which then has the old values; here the index is not committed then.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.errors import CommitConflict, OptionError, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.global_index.keys import global_key_form
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.format.types import DataField, Root
from paimon_spark.merge.keys.row_ids import end_id, first_id, is_part_file
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.column_conflicts import Columns, check_unchanged
from paimon_spark.store.commit.commit_loop import commit_request, discarding_if_failed
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.row_conflicts import ReadState
from paimon_spark.store.global_index.search_files import SEARCH_KINDS
from paimon_spark.store.indexing.build import BuildTableIndex, Span, build_here, plan_build
from paimon_spark.store.indexing.search_index import check_search_index
from paimon_spark.store.metadata.global_indexes import field_ids, type_of_keys
from paimon_spark.store.metadata.manifest_files import read_global_indexes
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since

INDEX_TYPES = ("btree", "bitmap", *SEARCH_KINDS)
_OF_OTHERS = {
    "multivalue": "it is not in release 2.0 of the official system",
    "es-index": "its files are those of a library of Java",
    **dict.fromkeys(("lumina", "lumina-vector-ann"), "its files are those of a library that is not open"),
    **dict.fromkeys(("ivf-hnsw-flat", "ivf-hnsw-sq"), "release 2.0 of the official system no longer reads its files"),
}


@dataclass(frozen=True, repr=False)
class CreateGlobalIndexResult(Result):
    """The result of making an index.

    Attributes:
        files: how many index files were made; 0: all rows are in the index.
        rows: how many rows they are over.
        bytes: their size.
        snapshot_id: the new snapshot; None: there was nothing to make.
        millis: the duration of the call.
    """

    files: int
    rows: int
    bytes: int
    snapshot_id: int | None
    millis: int


@dataclass(frozen=True, repr=False)
class DropGlobalIndexResult(Result):
    """The result of dropping an index; in a dry run, what would be dropped.

    Attributes:
        dropped_files: how many index files go. They are deleted when the snapshots before it expire.
        snapshot_id: the new snapshot; None: there was nothing to drop, or it was a dry run.
        millis: the duration of the call.
    """

    dropped_files: int
    snapshot_id: int | None
    millis: int


def create_global_index(
    table: Table, column: str, index_type: str, condition: Predicate, run: BuildTableIndex = build_here
) -> CreateGlobalIndexResult:
    """Makes an index over a column, of all rows that are not in it.

    Args:
        table: the table in its latest schema, with the options of the call.
        column: the name of the column.
        index_type: one of INDEX_TYPES.
        condition: on partition columns; which rows.
        run: makes the files.

    Raises:
        OptionError: there is no such column, or an option of the index is bad.
        UnsupportedFeature: this release makes no such index, or the table cannot have one, or a library is missing.
        DataError: the column has a vector that cannot be in an index.
        CommitConflict: another job has changed the values of the column, or made such an index, concurrently.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    fields = _fields(table, column)
    if len(fields) > 1:
        raise UnsupportedFeature(
            f"an index of {table.location}: an index is over one column, and '{column}' names {len(fields)}; make one "
            "for each column"
        )
    (field,) = fields
    kind = _checked_type(table, field, index_type)
    snapshot = table.snapshots.latest()
    manifest = None if snapshot is None else snapshot.index_manifest
    every = read_global_indexes(table.file_io, table.location, manifest)
    if kind in SEARCH_KINDS:
        check_search_index(table, field, kind, every)
    if snapshot is None:
        return CreateGlobalIndexResult(0, 0, 0, None, millis_since(began))
    known = [entry for entry in every if _is_index(entry, kind, (field.id,))]
    outcomes = run(table, plan_build(table, snapshot, kind, field.name, condition, _spans(known)))
    entries = [outcome.entry for outcome in outcomes if outcome.entry is not None]
    paths = [outcome.path for outcome in outcomes if outcome.path is not None]
    if not entries:
        return CreateGlobalIndexResult(0, 0, 0, None, millis_since(began))
    request = _request(table, partial(_added, snapshot, entries), checks_files=True)
    with discarding_if_failed(table, request, snapshot.id, lambda: paths):
        made = commit_request(table, request, snapshot.id).snapshot
    rows, size = sum(entry.row_count for entry in entries), sum(entry.file_size for entry in entries)
    return CreateGlobalIndexResult(len(entries), rows, size, None if made is None else made.id, millis_since(began))


def drop_global_index(
    table: Table, column: str, index_type: str, condition: Predicate, dry_run: bool = False
) -> DropGlobalIndexResult:
    """Drops an index, of any type, or its files in some partitions.

    Args:
        table: the table in its latest schema, with the options of the call.
        column: the name of the column, or names with commas between them. Where the table has no such column any more,
            the dropped ones of that name (Java: cannot drop their indexes).
        index_type: of the index.
        condition: on partition columns.
        dry_run: whether only to count the files.

    Raises:
        OptionError: there is no such column, and there never was.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    ids = frozenset(itertools.product(*(_ids(table, name) for name in _names(column))))
    snapshot = table.snapshots.latest()
    wanted = partial(_is_dropped, table, index_type.strip().lower(), ids, condition)
    manifest = None if snapshot is None else snapshot.index_manifest
    found = [entry for entry in read_global_indexes(table.file_io, table.location, manifest) if wanted(entry)]
    if dry_run or not found or snapshot is None:
        return DropGlobalIndexResult(len(found), None, millis_since(began))

    def gone(state: TableState) -> CommitChanges:
        live = [entry for entry in state.index_entries if wanted(entry)]
        return CommitChanges(index=tuple(replace(entry, kind=FileKind.DELETE) for entry in live))

    made = commit_request(table, _request(table, gone, checks_files=False), snapshot.id)
    return DropGlobalIndexResult(len(found), made.snapshot_id, millis_since(began))


def _request(table: Table, changes: Callable[[TableState], CommitChanges], checks_files: bool) -> CommitRequest[None]:
    def propose(state: TableState) -> Proposal[None]:
        made = changes(state)
        return Proposal(None if made.is_empty else made, None)

    return CommitRequest(
        new_user(table), BATCH_COMMIT_IDENTIFIER, CommitKind.APPEND, "WRITE", propose, checks_files=checks_files
    )


def _fields(table: Table, column: str) -> list[DataField]:
    names = _names(column)
    unknown = [name for name in names if name not in table.schema.by_name]
    if unknown or not names:
        raise _no_column(table, ", ".join(unknown))
    return [table.schema.by_name[name] for name in names]


def _names(column: str) -> list[str]:
    return [name.strip() for name in column.split(",") if name.strip()]


def _no_column(table: Table, name: str) -> OptionError:
    return OptionError(
        f"an index of {table.location}: there is no column '{name}'; the columns are {', '.join(table.schema.names)}",
        arguments=("index_column",),
    )


def _ids(table: Table, name: str) -> list[int]:
    """The id of a column, or those of the dropped columns of that name: an index may be left of one.

    Raises:
        OptionError: there is no such column, and there never was.
    """
    now = table.schema.by_name.get(name)
    if now is not None:
        return [now.id]
    known = {field.id for field in table.schema.fields}
    schemas = map(table.schemas.load, table.schemas.ids())
    found = {schema.by_name[name].id for schema in schemas if name in schema.by_name} - known
    if not found:
        raise _no_column(table, name)
    return sorted(found)


def _checked_type(table: Table, field: DataField, index_type: str) -> str:
    kind, begin = index_type.strip().lower(), f"an index of {table.location} over '{field.name}'"
    if kind not in INDEX_TYPES:
        why = _OF_OTHERS.get(kind, "there is no such type")
        raise UnsupportedFeature(f"{begin}: the type '{kind}' is not made: {why}; make one of {', '.join(INDEX_TYPES)}")
    if not table.settings.data_evolution_enabled:
        raise UnsupportedFeature(
            f"{begin}: readers use such an index only in tables with '{TableSettings.data_evolution_enabled.key}' = "
            "'true' (so do those of the official system)"
        )
    if field.name in table.schema.partition_keys:
        raise UnsupportedFeature(f"{begin}: it is a partition column, by which reads leave out files anyway")
    if field.type.root is Root.CHAR and kind not in SEARCH_KINDS:
        raise UnsupportedFeature(f"{begin}: a CHAR may be stored with its blanks or without; index a VARCHAR or STRING")
    if kind not in SEARCH_KINDS:
        global_key_form(field.type)
    if type_of_keys(table.schema, table.schemas, field.id) is None:
        raise UnsupportedFeature(
            f"{begin}: the column has changed its type, and the files of an index do not say which type their keys "
            "have; add a column of the new type, and index that"
        )
    return kind


def _is_index(entry: IndexManifestEntry, kind: str, ids: tuple[int, ...]) -> bool:
    return entry.index_type == kind and field_ids(entry) == ids


def _is_dropped(
    table: Table, kind: str, ids: Collection[tuple[int, ...]], condition: Predicate, entry: IndexManifestEntry
) -> bool:
    if not any(_is_index(entry, kind, one) for one in ids):
        return False
    values = decode_arity_row(entry.partition, table.schema.partition_types)
    return match_values(condition, dict(zip(table.schema.partition_keys, values, strict=True))) is True


def _spans(entries: Sequence[IndexManifestEntry]) -> list[Span]:
    metas = (entry.global_index for entry in entries)
    return [(meta.row_range_start, meta.row_range_end + 1) for meta in metas if meta is not None]


def _added(base: Snapshot, entries: Sequence[IndexManifestEntry], state: TableState) -> CommitChanges:
    """The new files, if they are still right.

    Raises:
        CommitConflict: another job has changed values of the column, taken rows away, or made such an index.
    """
    columns = [Columns(start, end, frozenset(field_ids(entries[0]))) for start, end in _spans(entries)]
    what = f"this index of {state.table.location}"
    check_unchanged(state, ReadState.of(base), columns, what)
    _check_alone(state, entries, what)
    _check_rows(state, entries, what)
    return CommitChanges(index=tuple(entries))


def _check_alone(state: TableState, entries: Sequence[IndexManifestEntry], what: str) -> None:
    """Checks that no index of the kind has the rows; Java has no two files over the same rows of a column either."""
    first = entries[0]
    others = [entry for entry in state.index_entries if _is_index(entry, first.index_type, field_ids(first))]
    for start, end in _spans(entries):
        for other, (first_of, end_of) in zip(others, _spans(others), strict=True):
            if first_of < end and start < end_of:
                raise CommitConflict(
                    f"{what} is over the row ids {start} to {end - 1}, and so is {other.file_name}, which another job "
                    "has made meanwhile; run the job again"
                )


def _check_rows(state: TableState, entries: Sequence[IndexManifestEntry], what: str) -> None:
    """Checks that the rows are still there, under the same ids."""
    fields = state.table.schema.partition_fields
    canonical = same_partition(state.table.schema.partition_types)
    live: dict[bytes, list[Span]] = {}
    for there in state.live_entries(PartitionFilter.of_rows(fields, {entry.partition for entry in entries})):
        if there.file.first_row_id is not None and not is_part_file(there.file):
            live.setdefault(canonical(there.partition), []).append((first_id(there.file), end_id(there.file)))
    for entry, (start, end) in zip(entries, _spans(entries), strict=True):
        reach = start
        for first, after in sorted(live.get(canonical(entry.partition), ())):
            if first <= reach:
                reach = max(reach, after)
        if reach < end:
            raise CommitConflict(
                f"{what} is over the row ids {start} to {end - 1}, and another job has taken the row {reach} away "
                "meanwhile, or given it another id; run the job again"
            )
