"""Tables with data evolution in a test: files of some columns, written and committed as statements do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.keys.row_ids import end_id, first_id
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.row_conflicts import ReadState
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.column_files import write_columns
from paimon_spark.store.rows.live_files import append_tasks, bucket_places, column_tasks, delete_rows, files_by_name
from paimon_spark.store.rows.rewrite_file import RowChanges
from paimon_spark.tables.open import open_table
from support.tables.commit_states import latest
from support.tables.compacting import make, write

COLUMNS = pa.schema([("k", pa.int64()), ("v", pa.string()), ("w", pa.int64())])
EVOLVED = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
RowsWithIds = list[tuple[object, ...]]


def evolved(path: Path, options: Mapping[str, str] | None = None, parts: Sequence[str] = ()) -> Table:
    return make(path / "t", COLUMNS, [], {**EVOLVED, **(options or {})}, parts)


def put(table: Table, *keys: int) -> None:
    write(table, [(key, f"v{key}", key) for key in keys])


def rows_with_ids(table: Table) -> RowsWithIds:
    """Key, value, number, id and sequence number of each row."""
    scan = open_table(table.location).scan(["k", "v", "w", "_ROW_ID", "_SEQUENCE_NUMBER"])
    return sorted(tuple(row.values()) for row in scan.to_arrow().to_pylist())


def facts(file: DataFileMeta) -> tuple[object, ...]:
    return file.first_row_id, file.row_count, file.min_sequence_number, file.max_sequence_number, file.write_cols


def splits_of(table: ReadableTable) -> list[Split]:
    return [split for split in table.scan().plan().splits if isinstance(split, Split)]


def changed(table: Table, column: str, values: Mapping[int, object], key: str = "k") -> list[CommitMessage]:
    """The files that give a column new values in the rows of some keys, not committed yet. key: the column of these."""
    opened, snapshot = replace(open_table(table.location), file_io=table.file_io), latest(table)
    field = opened.schema.by_name[column]
    messages = []
    for task in column_tasks(opened, snapshot, files_by_name(opened, splits_of(opened))).values():
        first, end = min(map(first_id, task.files)), max(map(end_id, task.files))
        where = f"_ROW_ID >= {first} and _ROW_ID < {end}"
        rows = opened.scan([key, "_ROW_ID"], where=where).to_arrow().to_pylist()
        at = sorted((row["_ROW_ID"] - first, row[key]) for row in rows if row[key] in values)
        if not at:
            continue
        new = pa.RecordBatch.from_pylist([{column: values[found]} for _, found in at], schema=arrow_schema([field]))
        positions = np.array([place for place, _ in at], np.int64)
        cuts = (slice(0, 1), slice(1, None))  # changes come in parts
        parts = (
            RowChanges(positions[cut], np.ones(len(positions[cut]), np.bool_), new[cut.start : cut.stop])
            for cut in cuts
            if len(positions[cut])
        )
        messages.append(write_columns(opened, task, [field], parts))
    return messages


def commit(table: Table, messages: Sequence[CommitMessage], read: int | None = None) -> None:
    """args: read: the snapshot that the changes were computed from; None: the latest."""
    state = ReadState.of(latest(table) if read is None else table.snapshots.load(read))
    TableCommit(table, new_user(table)).append(messages, operation="UPDATE", read=state)


def update(table: Table, column: str, values: Mapping[int, object], key: str = "k") -> None:
    commit(table, changed(table, column, values, key))


def delete(table: Table, *ids: int) -> list[CommitMessage]:
    """The deletion vectors of the rows with some ids."""
    opened, snapshot = replace(open_table(table.location), file_io=table.file_io), latest(table)
    files = files_by_name(opened, splits_of(opened))
    tasks, live = append_tasks(opened, snapshot, files), find_vector_files(opened, snapshot)
    messages = []
    for place in bucket_places(tasks).values():
        positions = {}
        for name, task in tasks.items():
            first, end = first_id(files[name].meta), end_id(files[name].meta)
            gone = [i - first for i in ids if first <= i < end]
            if gone and task.partition == place.partition:
                positions[name] = np.array(gone, np.int64)
        if positions:
            messages.append(delete_rows(opened, live, place, positions))
    return messages
