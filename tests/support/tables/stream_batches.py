"""Batches of a stream as Spark hands them to the sink, without Spark: tasks write, then the driver commits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from paimon_spark.file_io import FileIO
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.spark.stream_sink.writer import BatchFiles, PaimonStreamWriter, open_stream_writer
from paimon_spark.tables.open import open_table
from paimon_spark.writes.task_rows import write_rows

QUERY = "5bd55964-2e1e-43d8-b893-06fbce12a43c"
SCHEMA = StructType([StructField("k", IntegerType()), StructField("p", StringType()), StructField("v", LongType())])
ARROW = pa.schema([("k", pa.int32()), ("p", pa.string()), ("v", pa.int64())])
Row = tuple[int, str, int]

FULL = {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "2"}
TABLES: Mapping[str, Mapping[str, str]] = {
    "append": {},
    "bucketed": {"bucket": "2", "bucket-key": "k"},
    "keyed": {"primary-key": "k", "bucket": "2"},
    "partitioned": {"primary-key": "k,p", "partition": "p", "bucket": "1"},
    "sums": {"primary-key": "k", "bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "lookup": {"primary-key": "k", "bucket": "1", "changelog-producer": "lookup"},
    "input": {"primary-key": "k", "bucket": "1", "changelog-producer": "input"},
    "full": {"primary-key": "k", "bucket": "1", **FULL},
    "first-row": {"primary-key": "k", "bucket": "1", "merge-engine": "first-row"},
    "vectors": {"primary-key": "k", "bucket": "1", "deletion-vectors.enabled": "true"},
    "dynamic": {"primary-key": "k", "bucket": "-1", "dynamic-bucket.target-row-num": "3"},
    "postpone": {"primary-key": "k", "bucket": "-2", "postpone.default-bucket-num": "1"},
}  # fmt: skip
"""By name the options of tables of every kind that a plain sink writes."""


def writer(
    path: Path, table: str, overwrite: bool = False, store: FileIO | None = None, **more: str
) -> PaimonStreamWriter:
    """The writer of one batch, as Spark makes it for the tasks and for the commit; it makes the table if need be."""
    made = open_stream_writer({**TABLES[table], **more, "path": str(path)}, SCHEMA, overwrite)
    if store is not None:
        made._job = replace(made._job, table=replace(made._job.table, file_io=store))
    return made


def tasks(made: PaimonStreamWriter, number: int, *rows: Sequence[Row], query: str = QUERY) -> list[BatchFiles]:
    """What the tasks of a batch write, each its rows."""
    job = replace(made._job, commit_user=f"spark-{query}")
    found = []
    for task, mine in enumerate(rows):
        batch = pa.RecordBatch.from_pylist([dict(zip(ARROW.names, row, strict=True)) for row in mine], schema=ARROW)
        files = tuple(write_rows(job, task, [batch]))
        state = (job.plan.since, job.plan.base, job.table.schema.id, job.table.opened)
        found.append(BatchFiles(files, query, number, len(mine), None, *state))
    return found


def run_batch(path: Path, table: str, number: int, *rows: Sequence[Row], query: str = QUERY, **more: Any) -> None:
    """One try of a batch, by one task for each list of rows."""
    made = writer(path, table, **more)
    made.commit(list(tasks(made, number, *rows, query=query)), number)


def rows_of(path: Path) -> list[Row]:
    found = open_table(str(path)).scan().to_arrow().to_pylist()
    return sorted((row["k"], row["p"], row["v"]) for row in found)


def commits(path: Path, query: str = QUERY) -> list[tuple[int, str]]:
    """The number and kind of every snapshot that a stream made of rows, in order."""
    store = open_table(str(path)).snapshots
    found: list[Snapshot] = [store.load(number) for number in store.ids()]
    mine = [s for s in found if s.commit_user == f"spark-{query}" and s.commit_kind != CommitKind.COMPACT]
    return [(s.commit_identifier, str(s.commit_kind)) for s in mine]
