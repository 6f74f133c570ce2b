"""The sink of ``df.writeStream.format("paimon")``: no shuffle, every task writes the rows it has.

For each batch Spark makes the writer anew, twice: once for the tasks, once for the commit, in other processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from paimon_spark.errors import CommitConflict, DataError, OptionError, TableNotFound
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.worker_connections import SentToWorker
from paimon_spark.spark.stream_sink.options import COMMIT_USER, StreamOptions, stream_options
from paimon_spark.spark.stream_sink.query import batch_cut, checkpoint_query, finished_batch, task_query
from paimon_spark.spark.stream_sink.watermark import EventTimes, event_time_column
from paimon_spark.spark.write.task_session import current_task, zone_of_rows
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.remembered import remembering
from paimon_spark.store.stream_sink.batch import Batch, stream_user
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.task_rows import write_rows
from paimon_spark.writes.write_job import WriteJob

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class BatchFiles(WriterCommitMessage):
    """What one task hands to the commit of a batch.

    Attributes:
        messages: the files.
        query: the id of the query that the task saw, and batch: the number.
        rows: that it was given.
        event_millis: the greatest value of the watermark column, in epoch milliseconds; None: there was none.
        since, base: the snapshot that its write was planned on, as for WritePlan.
        schema_id: the schema that its files are in.
        opened: the schema by which the table of its files is known, as for Table.
    """

    messages: tuple[CommitMessage, ...]
    query: str
    batch: int
    rows: int
    event_millis: int | None
    since: int
    base: str | None
    schema_id: int
    opened: TableSchema | None


class PaimonStreamWriter(SentToWorker, DataSourceStreamArrowWriter):
    """Writes in the tasks, commits in a process of the driver."""

    def __init__(self, job: WriteJob, options: StreamOptions) -> None:
        self._job = job
        self._options = options

    @plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> BatchFiles:
        query, batch = task_query()
        job = replace(self._job, commit_user=self._user(query))
        seen = EventTimes(self._options.watermark_column)
        try:
            messages = write_rows(job, current_task(), seen.watched(iterator), zone_of_rows)
        except DataError as error:
            raise DataError(
                f"batch {batch} of the stream into {job.table.location}: {error}. Nothing of this batch is in the table"
            ) from None
        plan, schema = job.plan, job.table.schema
        state = (plan.since, plan.base, schema.id, job.table.opened)
        return BatchFiles(tuple(messages), query, batch, seen.rows, seen.latest, *state)

    @plainly
    @remembering()
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        from paimon_spark.writes.end_write import commit_without_session

        tasks = [task for task in messages if isinstance(task, BatchFiles)]
        if not any(task.messages for task in tasks) and not self._job.overwrites:
            return  # an empty batch leaves no trace, as in the official system
        commit_without_session(self._named(tasks, batchId), _files(tasks), self._options.compact_budget)

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Removes the files of finished tasks if one has failed: then no commit was tried with them.

        Spark also calls this with all messages, after a commit that raised, or that is still going on when the query is
        stopped: then the files may belong to a snapshot, and stay.
        """
        if any(message is None for message in messages):
            from paimon_spark.store.stream_sink.once import discard_tried

            discard_tried(self._job.table, _files([m for m in messages if isinstance(m, BatchFiles)]))

    def _user(self, query: str) -> str:
        return self._options.commit_user or stream_user(self._job.table, query)

    def _named(self, tasks: Sequence[BatchFiles], number: int) -> WriteJob:
        """The job of a batch: its name and number, and the state that the tasks have planned on."""
        job, options = self._job, self._options
        table, storage = job.table, options.write.table
        reported = {(task.query, task.batch, task.since, task.base) for task in tasks}
        if len(reported) > 1 or any(task.batch != number for task in tasks):
            raise CommitConflict(
                f"batch {number} into {table.location}: its tasks belong to several batches or plans "
                f"({sorted(map(str, reported))}); nothing was committed. Start the query again"
            )
        if job.evolution is not None and any(task.schema_id != table.schema.id for task in tasks):
            raise CommitConflict(
                f"batch {number} into {table.location}: another job has changed the schema while the tasks were "
                "writing; nothing was committed. Start the query again"
            )
        query = tasks[0].query if tasks else checkpoint_query(table, options.checkpoint, storage)
        if query is None and options.commit_user is None:
            raise OptionError(
                f"batch {number} into {table.location} has no task, and the checkpoint {options.checkpoint} cannot be "
                f"read here, which holds the id of the query; give the stream a name with '{COMMIT_USER.key}'"
            )
        user = self._user(query or "")
        rows = sum(task.rows for task in tasks)
        cut = batch_cut(table, options.checkpoint, number, storage)
        batch = Batch(user, number, "OVERWRITE" if job.overwrites else "APPEND", rows, cut, options.unknown)
        plan = replace(job.plan, since=tasks[0].since, base=tasks[0].base) if tasks else job.plan
        table = replace(table, opened=tasks[0].opened) if tasks else table
        latest = max((t.event_millis for t in tasks if t.event_millis is not None), default=None)
        watermark = None if latest is None else latest - options.watermark_delay
        return replace(job, table=table, commit_user=user, plan=plan, batch=batch, watermark=watermark)


@remembering()
def open_stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> PaimonStreamWriter:
    """The writer of a batch: opens the table, or creates it, and checks that the stream still fits.

    Args:
        options: of ``df.writeStream``, with the path.
        schema: of the stream, fixed when it began.
        overwrite: whether each batch replaces all rows: the output mode complete.

    Raises:
        PaimonError: the options, the stream and the table do not fit together; nothing was written.
    """
    given = stream_options(options)
    event_time_column(given.watermark_column, schema)
    try:
        job = open_job(given.write, FrameColumns(schema), overwrite, partial(_refuse_lost_table, given))
    except DataError as error:
        raise DataError(
            f"the stream into {given.write.path}: {error}. Nothing of this batch was written. Give the stream the "
            "columns of the table, and start it again with the same checkpoint"
        ) from None
    return PaimonStreamWriter(job, given)


def _refuse_lost_table(options: StreamOptions) -> None:
    """A table is made for the first batch of a query, and never for a later one: earlier rows would be missing in it.

    Raises:
        TableNotFound: the query has finished a batch.
    """
    number = finished_batch(options.checkpoint, options.write.path, options.write.table)
    if number is not None:
        raise TableNotFound(
            f"no Paimon table at {options.write.path}, but the query of the checkpoint {options.checkpoint} has "
            f"finished its batch {number}: the table was dropped or moved, or the query had another path. Nothing was "
            "written. Give the path of then; or start with a new checkpoint, which writes all rows of the source; or, "
            "to have only the rows from now on, create the table first, with PaimonTable.create(spark)"
        )


def _files(tasks: Sequence[BatchFiles]) -> list[CommitMessage]:
    return [message for task in tasks for message in task.messages]
