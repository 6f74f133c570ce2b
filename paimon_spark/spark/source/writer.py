"""The road of ``df.write``: no shuffle, every task writes the rows it has.

Spark opens the write, runs its tasks and commits in processes of their own: each imports what its step needs.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.worker_connections import SentToWorker
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.storage.served import is_served
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.write_job import WriteJob

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WrittenFiles(WriterCommitMessage):
    """What one task hands to the commit.

    Attributes:
        messages: the files.
        dynamic: whether the session wants an overwrite to replace the partitions of the rows, where the write says
            nothing: the task sees its settings, and the processes of the driver do not.
    """

    messages: tuple[CommitMessage, ...]
    dynamic: bool = False


class PaimonWriter(SentToWorker, DataSourceArrowWriter):
    """Writes in the tasks, commits in a process of the driver; each is a copy of the one planned by ``open_writer``.

    The commit user was drawn with the job, so all copies share it.
    """

    def __init__(self, job: WriteJob, repeats: bool = False, asks_session: bool = False, of_view: bool = False) -> None:
        """
        Args:
            repeats: whether the table has what is written, by an earlier job of the same name and number.
            asks_session: whether the session says which partitions an overwrite replaces.
            of_view: whether the rows are inserted into a view: Spark keeps the plan of its first query, where no source
                can reach it.
        """
        self._job = job
        self._repeats = repeats
        self._asks_session = asks_session
        self._of_view = of_view

    @plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFiles:
        from paimon_spark.spark.write.task_session import current_task, overwrites_dynamically, zone_of_rows
        from paimon_spark.writes.task_rows import write_rows

        if self._repeats:
            for _ in iterator:  # Spark has computed the rows: it asks nobody before
                pass
            return WrittenFiles(())
        dynamic = self._asks_session and overwrites_dynamically(self._job)
        return WrittenFiles(tuple(write_rows(self._job, current_task(), iterator, zone_of_rows)), dynamic)

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        from paimon_spark.writes.end_write import commit_without_session

        dynamic = any(isinstance(task, WrittenFiles) and task.dynamic for task in messages)
        job = replace(self._job, replaced="dynamic") if dynamic else self._job
        done = commit_without_session(job, _files(messages))
        if self._of_view and (done.snapshot_id is not None or job.batch is not None):
            _log.warning(
                "the rows are in the table at %s, but a view that was queried before shows the state of its first "
                "query: make the view again, with PaimonTable.createOrReplaceTempView, to see them",
                job.table.location,
            )

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Removes the files of finished tasks if the job failed before its commit.

        Spark calls this in a process of its own that knows nothing of a commit that may have been tried. It can only
        have been tried if no task failed, that is if no message is missing; then ``commit_job`` has cleaned up where
        that was safe, and nothing is deleted here.
        """
        from paimon_spark.writes.commit_write import abort_job

        if any(message is None for message in messages):
            abort_job(self._job, _files(messages))
            if self._job.table.snapshots.latest_id() is None:  # not dropped: another job may write to it just now
                _log.warning(
                    "the write failed before its commit, and the table at %s, which a write makes where there is none, "
                    "stays there without rows; run the write again, or delete that directory first if the columns or "
                    "options of the table are wrong",
                    self._job.table.location,
                )


def open_writer(options: WriteOptions, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    """The writer of a job: opens the table, or creates it, and checks that the DataFrame fits.

    Raises:
        PaimonError: the options, the DataFrame and the table do not fit together; nothing was written.
    """
    from paimon_spark.writes.open_write import open_job

    asks = overwrite and options.overwrite_where is None and options.overwrite_dynamic is None
    if is_served(options.path):
        from paimon_spark.spark.source.format_writer import FormatSourceWriter
        from paimon_spark.writes.format_writes import find_format_table, open_format_job

        found = find_format_table(options)
        if found is not None:
            return FormatSourceWriter(open_format_job(found, schema.names, options, overwrite), asks)
    job = open_job(options, FrameColumns(schema), overwrite)
    of_view = options.creates is False  # as PaimonTable.createOrReplaceTempView says
    if job.batch is None:
        return PaimonWriter(job, asks_session=asks, of_view=of_view)
    from paimon_spark.store.stream_sink.written import find_written

    return PaimonWriter(job, find_written(job.table, job.batch) is not None, asks, of_view)


def _files(messages: list[WriterCommitMessage | None]) -> list[CommitMessage]:
    return [message for task in messages if isinstance(task, WrittenFiles) for message in task.messages]
