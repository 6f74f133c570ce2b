"""Changes of an append table: files are copied without the old rows, or deletion vectors hide these.

The changes are computed once and kept by Spark (`localCheckpoint`), so that a condition or a source that is not
deterministic is read once, and all files are made of the same changes. Only changed rows pass through Spark: a task
rewrites a file from the file itself, so rows that stay keep their order and every bit of their values.
"""

from __future__ import annotations

import itertools
import operator
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import CommitConflict
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.options import WriteOptions
from paimon_spark.spark.adapters.tasks import MESSAGE_ROWS, Task, collect_messages, message_rows, with_plain_names
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER
from paimon_spark.spark.rows.changes import DELETE, INSERT, KIND, UPDATE, Changes
from paimon_spark.spark.rows.outcome import Outcome
from paimon_spark.spark.rows.target import Target
from paimon_spark.spark.write.bucket_routing import write_by_bucket
from paimon_spark.spark.write.commit_write import abort_job
from paimon_spark.spark.write.open_write import job_for
from paimon_spark.spark.write.task_rows import align_rows
from paimon_spark.spark.write.write_job import nothing_committed
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.deleted_rows import delete_rows
from paimon_spark.store.rows.live_files import LiveFile, append_tasks, bucket_places
from paimon_spark.store.rows.rewrite_file import RowChanges, rewrite_file

MAX_TASKS = 1000  # of one rewrite: many small files share a task
_OWNER = "_paimon_owner"


