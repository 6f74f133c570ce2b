"""One write job, whichever road its rows take: opened on the driver, written in tasks, committed once.

A job is frozen and picklable; its commit user is drawn when it is opened, so that a commit tried twice is made once.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.types import StringType, StructType

from paimon_spark.arrow.alignment import align_batch
from paimon_spark.errors import CommitConflict, DataError, OptionError, RetriesExhausted, StorageError
from paimon_spark.spark.batches import spark_arrow_schema, with_times
from paimon_spark.spark.options import OVERWRITE_WHERE, ROW_KIND_COLUMN, WriteOptions
from paimon_spark.spark.replaced import replaced_partitions
from paimon_spark.spark.table_creation import create_for_rows
from paimon_spark.spec.option_catalog import check_writable
from paimon_spark.spec.types import DataField
from paimon_spark.store.commit import CommitResult, Replaced, TableCommit, new_user
from paimon_spark.store.compaction import CompactionMetrics
from paimon_spark.store.messages import CommitMessage
from paimon_spark.store.postpone_moves import place_staged
from paimon_spark.store.postpone_write import open_task_write
from paimon_spark.store.table import Table, find_table, open_table
from paimon_spark.store.write_plan import WritePlan, plan_write

_log = logging.getLogger(__name__)
Kinds = npt.NDArray[np.int8]
KIND_TEXTS = ("+I", "-U", "+U", "-D")  # by their byte on disk


@dataclass(frozen=True)
class WriteJob:
    """What the tasks and the commit need to know.

    Attributes:
        table: with the options of this write.
        commit_user: names the job in snapshots.
        plan: what was there when the user was drawn.
        overwrites: whether rows are replaced in the same snapshot.
        replaced: which, as for TableCommit.overwrite.
        row_kind_column: the column of the rows that holds their kind and is not stored.
    """

    table: Table
    commit_user: str
    plan: WritePlan
    overwrites: bool = False
    replaced: Replaced = None
    row_kind_column: str | None = None


@dataclass(frozen=True)
class WriteMetrics:
    """What a write did.

    Attributes:
        rows: rows in the new files, deletions among them; equal keys of a task are one row.
        files: new data files.
        bytes: their size.
        millis: wall time, from the call to the commit.
        snapshot_id: the snapshot it made; None when there was nothing to commit.
        compaction: of the buckets it wrote to; None when the table is not compacted by its writers.
    """

    rows: int
    files: int
    bytes: int
    millis: int
    snapshot_id: int | None
    compaction: CompactionMetrics | None = None


def open_job(options: WriteOptions, schema: StructType, overwrite: bool) -> WriteJob:
    """Opens the table, or creates it for the rows, and checks all that can be checked before a row is written.

    Args:
        options: of the write.
        schema: of the DataFrame.
        overwrite: whether rows are replaced: all, those of `overwrite-where`, or the partitions of the rows.

    Raises:
        PaimonError: options, DataFrame and table do not fit together; nothing was written.
    """
    if options.overwrite_where is not None and not overwrite:
        raise OptionError(f"'{OVERWRITE_WHERE}' says what an overwrite replaces: use it with mode('overwrite')")
    kind_column = None if options.row_kind_column is None else _kind_column(options.row_kind_column, schema)
    stored = StructType([field for field in schema.fields if field.name != kind_column])
    table = find_table(options.path, options.table)
    if table is None:
        create_for_rows(options.path, options.table, stored)
        table = open_table(options.path, options.table)
    check_writable(table.schema, table.options)
    if kind_column is not None and not table.schema.primary_keys:
        raise OptionError(
            f"'{ROW_KIND_COLUMN}' needs a primary key to update or delete by; the table at {table.location} has none"
        )
    align_rows(_no_rows(stored), table.schema.fields)
    replaced: Replaced = "dynamic" if options.overwrite_dynamic else None
    if options.overwrite_where is not None:
        replaced = replaced_partitions(table.schema, options.overwrite_where)
    return WriteJob(table, new_user(table), plan_write(table, overwrite), overwrite, replaced, kind_column)


def write_rows(job: WriteJob, task_id: int, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
    """Writes the rows of one task; on any error its files are deleted again.

    Args:
        task_id: from 0; among equal keys the row of the higher task is the newer one.
        batches: as Spark hands them over, columns in any order.

    Raises:
        DataError: a row does not fit the table.
        StorageError: a file could not be written.
    """
    with nothing_committed():
        writer = open_task_write(job.table, job.commit_user, task_id, job.plan)
        try:
            for batch in batches:
                writer.write(*job_rows(job, batch))
            return writer.finish()
        except BaseException:
            writer.abort()
            raise


def job_rows(job: WriteJob, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Kinds | None]:
    """Rows as Spark hands them over, brought to the columns of the table, and their kinds if a column tells them.

    Raises:
        DataError: they do not fit.
    """
    if job.row_kind_column is None:
        return align_rows(batch, job.table.schema.fields), None
    position = batch.schema.get_field_index(job.row_kind_column)
    kinds = row_kinds(batch.column(position), job.row_kind_column)
    return align_rows(batch.remove_column(position), job.table.schema.fields), kinds


def current_task() -> int:
    """The number of the Spark task that runs here, in the order of the DataFrame's partitions; 0 outside of one."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def align_rows(batch: pa.RecordBatch, fields: Sequence[DataField]) -> pa.RecordBatch:
    """Rows as Spark hands them over, brought to the columns of the table.

    Raises:
        DataError: they do not fit.
    """
    return align_batch(with_times(batch, fields), fields)


