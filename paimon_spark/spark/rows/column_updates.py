"""New values of some columns of rows that are there, in tables with data evolution (format section 10).

Where a statement only updates, a row that changes is needed once: by the task that writes the columns of its file. So
the rows go there from where they are found, and Spark keeps none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.errors import DataError
from paimon_spark.format.rules.blobs import vector_file_columns
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.result import Outcome
from paimon_spark.row_changes.update_rules import UPDATE
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.tasks import Task, in_worker, message_rows, packed, unpacked
from paimon_spark.spark.rows.changes import KIND, Changes
from paimon_spark.spark.rows.file_rows import (
    MAX_TASKS,
    FileRows,
    Owners,
    brought_to_owners,
    by_file,
    new_values,
    numbered,
)
from paimon_spark.spark.rows.target import Target, TargetRows
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import fair_bins
from paimon_spark.store.rows.column_files import write_columns
from paimon_spark.store.rows.live_files import column_tasks
from paimon_spark.store.rows.rewrite_file import RowChanges
from paimon_spark.writes.commit_write import abort_job
from paimon_spark.writes.write_job import WriteJob, nothing_committed

_DONE_ROWS = "messages binary, updated bigint, stands_twice boolean"
"""What a task tells of each file."""


def in_one_pass(table: Table, found: TargetRows, columns: Collection[str]) -> bool:
    """True if updates of some columns can be written by ``write_in_one_pass``.

    Of many files most may have no row that changes, and columns with files of their own are refused for files in which
    rows change, so these must be known first.

    Args:
        found: the rows with places, of which some change.
        columns: those that get new values.
    """
    return len(found.files) <= MAX_TASKS and not vector_file_columns(assigned_fields(table, columns), table.settings)


def write_in_one_pass(target: Target, changes: Changes, job: WriteJob) -> Outcome:
    """Finds the rows that change and writes their columns, in one job of Spark.

    Args:
        changes: with ``once``.

    Raises:
        PaimonError: the rows do not fit the table, its files are damaged, or a row would get several new values.
        Spark's exception for a failed job.
    """
    if not changes.files:
        return Outcome(job, (), 0, 0, 0, changes.file_count)
    table, fields = target.table, assigned_fields(target.table, changes.columns)
    tasks = target.read.tasks(changes.files, column_tasks)
    brought = brought_to_owners(changes.frame, _in_shares(table, tasks), [field.name for field in fields])
    with job_errors():
        done = brought.mapInArrow(in_worker(_counting(table, tasks, fields)), _DONE_ROWS).collect()
    messages = tuple(message for row in done for message in unpacked(row["messages"]))
    if any(row["stands_twice"] for row in done):
        abort_job(job, messages)
        if changes.checked is not None:
            with job_errors():
                changes.checked().groupBy(KIND).count().collect()
        raise DataError(
            f"changing rows of {table.location}: a row would get several new values, and it is not clear which one "
            "counts; nothing was written. Make the source have one row for each"
        )
    return Outcome(job, messages, sum(row["updated"] for row in done), 0, 0, changes.file_count)


def _in_shares(table: Table, tasks: Mapping[str, AppendTask]) -> Owners:
    """The owners of files, as many as there are tasks of a read: most files may have no row that changes.

    A task of Spark without rows takes longer than to write the columns of a small file.
    """
    scan = table.settings.scan
    weights = [sum(max(file.file_size, scan.open_file_cost) for file in task.files) for task in tasks.values()]
    shares = fair_bins(weights, scan.split_target_size, scan.open_file_cost)
    owners = [number for number, (start, end) in enumerate(shares) for _ in range(start, end)]
    return dict(zip(tasks, owners, strict=True))


def writing_columns(table: Table, tasks: Mapping[str, AppendTask], fields: Sequence[DataField]) -> Task:
    """A task that writes the columns of files; it gets KIND and these columns of rows that are updated or deleted."""
    owners = numbered(tasks)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with nothing_committed():
            for name, parts in by_file(batches, owners):
                updates = map(_updated, parts)
                changes = (_column_values(rows, fields) for rows in updates if len(rows[0]))
                yield from message_rows([write_columns(table, tasks[name], fields, changes)])

    return task


def _counting(table: Table, tasks: Mapping[str, AppendTask], fields: Sequence[DataField]) -> Task:
    """A task that writes the columns of files, of which it gets updated rows.

    It tells of each file how many rows change, or that one is there several times.
    """
    owners = numbered(tasks)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with nothing_committed():
            for name, parts in by_file(batches, owners):
                counted = _Counted(_column_values(part, fields) for part in parts)
                try:
                    messages = [write_columns(table, tasks[name], fields, counted)]
                except _StandsTwice:
                    messages = []
                yield _done_row(messages, counted.rows, not messages)

    return task


def _done_row(messages: Sequence[CommitMessage], updated: int, stands_twice: bool) -> pa.RecordBatch:
    columns = [
        pa.array([packed(messages)], pa.binary()),
        pa.array([updated], pa.int64()),
        pa.array([stands_twice]),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["messages", "updated", "stands_twice"])


class _StandsTwice(Exception):
    """A row of the table is in the changes more than once."""


class _Counted(Iterator[RowChanges]):
    """Changes of one file, sorted by row numbers, which are counted as they pass."""

    def __init__(self, changes: Iterator[RowChanges]) -> None:
        self._changes = changes
        self._last = -1
        self.rows = 0

    def __next__(self) -> RowChanges:
        change = next(self._changes)
        if bool((np.diff(change.positions, prepend=self._last) == 0).any()):
            raise _StandsTwice
        self._last = int(change.positions[-1])
        self.rows += len(change.positions)
        return change


def assigned_fields(table: Table, columns: Collection[str]) -> list[DataField]:
    """The columns that get new values, in the order of the table."""
    return [field for field in table.schema.fields if field.name in columns]


def _updated(changed: FileRows) -> FileRows:
    """Those of the rows that are updated; the first of their columns is KIND, and goes."""
    positions, rows = changed
    are_updated = pc.equal(rows.column(0), UPDATE)
    values = rows.select(range(1, rows.num_columns)).filter(are_updated)
    return positions[are_updated.to_numpy(zero_copy_only=False)], values


def _column_values(changed: FileRows, fields: Sequence[DataField]) -> RowChanges:
    """The new values of rows."""
    positions, rows = changed
    return RowChanges(positions, np.ones(rows.num_rows, np.bool_), new_values(rows, fields))
