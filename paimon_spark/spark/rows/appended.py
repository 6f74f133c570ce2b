"""Changes of an append table: files are copied without the old rows, or deletion vectors hide these, or files of some
columns get their new values.

The changes are computed once and kept by Spark (`localCheckpoint`), or by this process if they are few, so that a
condition or a source that is not deterministic is read once, and all files are made of the same changes; but each of
them is needed once where a statement only updates columns (``column_updates``). Only changed
rows pass through Spark: a task rewrites a file from the file itself, so rows that stay keep their order and every bit
of their values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.options.option import MB
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import ROW_ID, SEQUENCE_NUMBER
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.result import Outcome
from paimon_spark.row_changes.update_rules import DELETE, INSERT, UPDATE
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.dataframes import MOST_ROWS
from paimon_spark.spark.adapters.tasks import MESSAGE_ROWS, Task, collect_messages, in_worker, message_rows, run_here
from paimon_spark.spark.native.local_read import SMALL_FILES
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER
from paimon_spark.spark.rows.changes import KIND, Changes
from paimon_spark.spark.rows.column_updates import assigned_fields, write_in_one_pass, writing_columns
from paimon_spark.spark.rows.file_rows import (
    FileRows,
    Owners,
    brought_to_owners,
    by_file,
    new_values,
    numbered,
    placed_here,
)
from paimon_spark.spark.rows.target import Target
from paimon_spark.spark.write.bucket_routing import rows_here, small_rows, write_by_bucket, writes_here
from paimon_spark.spark.write.task_session import zone_of_rows
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import ChangeStrategy
from paimon_spark.store.rows.live_files import LiveFile, bucket_places, column_tasks, delete_rows
from paimon_spark.store.rows.rewrite_file import RowChanges, rewrite_file
from paimon_spark.store.rows.vector_columns import check_vector_columns
from paimon_spark.writes.commit_write import abort_job
from paimon_spark.writes.open_write import job_for
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.task_rows import write_rows
from paimon_spark.writes.write_job import WriteJob, nothing_committed

_OF_DELETED = {KIND, ROW_FILE, ROW_NUMBER}
_REWRITTEN_HERE = 16 * MB
"""Bytes: the most that files have which this process rewrites."""


def write_appended(target: Target, changes: Changes, strategy: ChangeStrategy) -> Outcome:
    """Writes the changes.

    Args:
        strategy: one of those for append tables.

    Raises:
        PaimonError: the rows do not fit the table, or its files are damaged.
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    began = time.monotonic()
    fields = target.table.schema.fields
    job = job_for(
        target.table, WriteOptions(target.table.location), FrameColumns(target.shown(fields)), overwrite=False
    )
    job = replace(job, evolution=target.read.evolution, texts=target.texts)
    if changes.once:
        return write_in_one_pass(target, changes, job)
    kept = _kept(changes, job)
    counts = kept.counts()
    if isinstance(kept, _KeptBySpark) and _applies_here(target, changes, counts, job):
        kept = kept.here() or kept
    millis = round((time.monotonic() - began) * 1000)
    has_values = all(field.name in kept.names for field in fields)
    vectors = strategy is ChangeStrategy.DELETION_VECTORS
    messages: list[CommitMessage] = []
    try:
        with nothing_committed():
            for message in _MAKERS[strategy](target, kept, counts, changes):
                messages.append(message)  # so that its files are deleted if the next one fails
            if has_values:
                messages += _write_new(kept, counts, job, vectors or changes.moves)
    except BaseException:
        abort_job(job, messages)
        raise
    updated, deleted, inserted = (_total(counts, kind) for kind in (UPDATE, DELETE, INSERT))
    return Outcome(job, tuple(messages), updated, deleted, inserted, changes.file_count, millis)


def _write_new(kept: _Kept, counts: Counts, job: WriteJob, moves: bool) -> list[CommitMessage]:
    """Writes the rows that go to new files.

    Args:
        moves: updated rows are among them; in a table with row tracking they keep their ids, and get new numbers.
    """
    schema = job.table.schema
    tracked = moves and bool(schema.tracking_fields)
    kinds = [INSERT, UPDATE] if moves and not tracked else [INSERT]
    made: list[CommitMessage] = []
    if sum(_total(counts, kind) for kind in kinds):
        made += kept.write_new(kinds, [*schema.names], job)
    if tracked and _total(counts, UPDATE):
        omissible = job.omissible | {SEQUENCE_NUMBER}
        of_old_rows = replace(job, table=job.table.with_tracking, omissible=omissible)
        made += kept.write_new([UPDATE], [*schema.names, ROW_ID], of_old_rows)
    return made


