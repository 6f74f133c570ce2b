"""The road of ``df.write`` into a format table: every task writes whole files, the commit gives them their names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.worker_connections import SentToWorker
from paimon_spark.spark.write.task_session import is_dynamic_session, zone_of_rows
from paimon_spark.store.file_tables.format_write import StagedFile
from paimon_spark.writes.format_writes import FormatJob


@dataclass(frozen=True)
class StagedFiles(WriterCommitMessage):
    """What one task hands to the commit. dynamic: as of WrittenFiles."""

    files: tuple[StagedFile, ...]
    dynamic: bool = False


class FormatSourceWriter(SentToWorker, DataSourceArrowWriter):
    """Writes in the tasks, gives files their names in a process of the driver."""

    def __init__(self, job: FormatJob, asks_session: bool) -> None:
        """asks_session: whether the session says which partitions an overwrite replaces."""
        self._job = job
        self._asks_session = asks_session

    @plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedFiles:
        first = next(iterator, None)
        dynamic = self._asks_session and is_dynamic_session() and bool(self._job.table.schema.partition_keys)
        if first is None:
            return StagedFiles((), dynamic)
        return StagedFiles(tuple(self._job.write(_with(first, iterator), zone_of_rows(first.schema))), dynamic)

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        tasks = [task for task in messages if isinstance(task, StagedFiles)]
        job = replace(self._job, replaced="dynamic") if any(task.dynamic for task in tasks) else self._job
        job.end([file for task in tasks for file in task.files], time.monotonic())

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Deletes the hidden files of the job; what has got its name is no file of the job any more."""
        self._job.discard()


def _with(first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from others
