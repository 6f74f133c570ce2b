"""The engine of procedures whose large parts are Spark tasks; see Engine.

The driver reads the metadata, and keeps the names of the files. A storage error in a task is the same error here;
nothing is repeated by Spark because of it.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CorruptFile, StorageError
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.option import MB
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.table_statistics import NUMBERS, TEXTS, ColumnStatistics, planned_size, value_text
from paimon_spark.format.types import TIMESTAMPS, DataField
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.tasks import Task, one_a_task, with_plain_names
from paimon_spark.spark.jobs.bucket_routed_write import compact_postponed_with_spark, rewrite_with_spark
from paimon_spark.spark.jobs.cluster_job import cluster_with_spark
from paimon_spark.spark.jobs.compact_job import SparkRunner
from paimon_spark.store.clean.orphans import ThreadedWork
from paimon_spark.store.clean.orphans_listing import Listing, StorageWork
from paimon_spark.store.clustering.work import ClusterWork, GroupResult
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.indexing.build import BuildOutcome, BuildTask, attempt_file
from paimon_spark.store.indexing.build import settled as built
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rewrite import Rewrite
from paimon_spark.store.upkeep.compact_call import compact_on_call
from paimon_spark.store.upkeep.copy_files import CopyAll, FileCopy, copy_here
from paimon_spark.store.upkeep.rewrite_indexes import IndexTask, attempt_indexes, settled

P = TypeVar("P")
R = TypeVar("R")
_OUTCOME = "outcome"


@dataclass(frozen=True)
class SparkEngine:
    """See Engine.

    Attributes:
        spark: whose tasks work.
        read: the rows of a snapshot as a DataFrame, by the names of columns and the id of the snapshot.
    """

    spark: SparkSession
    read: Callable[[Sequence[str], int], DataFrame]

    def compact(self, table: Table, where: str | Predicate | None, full: bool | None) -> CompactResult:
        move = partial(compact_postponed_with_spark, self.spark)
        return compact_on_call(table, SparkRunner(self.spark), where, full, move, self.cluster)

    def cluster(self, work: ClusterWork) -> Sequence[GroupResult]:
        return cluster_with_spark(self.spark, work)

    def rewrite(self, rewrite: Rewrite) -> list[CommitMessage]:
        return rewrite_with_spark(self.spark, rewrite)

    def build_indexes(self, table: Table, tasks: Sequence[IndexTask]) -> Sequence[CompactTaskResult]:
        what = f"make the file indexes of {table.location}"
        return settled(table, run_pieces(self.spark, tasks, partial(attempt_indexes, table), what))

    def build_table_index(self, table: Table, tasks: Sequence[BuildTask]) -> Sequence[BuildOutcome]:
        what = f"make an index of {table.location}"
        return built(table, run_pieces(self.spark, tasks, partial(attempt_file, table), what))

    def storage_work(self, table: Table, distributed: bool | None) -> StorageWork:
        return storage_work_with_spark(self.spark, table, distributed)

    def copy_files(self, source: FileIO, target: FileIO, files: Sequence[FileCopy], distributed: bool | None) -> None:
        copy_with_spark(self.spark, distributed)(source, target, files)

    def count_columns(
        self, table: Table, snapshot: Snapshot, fields: Sequence[DataField]
    ) -> tuple[int, dict[str, ColumnStatistics]]:
        """See Engine. Where no column is counted, the cheapest one is read: rows need one."""
        numbers = (field.name for field in table.schema.fields if field.type.root in NUMBERS)
        cheapest = next(numbers, table.schema.names[0])
        return count_columns(self.read([field.name for field in fields] or [cheapest], snapshot.id), fields)


_MAX_ERROR = 0.05  # of the number of distinct values, the default of spark.sql.statistics.ndv.maxError
_NANOS = 1000  # in a microsecond


def count_columns(rows: DataFrame, fields: Sequence[DataField]) -> tuple[int, dict[str, ColumnStatistics]]:
    """The number of rows, and the statistics of columns by name; one job.

    Args:
        rows: has the columns, in this order, and no others unless there are none.
        fields: the columns; each of a type that has statistics.
    """
    plain = with_plain_names(rows)
    named = zip(plain.columns, fields, strict=False)  # the rows have one column if no field is counted
    measures = [measure for name, field in named for measure in _measures(sf.col(name), field)]
    with job_errors():
        found = plain.agg(sf.count(sf.lit(1)), *measures).toArrow()
    values = iter(_value(column) for column in found.columns)
    count = next(values)
    return count, {field.name: _statistics(field, count, values) for field in fields}


def _measures(column: Column, field: DataField) -> tuple[Column, ...]:
    distinct, present = sf.approx_count_distinct(column, _MAX_ERROR), sf.count(column)
    if field.type.root in TEXTS:
        length = sf.length(column)
        return distinct, present, sf.ceil(sf.avg(length)), sf.max(length)
    return distinct, present, sf.min(column), sf.max(column)


def _statistics(field: DataField, rows: int, values: Iterator[Any]) -> ColumnStatistics:
    distinct, present, first, second = (next(values) for _ in range(4))
    size = planned_size(field.type)
    is_text = field.type.root in TEXTS
    least, greatest = (None, None) if is_text else (_text(field, first), _text(field, second))
    return ColumnStatistics(
        column_id=field.id,
        distinct_count=min(distinct, present),
        min=least,
        max=greatest,
        null_count=rows - present,
        avg_len=int(first) if is_text and present else size,
        max_len=second if is_text and present else size,
    )


def _text(field: DataField, value: Any) -> str | None:
    if value is None:
        return None
    return value_text(value * _NANOS if field.type.root in TIMESTAMPS else value, field.type)


def _value(column: pa.ChunkedArray) -> Any:
    """The one value of a column; times are numbers, which no time zone changes."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return column[0].as_py()


