"""A write to a format table by tasks of Spark."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.store_assignment import stored_times
from paimon_spark.spark.adapters.tasks import MESSAGE_ROWS, in_worker, with_given_names, with_plain_names
from paimon_spark.spark.write.task_session import zone_of_rows
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.file_tables.format_write import StagedFile
from paimon_spark.writes.format_writes import FormatJob, open_format_job
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.write_job import WriteResult


@dataclass(frozen=True)
class _Task:
    """What a task needs to know. names: of the columns of the rows."""

    job: FormatJob
    names: tuple[str, ...]

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The files of the rows of a task, as a message."""
        first = next(batches, None)
        if first is None:
            return
        rows = (with_given_names(batch, self.names) for batch in _with(first, batches))
        zone = zone_of_rows(with_given_names(first, self.names).schema)
        staged = self.job.write(rows, zone)
        if staged:
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(staged)], pa.binary())], names=["messages"])


def write_format_table(df: DataFrame, table: FormatTable, options: WriteOptions, overwrite: bool) -> WriteResult:
    """Adds rows to a format table, or replaces all, those of some partitions, or the partitions of the rows.

    Raises:
        PaimonError: as of open_format_job, or the rows do not fit. Nothing has changed then.
        Spark's exception for a job that fails otherwise.
    """
    began = time.monotonic()
    job = open_format_job(table, df.columns, options, overwrite)
    rows = with_plain_names(stored_times(df, table.table.schema.fields))
    try:
        with job_errors():
            found = rows.mapInArrow(in_worker(_Task(job, tuple(df.columns)).write), MESSAGE_ROWS).collect()
    except BaseException:
        job.discard()
        raise
    staged: list[StagedFile] = [file for row in found for file in pickle.loads(row[0])]
    return job.end(staged, began)


def _with(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others