def write_appended(target: Target, changes: Changes, vectors: bool) -> Outcome:
    """Writes the changes.

    Args:
        vectors: whether deletion vectors hide old rows; else their files are rewritten.

    Raises:
        PaimonError: the rows do not fit the table, or its files are damaged.
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    began = time.monotonic()
    fields = target.table.schema.fields
    kept = changes.frame.localCheckpoint(True, StorageLevel.MEMORY_AND_DISK)
    counts = _counts(kept)
    millis = round((time.monotonic() - began) * 1000)
    touched = {name: changes.files[name] for name in counts if name is not None}
    has_values = all(field.name in kept.columns for field in fields)
    job = job_for(target.table, WriteOptions(target.table.location), target.shown(fields), overwrite=False)
    job = replace(job, evolution=target.evolution)
    messages: list[CommitMessage] = []
    try:
        with nothing_committed():
            if touched:
                tasks = _tasks(target, touched)
                made = _hide if vectors else _copy
                messages += made(target, kept, tasks, counts, changes)
            if has_values and _total(counts, INSERT) + (_total(counts, UPDATE) if vectors or changes.moves else 0):
                kinds = [INSERT, UPDATE] if vectors or changes.moves else [INSERT]
                rows = kept.where(sf.col(KIND).isin(kinds)).select(*(quoted(f.name) for f in fields))
                messages += write_by_bucket(rows, job)
    except BaseException:
        abort_job(job, messages)
        raise
    updated, deleted, inserted = (_total(counts, kind) for kind in (UPDATE, DELETE, INSERT))
    return Outcome(job, tuple(messages), updated, deleted, inserted, changes.file_count, millis)


Counts = Mapping[str | None, Mapping[str, int]]


def _counts(kept: DataFrame) -> Counts:
    """How many rows of each file change, by kind; None: rows that are new."""
    found: dict[str | None, dict[str, int]] = {}
    for row in kept.groupBy(ROW_FILE, KIND).agg(sf.count("*").alias("n")).collect():
        found.setdefault(row[ROW_FILE], {})[row[KIND]] = row["n"]
    return found


def _total(counts: Counts, kind: str) -> int:
    return sum(of_file.get(kind, 0) for of_file in counts.values())


def _tasks(target: Target, touched: Mapping[str, LiveFile]) -> dict[str, AppendTask]:
    assert target.snapshot is not None, "files of a table without a snapshot"
    tasks = append_tasks(target.table, target.snapshot, touched)
    missing = touched.keys() - tasks.keys()
    if missing:
        raise CommitConflict(f"changing rows of {target.table.location}: {min(missing)} is no longer live")
    return tasks


# --------------------------------------------------------------------------------------------------------- copied files


def _copy(
    target: Target, kept: DataFrame, tasks: Mapping[str, AppendTask], counts: Counts, changes: Changes
) -> list[CommitMessage]:
    """Rewrites the files; one of which no row is left is removed without being read."""
    gone = [name for name in tasks if _is_emptied(changes.files[name], counts[name], changes.moves)]
    messages = [_removal(tasks[name]) for name in gone]
    left = {name: task for name, task in tasks.items() if name not in set(gone)}
    if left:
        rows = kept.where(sf.col(ROW_FILE).isNotNull())
        rows = rows if not gone else rows.where(~sf.col(ROW_FILE).isin(gone))
        fields = target.table.schema.fields if all(f.name in kept.columns for f in target.table.schema.fields) else ()
        columns = [ROW_FILE, ROW_NUMBER, KIND, *(quoted(f.name) for f in fields)]
        count = min(len(left), MAX_TASKS)
        owned = rows.select(*columns).repartition(count, ROW_FILE).sortWithinPartitions(ROW_FILE, ROW_NUMBER)
        task = _rewriting(target.table, left, tuple(fields), changes.moves)
        messages += collect_messages(with_plain_names(owned).mapInArrow(plainly(task), MESSAGE_ROWS))
    return messages


def _is_emptied(file: LiveFile, counts: Mapping[str, int], moves: bool) -> bool:
    leaving = counts.get(DELETE, 0) + (counts.get(UPDATE, 0) if moves else 0)
    return leaving == file.live_rows


def _removal(task: AppendTask) -> CommitMessage:
    return CommitMessage(task.partition, task.bucket, task.total_buckets, deleted_files=task.files)


def _rewriting(table: Table, tasks: Mapping[str, AppendTask], fields: tuple[DataField, ...], moves: bool) -> Task:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with nothing_committed():
            for name, parts in _by_file(batches):
                changes = (_row_changes(part, table, fields, moves) for part in parts)
                yield from message_rows([rewrite_file(table, tasks[name], changes)])

    return task


def _by_file(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
    """The rows of each file, which lie one behind the other; those of a file are to be taken before the next."""
    pieces = (piece for batch in batches for piece in _pieces(batch))
    for name, group in itertools.groupby(pieces, key=operator.itemgetter(0)):
        yield name, (piece for _, piece in group)


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """A batch cut where the file changes."""
    if not batch.num_rows:
        return
    codes = batch.column(0).dictionary_encode().indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
    for start, end in itertools.pairwise(starts):
        yield batch.column(0)[start].as_py(), batch.slice(start, end - start)


def _row_changes(batch: pa.RecordBatch, table: Table, fields: tuple[DataField, ...], moves: bool) -> RowChanges:
    positions = batch.column(1).to_numpy()
    stays = np.array([kind == UPDATE and not moves for kind in batch.column(2).to_pylist()], np.bool_)
    if not fields:
        return RowChanges(positions, np.zeros(len(positions), np.bool_), _no_rows(table))
    named = pa.RecordBatch.from_arrays(batch.columns[3:], names=[field.name for field in fields])
    return RowChanges(positions, stays, align_rows(named.filter(pa.array(stays)), table.schema.fields))


def _no_rows(table: Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=arrow_schema(table.schema.fields))


# ----------------------------------------------------------------------------------------------------- deletion vectors


def _hide(
    target: Target, kept: DataFrame, tasks: Mapping[str, AppendTask], counts: Counts, changes: Changes
) -> list[CommitMessage]:
    """Writes the vectors, one task to a bucket."""
    places = bucket_places(tasks)
    numbers = {place: number for number, place in enumerate(places)}
    owners = {name: numbers[task.partition, task.bucket] for name, task in tasks.items()}
    known = target.spark.createDataFrame(sorted(owners.items()), f"{ROW_FILE} string, {_OWNER} int")
    rows = kept.where(sf.col(ROW_FILE).isNotNull()).select(ROW_FILE, ROW_NUMBER)
    owned = rows.join(sf.broadcast(known), ROW_FILE).select(_OWNER, ROW_FILE, ROW_NUMBER)
    count = min(len(places), MAX_TASKS)
    brought = owned.repartition(count, _OWNER).sortWithinPartitions(_OWNER, ROW_FILE, ROW_NUMBER)
    table = target.table
    live = find_vector_files(table, target.snapshot)
    ordered = tuple(places.values())

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: dict[int, dict[str, list[np.ndarray[tuple[int], np.dtype[np.int64]]]]] = {}
        for batch in batches:
            for owner in np.unique(batch.column(0).to_numpy()).tolist():
                part = batch.filter(pa.array(batch.column(0).to_numpy() == owner))
                for name, piece in _pieces(part.select([1, 2])):
                    found.setdefault(owner, {}).setdefault(name, []).append(piece.column(1).to_numpy())
        with nothing_committed():
            for owner, files in found.items():
                positions = {name: np.concatenate(parts) for name, parts in files.items()}
                yield from message_rows([delete_rows(table, live, ordered[owner], positions)])

    return collect_messages(brought.mapInArrow(plainly(task), MESSAGE_ROWS))