def place_job(job: WriteJob, messages: Sequence[CommitMessage]) -> Sequence[CommitMessage]:
    """What is to be committed, after what the tasks have staged has moved into buckets, in this process.

    Raises:
        Any error of place_staged; the files of all messages are deleted.
    """
    with nothing_committed():
        try:
            return place_staged(job.table, job.commit_user, job.plan, messages)
        except BaseException:
            abort_job(job, messages)
            raise


def commit_job(job: WriteJob, messages: Sequence[CommitMessage]) -> CommitResult | None:
    """Commits what the tasks wrote; None when there is nothing to commit.

    Raises:
        CommitConflict, RetriesExhausted, DataError, StorageError: nothing was committed, and the files are deleted
            again.
        CommitStateUnknown: nothing is deleted.
    """
    commit = TableCommit(job.table, job.commit_user, job.plan.since, job.plan.base)
    with nothing_committed():
        try:
            if job.overwrites:
                return commit.overwrite(messages, job.replaced)
            return commit.append(messages)
        except (CommitConflict, RetriesExhausted, DataError, StorageError):
            _abort(commit, messages)
            raise


def abort_job(job: WriteJob, messages: Sequence[CommitMessage]) -> None:
    """Deletes the files of a job that did not come to its commit."""
    _abort(TableCommit(job.table, job.commit_user, job.plan.since), messages)


def _abort(commit: TableCommit, messages: Sequence[CommitMessage]) -> None:
    """Looks first whether the table has this commit after all. If the storage does not tell, the files stay."""
    try:
        commit.abort(messages)
    except StorageError as error:
        _log.warning("the files of a failed job are left behind, which no snapshot names: %s", error)


@contextmanager
def nothing_committed() -> Iterator[None]:
    """For the work of a job up to its commit, which fails for certain or with CommitStateUnknown."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{error}. Nothing was committed: remove the cause and run the job again") from error


def row_kinds(column: pa.Array, name: str) -> Kinds:
    """The bytes of row kinds given as text.

    Raises:
        DataError: a value is none of +I, -U, +U, -D.
    """
    codes = pc.index_in(column, pa.array(KIND_TEXTS, column.type))
    if codes.null_count:
        wrong = pc.unique(column.filter(codes.is_null())).slice(0, 5).to_pylist()
        raise DataError(
            f"the row kind column '{name}' holds {', '.join(map(repr, wrong))}; expected {', '.join(KIND_TEXTS)}"
        )
    kinds: Kinds = codes.cast(pa.int8()).to_numpy()
    return kinds


def _kind_column(name: str, schema: StructType) -> str:
    """The DataFrame's name of the row kind column."""
    alike = [f for f in schema.fields if f.name == name] or [f for f in schema.fields if f.name.lower() == name.lower()]
    if len(alike) != 1 or not isinstance(alike[0].dataType, StringType):
        columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema.fields)
        raise OptionError(f"'{ROW_KIND_COLUMN}' = '{name}' must name one string column of the DataFrame: {columns}")
    return alike[0].name


def _no_rows(schema: StructType) -> pa.RecordBatch:
    arrow = spark_arrow_schema(schema)
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in arrow], schema=arrow)
