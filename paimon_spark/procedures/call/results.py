"""The result of a procedure as the rows that SQL ``CALL`` returns (features 7; Java: the procedures of Spark)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

from paimon_spark.format.paths import unescape
from paimon_spark.procedures.procedure import Procedure, name_of

if TYPE_CHECKING:  # a CALL imports the procedure that it names, and no other
    from paimon_spark.procedures.databases import (
        CompactDatabaseResult,
        DatabaseProcedure,
        MigrateDatabaseResult,
        RemoveDatabaseOrphanFilesResult,
    )
    from paimon_spark.store.clean.lost_files import RemoveUnexistingFilesResult, RepairEarliestSnapshotResult
    from paimon_spark.store.clean.orphans import RemoveOrphanFilesResult
    from paimon_spark.store.clean.partition_expiry import ExpirePartitionsResult
    from paimon_spark.store.expire.snapshots import ExpireSnapshotsResult
    from paimon_spark.store.history.rollback import RollbackResult
    from paimon_spark.store.history.tag_deletion import DeleteTagResult
    from paimon_spark.store.history.tags import CreateTagResult
    from paimon_spark.store.indexing.indexes import DropGlobalIndexResult
    from paimon_spark.store.upkeep.reassign_row_ids import ReassignRowIdResult

R = TypeVar("R")
Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class _Shape:
    """The columns of an official procedure, and how its rows are made of our result."""

    schema: pa.Schema
    rows: Callable[[Any], Iterable[Row]]


def call_result(procedure: Procedure[R] | DatabaseProcedure[R], result: R) -> tuple[pa.Schema, list[Row]]:
    """What SQL ``CALL`` returns: the columns of the official procedure, and the rows.

    A procedure that the official system does not have, and a dry run that its procedure does not have, give one row of
    the fields of the result.

    Args:
        procedure: what was done.
        result: what its ``run`` returned.
    """
    shape = SHAPES.get(name_of(type(procedure)))
    if not procedure.official and shape is None:
        return _fields_of(result)
    if getattr(procedure, "dry_run", False) and "dry_run" not in procedure.official:
        return _fields_of(result)
    shape = shape or _DONE
    return shape.schema, list(shape.rows(result))


def _required(name: str, data_type: pa.DataType) -> pa.Field:
    return pa.field(name, data_type, nullable=False)


def _or_none(texts: Iterable[str], none: str) -> list[Row]:
    """A row for each text, or one that says that there are none, as the official procedures do."""
    return [(text,) for text in texts] or [(none,)]


def _compacted(result: CompactDatabaseResult) -> list[Row]:
    return [(f"Compact database finished. Success: {len(result.compacted)}, Failed: {len(result.failed)}",)]


def _expired_partitions(result: ExpirePartitionsResult) -> list[Row]:
    """Each as ``dt=2026-11-01, hour=10``, with the values as they are, which in directories are escaped."""
    named = (", ".join(unescape(part) for part in name.split("/")) for name in result.partitions)
    return _or_none(named, "No expired partitions.")


def _tagged(result: CreateTagResult) -> list[Row]:
    """Java makes a text of the watermark: ``null`` for none."""
    watermark = "null" if result.watermark is None else str(result.watermark)
    return [(result.name, result.snapshot_id, result.commit_millis, watermark)]


def _orphans(results: Iterable[RemoveOrphanFilesResult]) -> list[Row]:
    found = list(results)
    return [(sum(len(each.paths) for each in found), sum(each.bytes for each in found))]


def _rolled_back(result: RollbackResult) -> list[Row]:
    return [(result.previous_snapshot_id, result.current_snapshot_id)]


def _repaired(result: RepairEarliestSnapshotResult) -> list[Row]:
    return [(result.previous_earliest_snapshot_id, result.current_earliest_snapshot_id)]


def _expired_snapshots(result: ExpireSnapshotsResult) -> list[Row]:
    return [(len(result.ids),)]


def _expired_tags(result: DeleteTagResult) -> list[Row]:
    return _or_none(result.names, "No expired tags.")


def _lost_files(result: RemoveUnexistingFilesResult) -> list[Row]:
    return [(path,) for path in result.paths]


def _orphans_of_database(result: RemoveDatabaseOrphanFilesResult) -> list[Row]:
    return _orphans(result.tables.values())


def _reassigned(result: ReassignRowIdResult) -> list[Row]:
    if result.first_row_id is None:
        return [(f"Skipped: no partition has row ids with gaps, nextRowId={result.next_row_id}.",)]
    return [
        (
            f"Success: snapshot {result.snapshot_id}, nextRowId {result.first_row_id} -> {result.next_row_id}, "
            f"files={result.files}, rows={result.rows}, indexFiles={result.index_files}.",
        )
    ]


def _dropped_index(result: DropGlobalIndexResult) -> list[Row]:
    return [(True, result.dropped_files)]


def _migrated(result: MigrateDatabaseResult) -> list[Row]:
    counts = f"success cnt: {len(result.migrated)} , failed cnt: {len(result.failed)}"
    return [(f"migrate database is finished, {counts}",)]


_DONE = _Shape(pa.schema([pa.field("result", pa.bool_())]), lambda result: [(True,)])
_ANY_DONE = _Shape(_DONE.schema, lambda result: [(bool(result.names),)])
_SURELY = pa.schema([_required("result", pa.bool_())])
_TEXT = pa.schema([pa.field("result", pa.string())])
_ORPHANS = pa.schema([pa.field("deletedFileCount", pa.int64()), pa.field("deletedFileTotalLenInBytes", pa.int64())])
_ROLLED_BACK = _Shape(
    pa.schema([_required("previous_snapshot_id", pa.int64()), _required("current_snapshot_id", pa.int64())]),
    _rolled_back,
)
_TAGGED = pa.schema(
    [
        pa.field("tagName", pa.string()),
        pa.field("snapshot", pa.int64()),
        pa.field("commit_time", pa.int64()),
        pa.field("watermark", pa.string()),
    ]
)
_REPAIRED = pa.schema(
    [_required("previous_earliest_snapshot_id", pa.int64()), _required("current_earliest_snapshot_id", pa.int64())]
)

_DROPPED = pa.schema([pa.field("result", pa.bool_()), pa.field("dropped_file_count", pa.int64())])
_INDEXED = pa.schema([_required("written_partitions", pa.int32()), _required("written_indexes", pa.int32())])
SHAPES: Mapping[str, _Shape] = MappingProxyType(
    {
        "clear_consumers": _ANY_DONE,
        "compact_database": _Shape(_TEXT, _compacted),
        "create_tag_from_timestamp": _Shape(_TAGGED, _tagged),
        "delete_tag": _ANY_DONE,
        "drop_global_index": _Shape(_DROPPED, _dropped_index),
        "expire_partitions": _Shape(pa.schema([pa.field("expired_partitions", pa.string())]), _expired_partitions),
        "expire_snapshots": _Shape(pa.schema([_required("deleted_snapshots_count", pa.int32())]), _expired_snapshots),
        "expire_tags": _Shape(pa.schema([_required("expired_tags", pa.string())]), _expired_tags),
        "compact_chain_table": _Shape(
            pa.schema([_required("result", pa.bool_())]), lambda result: [(result.compacted,)]
        ),
        "materialize_deletion_vectors": _Shape(_SURELY, _DONE.rows),
        "migrate_database": _Shape(_TEXT, _migrated),
        "purge_files": _Shape(_TEXT, lambda result: [("Success",)]),
        "reassign_row_id": _Shape(_TEXT, _reassigned),
        "remove_database_orphan_files": _Shape(_ORPHANS, _orphans_of_database),
        "remove_orphan_files": _Shape(_ORPHANS, lambda result: _orphans([result])),
        "remove_unexisting_files": _Shape(pa.schema([_required("fileName", pa.string())]), _lost_files),
        "repair_earliest_snapshot": _Shape(_REPAIRED, _repaired),
        "rewrite_file_index": _Shape(_INDEXED, lambda result: [(result.written_partitions, result.written_indexes)]),
        "rollback": _ROLLED_BACK,
        "rollback_to_timestamp": _ROLLED_BACK,
        "rollback_to_watermark": _ROLLED_BACK,
    }
)
"""Where the official procedure returns something else than ``result BOOLEAN``, true, or does so for nothing done."""


def _fields_of(result: Any) -> tuple[pa.Schema, list[Row]]:
    """One row of the fields of a result; a field without a type of SQL is left out."""
    if result is None:
        return _DONE.schema, [(True,)]
    hints = get_type_hints(type(result))
    typed = {item.name: _arrow_type(hints[item.name]) for item in fields(result)}
    known = {name: data_type for name, data_type in typed.items() if data_type is not None}
    row = tuple(_sql_value(getattr(result, name)) for name in known)
    return pa.schema([pa.field(name, data_type) for name, data_type in known.items()]), [row]


def _sql_value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


_TYPES: Mapping[Any, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    str: pa.string(),
    tuple[int, ...]: pa.list_(pa.int64()),
    tuple[str, ...]: pa.list_(pa.string()),
}


def _arrow_type(hint: Any) -> pa.DataType | None:
    if get_origin(hint) in (Union, UnionType):
        [hint] = set(get_args(hint)) - {NoneType}
    return _TYPES.get(hint)
