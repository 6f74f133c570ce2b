"""paimon_spark without Spark, on rows of plain values (comparing.py): one function a deed, one commit a write."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from genuine import KINDS, NO_OPTIONS
from support.oracles.comparing import Row, arrow_batch, comparable, comparable_list

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.file_io import file_io_for
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType
from paimon_spark.store.commit.table_commit import CommitResult, TableCommit
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import CompactResult, Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rescale import rescale as rescale_table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.writes.write_job import WriteResult

Part = tuple[Sequence[Row], Sequence[str] | None]


def create(
    path: str,
    columns: Mapping[str, Any],
    keys: Sequence[str] = (),
    partitions: Sequence[str] = (),
    options: Mapping[str, str] = NO_OPTIONS,
) -> None:
    """A new table; columns: name -> type as a schema file writes it."""
    fields = [DataField(i, name, parse_type(t)) for i, (name, t) in enumerate(columns.items())]
    numbered, highest = assign_field_ids(fields)
    schema = TableSchema(0, numbered, highest, tuple(partitions), tuple(keys), dict(options))
    create_table(path, schema, file_io_for(path, {}), ignore_if_exists=False)


def write(path: str, parts: Sequence[Part], options: Mapping[str, str] = NO_OPTIONS) -> CommitResult | None:
    """One commit of several tasks, each with its rows and their row kinds (None: all +I)."""
    table, user = open_table(path, options), str(uuid.uuid4())
    return TableCommit(table, user).append(_messages(table, user, parts))


def append(
    path: str, rows: Sequence[Row], kinds: Sequence[str] | None, options: Mapping[str, str] = NO_OPTIONS
) -> WriteResult:
    """One write by the method of a table, with what follows a commit."""
    table = open_table(path, options)
    batch = arrow_batch(rows, table.schema.fields)
    if not table.schema.primary_keys or kinds is None:
        return table.append(batch)
    return table.append(batch.append_column("_kind", pa.array(kinds, pa.string())), {"row-kind-column": "_kind"})


def replace(path: str, rows: Sequence[Row], dynamic: bool) -> WriteResult:
    """One overwrite by the method of a table: of everything, or of the partitions of the rows."""
    table = open_table(path)
    batch = arrow_batch(rows, table.schema.fields)
    return table.dynamic_partition_overwrite(batch) if dynamic else table.overwrite(batch)


def overwrite(path: str, rows: Sequence[Row], partitions: Any) -> CommitResult | None:
    """One commit that replaces: None the whole table, a map one partition, "dynamic" the partitions of the rows."""
    table, user = open_table(path), str(uuid.uuid4())
    return TableCommit(table, user).overwrite(_messages(table, user, [(rows, None)], overwrites=True), partitions)


def _messages(table: Table, user: str, parts: Sequence[Part], overwrites: bool = False) -> list[CommitMessage]:
    messages, plan = [], plan_write(table, overwrites)
    for task, (rows, kinds) in enumerate(parts):
        writer = TableWrite(table, user, task, plan)
        codes = None if kinds is None else np.array([KINDS.index(kind) for kind in kinds], np.int8)
        writer.write(arrow_batch(rows, table.schema.fields), codes)
        messages.append(writer.finish())
    return list(itertools.chain.from_iterable(messages))


def read(path: str, options: Mapping[str, str] = NO_OPTIONS, **scan: Any) -> Counter[Row]:
    """All rows, or those of the scan's columns and where."""
    return comparable(open_table(path, options).scan(**scan).to_arrow())


def types(path: str, options: Mapping[str, str] = NO_OPTIONS) -> list[DataType]:
    return [field.type for field in open_table(path, options).schema.fields]


def snapshot_ids(path: str) -> list[int]:
    snapshots = open_table(path).snapshots
    latest, earliest = snapshots.latest_id(), snapshots.earliest_id()
    return [] if latest is None or earliest is None else list(range(earliest, latest + 1))


class _Here:
    """Runs compaction tasks in this process, one after the other."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        return [run_here(table, task) for task in tasks]

    def stop(self) -> None:
        """Nothing runs beside the caller."""


def compact(path: str, full: bool, options: Mapping[str, str] = NO_OPTIONS) -> CompactResult:
    """A compaction of the buckets that need it, or of all files."""
    return compact_table(open_table(path, options), _Here(), full=full)


def changelog(path: str) -> list[tuple[str, Row]]:
    """The events of all snapshots, in order, as (row kind, comparable row); those of one key are in the order they
    happened."""
    events: list[tuple[str, Row]] = []
    for number in snapshot_ids(path):
        options = {"incremental-between": f"{number - 1},{number}", "incremental-between-scan-mode": "changelog"}
        found = open_table(path, options).scan(row_kinds=True).to_arrow()
        kinds = found.column("_row_kind").to_pylist()
        events += zip(kinds, comparable_list(found.drop_columns(["_row_kind"])), strict=True)
    return events


def rescale(path: str, buckets: int) -> None:
    """The whole table written again into so many buckets."""
    rescale_table(open_table(path), buckets)
