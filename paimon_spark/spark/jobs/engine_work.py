"""Work of procedures that Spark tasks do: deletion, listing, copies, counts, and any work in pieces; see SparkEngine.

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

from paimon_spark.errors import CorruptFile, StorageError
from paimon_spark.file_io import FileIO
from paimon_spark.format.options.option import MB
from paimon_spark.format.table_statistics import TEXTS, ColumnStatistics, planned_size, value_text
from paimon_spark.format.types import TIMESTAMPS, DataField
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.tasks import Task, in_worker, one_a_task, with_plain_names
from paimon_spark.store.clean.orphans import ThreadedWork
from paimon_spark.store.clean.orphans_listing import Listing, StorageWork
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.copy_files import CopyAll, FileCopy, copy_here

P = TypeVar("P")
R = TypeVar("R")
_OUTCOME = "outcome"


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
        rows = one_a_task(spark, pieces).mapInArrow(in_worker(_task(work)), f"{_OUTCOME} binary").collect()
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