_HERE = 256 * MB  # what this process copies itself
_TASK = 256 * MB  # copied by one task, about


def copy_with_spark(spark: SparkSession, distributed: bool | None = None) -> CopyAll:
    """See CopyAll; distributed: whether Spark copies. None: where there is much of it."""

    def copy_all(source: FileIO, target: FileIO, files: Sequence[FileCopy]) -> None:
        if distributed or (distributed is None and sum(file.size or 0 for file in files) > _HERE):
            run_pieces(spark, list(_pieces(files)), partial(copy_here, source, target), f"copy {len(files)} files")
        else:
            copy_here(source, target, files)

    return copy_all


def _pieces(files: Sequence[FileCopy]) -> Iterator[list[FileCopy]]:
    """The files in their order, for one task each."""
    piece: list[FileCopy] = []
    size = 0
    for file in files:
        if piece and size + (file.size or 0) > _TASK:
            yield piece
            piece, size = [], 0
        piece.append(file)
        size += file.size or 0
    if piece:
        yield piece


_DIRECTORIES = 256  # listed by one task
_FILES = 2000  # deleted by one task


@dataclass(frozen=True)
class SparkWork:
    """See StorageWork: by Spark tasks, on classic Spark and on Connect.

    Attributes:
        least_directories, least_files: less than that this process does itself.
    """

    spark: SparkSession
    table: Table
    least_directories: int = 1024
    least_files: int = 20_000
    directories_at_once: int = 50_000
    files_at_once: int = 200_000

    def listings(self, directories: Sequence[str]) -> list[Listing]:
        here = ThreadedWork(self.table)
        if len(directories) < self.least_directories:
            return here.listings(directories)
        found = self._run("list", directories, _DIRECTORIES, here.listings)
        return [listing for listings in found for listing in listings]

    def delete(self, paths: Sequence[str]) -> Sequence[str]:
        here = ThreadedWork(self.table)
        if len(paths) < self.least_files:
            return here.delete(paths)
        return [path for gone in self._run("delete", paths, _FILES, here.delete) for path in gone]

    def _run(self, what: str, paths: Sequence[str], piece: int, work: Callable[[Sequence[str]], Any]) -> list[Any]:
        """What the work gives for each piece of the paths. Errors: StorageError."""
        pieces = [paths[start : start + piece] for start in range(0, len(paths), piece)]
        return run_pieces(self.spark, pieces, work, f"{what} {len(paths)} paths of {self.table.location}")


def storage_work_with_spark(spark: SparkSession, table: Table, distributed: bool | None) -> StorageWork:
    """See StorageWork; distributed: whether Spark lists and deletes. None: where there is much of it."""
    if distributed is False:
        return ThreadedWork(table)
    return SparkWork(spark, table, 1, 1) if distributed else SparkWork(spark, table)


def run_pieces(spark: SparkSession, pieces: Sequence[P], work: Callable[[P], R], what: str) -> list[R]:
    """What the work gives for each of the pieces, in any order. No task is under way on return, also after an error.

    Args:
        what: is done with all of them, for errors, such as "copy 7 files".

    Raises:
        StorageError, CorruptFile: the work raised it in a task; Spark repeats nothing because of it.
        StorageError: Spark failed the job.
    """
    if not pieces:
        return []
    tag = f"paimon-pieces-{uuid.uuid4()}"
    spark.addTag(tag)  # of the jobs of this thread
    try:
        rows = one_a_task(spark, pieces).mapInArrow(_task(work), f"{_OUTCOME} binary").collect()
    except BaseException as error:
        spark.interruptTag(tag)  # what runs would go on after the caller has tidied up
        if not isinstance(error, Exception):
            raise
        # Classic Spark raises what Py4J makes of Java's errors, Connect its own: no common base.
        raise StorageError(f"Spark failed the job to {what}: {error}") from error
    finally:
        spark.removeTag(tag)
    outcomes = [pickle.loads(row[_OUTCOME]) for row in rows]
    for outcome in outcomes:
        if isinstance(outcome, (OSError, CorruptFile)):
            raise outcome
    return outcomes


def _task(work: Callable[[Any], Any]) -> Task:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for piece in batch.column(0).to_pylist():  # one
                outcome: Any
                try:
                    outcome = work(pickle.loads(piece))
                except (OSError, CorruptFile) as error:
                    outcome = error
                yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(outcome)], pa.binary())], names=[_OUTCOME])

    return task