# ---------------------------------------------------------------------------------------------------- the kept changes


Counts = Mapping[str | None, Mapping[str, int]]


class _KeptBySpark:
    """Changes that Spark has computed, and brings to the tasks that need them."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame.localCheckpoint(True, StorageLevel.MEMORY_AND_DISK)
        self.names = frame.columns

    def here(self) -> _KeptHere | None:
        """The changes in this process, of few rows; None: these may be large."""
        rows = rows_here(self._frame) if set(self.names) <= _OF_DELETED else small_rows(self._frame)
        return None if rows is None else _KeptHere(rows)

    def counts(self) -> Counts:
        """How many rows of each file change, by kind; None: rows that are new."""
        found: dict[str | None, dict[str, int]] = {}
        for row in self._frame.groupBy(ROW_FILE, KIND).agg(sf.count("*").alias("n")).collect():
            found.setdefault(row[ROW_FILE], {})[row[KIND]] = row["n"]
        return found

    def by_owner(self, owners: Owners, columns: Sequence[str], task: Task) -> Iterable[CommitMessage]:
        """Runs a task on the columns of the rows of some files, which reads them with ``by_file``."""
        brought = brought_to_owners(self._frame, owners, columns)
        return collect_messages(brought.mapInArrow(in_worker(task), MESSAGE_ROWS))

    def write_new(self, kinds: Sequence[str], names: Sequence[str], job: WriteJob) -> list[CommitMessage]:
        """Writes the rows of some kinds, which go to new files."""
        return write_by_bucket(self._frame.where(sf.col(KIND).isin(*kinds)).select(*map(quoted, names)), job)


class _KeptHere:
    """Changes of few rows, which this process holds, and applies itself."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self.names = rows.column_names

    def counts(self) -> Counts:
        """As of _KeptBySpark."""
        found: dict[str | None, dict[str, int]] = {}
        for row in self._rows.group_by([ROW_FILE, KIND]).aggregate([([], "count_all")]).to_pylist():
            found.setdefault(row[ROW_FILE], {})[row[KIND]] = row["count_all"]
        return found

    def by_owner(self, owners: Owners, columns: Sequence[str], task: Task) -> Iterable[CommitMessage]:
        """As of _KeptBySpark."""
        return run_here(task, placed_here(self._rows, owners, columns))

    def write_new(self, kinds: Sequence[str], names: Sequence[str], job: WriteJob) -> list[CommitMessage]:
        """As of _KeptBySpark."""
        rows = self._rows.filter(pc.is_in(self._rows.column(KIND), pa.array(kinds, pa.string())))
        return write_rows(job, 0, rows.select(names).to_batches(), zone_of_rows)


_Kept: TypeAlias = _KeptBySpark | _KeptHere


def _kept(changes: Changes, job: WriteJob) -> _Kept:
    if changes.few and writes_here(changes.frame.sparkSession, job):
        return _KeptHere(rows_here(changes.frame))
    return _KeptBySpark(changes.frame)


def _applies_here(target: Target, changes: Changes, counts: Counts, job: WriteJob) -> bool:
    """True if this process applies the changes itself in less time than jobs of Spark take to start."""
    touched = [changes.files[name].meta.file_size for name in counts if name is not None]
    if len(touched) > SMALL_FILES or sum(touched) > _REWRITTEN_HERE:
        return False
    rows = sum(sum(of_file.values()) for of_file in counts.values())
    return rows <= MOST_ROWS and writes_here(target.spark, job)


def _total(counts: Counts, kind: str) -> int:
    return sum(of_file.get(kind, 0) for of_file in counts.values())


def _touched(changes: Changes, counts: Counts, *kinds: str) -> dict[str, LiveFile]:
    """The files of which rows change in one of these ways."""
    return {
        name: changes.files[name]
        for name, of_file in counts.items()
        if name is not None and any(of_file.get(kind) for kind in kinds)
    }


# --------------------------------------------------------------------------------------------------------- copied files


def _copy(target: Target, kept: _Kept, counts: Counts, changes: Changes) -> Iterator[CommitMessage]:
    """Rewrites the files; one of which no row is left is removed without being read."""
    tasks = target.read.tasks(_touched(changes, counts, UPDATE, DELETE))
    gone = [name for name in tasks if _is_emptied(changes.files[name], counts[name], changes.moves)]
    yield from (_removal(tasks[name]) for name in gone)
    left = {name: task for name, task in tasks.items() if name not in set(gone)}
    if left:
        fields = target.stored(target.table.schema.fields)
        fields = fields if {field.name for field in fields} <= set(kept.names) else ()
        rewriting = _rewriting(target.table, left, fields, changes.moves)
        yield from kept.by_owner(numbered(left), [KIND, *(field.name for field in fields)], rewriting)


