"""Compacting a table in a test, and looking at what lies in its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import data_file_path, file_format_of
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS
from paimon_spark.store.compact.commit import commit_compaction
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_rules import write_rules
from paimon_spark.tables.open import open_table

Row = tuple[Any, ...]
KINDS = ("+I", "-U", "+U", "-D")


def make(
    path: Path, columns: pa.Schema, keys: Sequence[str], options: Mapping[str, str], parts: Sequence[str] = ()
) -> Table:
    """A new table that nothing compacts by itself."""
    create_table(str(path), new_schema(columns, keys, parts, {"bucket": "1", "write-only": "true", **options}))
    return open_table(str(path))


def write(table: Table, rows: Sequence[Row], kinds: Sequence[str] | None = None, refuses: bool = True) -> None:
    """One commit, to the branch that the table is opened on.

    Args:
        refuses: False: rows that no merge takes are written too, as the official system writes them.
    """
    table = open_table(table.location, {"branch": table.branch})
    rules = write_rules(table)
    task = TableWrite(table, f"user-{table.snapshots.latest_id()}", rules=rules if refuses else rules.of_moved_rows())
    schema = arrow_schema(table.schema.fields)
    columns = zip(*rows, strict=True) if rows else [[]] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    numbers = None if kinds is None else np.array([KINDS.index(kind) for kind in kinds], np.int8)
    task.write(pa.RecordBatch.from_arrays(arrays, schema=schema), numbers)
    TableCommit(table, f"user-{table.snapshots.latest_id()}").append(task.finish())


def rows_of(table: Table) -> list[Row]:
    """All rows of the latest snapshot, sorted by their text."""
    found = open_table(table.location).scan().to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


def tasks_of(table: Table, full: bool = True) -> tuple[CompactTask, ...]:
    return plan_compaction(open_table(table.location), full=full).tasks


def compact(table: Table, full: bool = True) -> list[CompactTaskResult]:
    """Plans, runs and commits one compaction of all buckets; what the tasks did."""
    table = open_table(table.location)
    plan = plan_compaction(table, full=full)
    results = [run_task(table, task) for task in plan.tasks]
    if plan.snapshot is not None and results:
        done = commit_compaction(table, plan.snapshot, plan.upper, results)
        assert not done.dropped
    return results


def live_files(table: Table) -> list[DataFileMeta]:
    return [file for bucket in live_buckets(table, table.snapshots.latest()) for file in bucket.files]


def stored_rows(table: Table) -> Iterator[tuple[DataFileMeta, list[Row]]]:
    """Of each live file what is in it: (sequence number, kind, values) of each row, in file order."""
    for bucket in live_buckets(table, table.snapshots.latest()):
        for entry in bucket.entries:
            path = data_file_path(bucket_directory(table, entry.partition, entry.bucket), entry.file)
            yield entry.file, file_rows(table, path, [*SYSTEM_FIELDS, *table.schema.fields])


def file_rows(table: Table, path: str, fields: Sequence[DataField]) -> list[Row]:
    """The columns of a file of the table, row by row, in file order."""
    reader = open_reader(table.file_io.open_input(path), file_format_of(path), path)
    batches = [batch for _, batch in reader.read(fields, 1000)]
    reader.close()
    return [tuple(row.values()) for row in pa.Table.from_batches(batches, arrow_schema(fields)).to_pylist()]
