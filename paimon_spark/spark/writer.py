"""The road of ``df.write``: no shuffle, every task writes the rows it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from paimon_spark.spark.options import WriteOptions
from paimon_spark.spark.plain_errors import plainly
from paimon_spark.spark.write_job import WriteJob, abort_job, commit_job, current_task, open_job, place_job, write_rows
from paimon_spark.store.dynamic_buckets import cross_partition_refusal
from paimon_spark.store.inline_compaction import compact_after_write
from paimon_spark.store.local_pool import LocalRunner
from paimon_spark.store.maintenance import finish_maintenance, maintain
from paimon_spark.store.messages import CommitMessage
from paimon_spark.store.partition_done import mark_written_partitions
from paimon_spark.store.table import BucketMode
from paimon_spark.store.visibility import wait_until_visible


@dataclass(frozen=True)
class WrittenFiles(WriterCommitMessage):
    """What one task hands to the commit."""

    messages: tuple[CommitMessage, ...]


class PaimonWriter(DataSourceArrowWriter):
    """Writes in the tasks, commits in a process of the driver; each is a copy of the one planned by ``open_writer``.

    The commit user was drawn with the job, so all copies share it.
    """

    def __init__(self, job: WriteJob) -> None:
        self._job = job

    @plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFiles:
        return WrittenFiles(tuple(write_rows(self._job, current_task(), iterator)))

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        files = place_job(self._job, _files(messages))
        if commit_job(self._job, files) is not None:
            compact_after_write(self._job.table, files, LocalRunner())  # this process has no Spark session
            wait_until_visible(self._job.table, files)
            maintain(self._job.table)
            mark_written_partitions(self._job.table, files)
            finish_maintenance()  # Spark ends this process without waiting for its threads

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Removes the files of finished tasks if the job failed before its commit.

        Spark calls this in a process of its own that knows nothing of a commit that may have been tried. It can only
        have been tried if no task failed, that is if no message is missing; then ``commit_job`` has cleaned up where
        that was safe, and nothing is deleted here.
        """
        if any(message is None for message in messages):
            abort_job(self._job, _files(messages))


def open_writer(options: WriteOptions, schema: StructType, overwrite: bool) -> PaimonWriter:
    """The writer of a job: opens the table, or creates it, and checks that the DataFrame fits.

    Raises:
        PaimonError: the options, the DataFrame and the table do not fit together; nothing was written.
    """
    job = open_job(options, schema, overwrite)
    if job.table.bucket_mode is BucketMode.KEY_DYNAMIC:
        raise cross_partition_refusal(job.table.location)
    return PaimonWriter(job)


def _files(messages: list[WriterCommitMessage | None]) -> list[CommitMessage]:
    return [message for task in messages if isinstance(task, WrittenFiles) for message in task.messages]