def _is_emptied(file: LiveFile, counts: Mapping[str, int], moves: bool) -> bool:
    leaving = counts.get(DELETE, 0) + (counts.get(UPDATE, 0) if moves else 0)
    return leaving == file.live_rows


def _removal(task: AppendTask) -> CommitMessage:
    return CommitMessage(task.partition, task.bucket, task.total_buckets, deleted_files=task.files)


def _rewriting(table: Table, tasks: Mapping[str, AppendTask], fields: Sequence[DataField], moves: bool) -> Task:
    owners = numbered(tasks)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with nothing_committed():
            for name, parts in by_file(batches, owners):
                changes = (_row_changes(part, table, fields, moves) for part in parts)
                yield from message_rows([rewrite_file(table, tasks[name], changes)])

    return task


def _row_changes(changed: FileRows, table: Table, fields: Sequence[DataField], moves: bool) -> RowChanges:
    positions, rows = changed
    if not fields or moves:
        return RowChanges(positions, np.zeros(len(positions), np.bool_), _no_rows(table))
    stays = pc.equal(rows.column(0), UPDATE)
    new = new_values(rows.select(range(1, rows.num_columns)).filter(stays), fields)
    return RowChanges(positions, stays.to_numpy(zero_copy_only=False), new)


def _no_rows(table: Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=arrow_schema(table.schema.fields))


# ----------------------------------------------------------------------------------------------------- deletion vectors


def _hide(target: Target, kept: _Kept, counts: Counts, changes: Changes) -> Iterable[CommitMessage]:
    """Writes the vectors of deleted rows, and of updated ones, which go to new files."""
    tasks = target.read.tasks(_touched(changes, counts, UPDATE, DELETE))
    return _write_vectors(target, kept, tasks) if tasks else ()


def _write_vectors(
    target: Target, kept: _Kept, tasks: Mapping[str, AppendTask], deleted_only: bool = False
) -> Iterable[CommitMessage]:
    """Writes the vectors, one task to a bucket.

    Args:
        deleted_only: whether updated rows are left out.
    """
    places = bucket_places(tasks)
    numbers = {place: number for number, place in enumerate(places)}
    owners = {name: numbers[task.partition, task.bucket] for name, task in tasks.items()}
    table = target.table
    live = find_vector_files(table, target.read.snapshot)
    ordered = tuple(places.values())

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: dict[int, dict[str, npt.NDArray[np.int64]]] = {}
        for name, parts in by_file(batches, owners):
            positions = np.concatenate([_deleted(*part) if deleted_only else part[0] for part in parts])
            if len(positions):
                found.setdefault(owners[name], {})[name] = positions
        with nothing_committed():
            for owner, files in found.items():
                yield from message_rows([delete_rows(table, live, ordered[owner], files)])

    return kept.by_owner(owners, (KIND,) if deleted_only else (), task)


def _deleted(positions: npt.NDArray[np.int64], kinds: pa.RecordBatch) -> npt.NDArray[np.int64]:
    deleted: npt.NDArray[np.bool_] = pc.equal(kinds.column(0), DELETE).to_numpy(zero_copy_only=False)
    return positions[deleted]


# ----------------------------------------------------------------------------------------------- files of some columns


def _evolve(target: Target, kept: _Kept, counts: Counts, changes: Changes) -> Iterator[CommitMessage]:
    """Writes the columns that updates assign, of all rows of each file with such a row, and vectors of deleted rows."""
    table = target.table
    tasks = target.read.tasks(_touched(changes, counts, UPDATE), column_tasks)
    if tasks:
        check_vector_columns(table, tasks, changes.columns)
        fields = assigned_fields(table, changes.columns)
        names = [field.name for field in fields]
        yield from kept.by_owner(numbered(tasks), [KIND, *names], writing_columns(table, tasks, fields))
    deleted = target.read.tasks(_touched(changes, counts, DELETE))
    if deleted:
        yield from _write_vectors(target, kept, deleted, deleted_only=True)


_MAKERS: Mapping[ChangeStrategy, Callable[[Target, _Kept, Counts, Changes], Iterable[CommitMessage]]] = {
    ChangeStrategy.COPIED_FILES: _copy,
    ChangeStrategy.DELETION_VECTORS: _hide,
    ChangeStrategy.COLUMN_FILES: _evolve,
}
