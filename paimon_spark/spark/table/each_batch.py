"""One batch of ``PaimonTable.write_stream``, which Spark hands over as an ordinary DataFrame.

On Spark Connect this runs in a process of its own on the server, with a session of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as sf
from pyspark.sql.streaming.readwriter import DataStreamWriter
from pyspark.sql.types import TimestampType

from paimon_spark.errors import TableNotFound
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.errors import named_batch
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.spark.stream_sink.options import StreamOptions
from paimon_spark.spark.stream_sink.query import StreamIdentity, compute, local_run
from paimon_spark.spark.stream_sink.watermark import event_time_column
from paimon_spark.store.metadata.remembered import remembering
from paimon_spark.store.metadata.table import Table
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.options import Once

_LATEST = "latest"


def stream_writer(rows: DataFrame, options: StreamOptions, checkpoint: str | None) -> DataStreamWriter:
    """What starts the stream; see ``PaimonTable.write_stream``.

    Args:
        options: of the stream, with the path of the table.
    """
    each = EachBatch(options, StreamIdentity(checkpoint), event_time_column(options.watermark_column, rows.schema))
    writer: Any = rows.writeStream.foreachBatch(each)
    plain = writer.outputMode

    def output_mode(mode: str) -> DataStreamWriter:
        """Spark does not tell a batch in which mode it is."""
        writer.foreachBatch(replace(each, overwrites=mode.lower() == "complete"))
        changed: DataStreamWriter = plain(mode)
        return changed

    writer.outputMode = output_mode
    started: DataStreamWriter = writer if checkpoint is None else writer.option("checkpointLocation", checkpoint)
    return started


@dataclass(frozen=True)
class EachBatch:
    """The function for ``foreachBatch``; picklable.

    Attributes:
        options: of the stream, with the path of the table.
        identity: of the query.
        watermark_column: of the rows; None: none.
        overwrites: whether each batch replaces all rows.
        opened: by the run of the query, the table of its first batch. On Connect each run has a copy of its own.
    """

    options: StreamOptions
    identity: StreamIdentity
    watermark_column: str | None
    overwrites: bool = False
    opened: dict[str | None, Table] = field(default_factory=dict)

    @remembering()
    def __call__(self, rows: DataFrame, number: int) -> None:
        """Writes the batch, if the table does not have it.

        Raises:
            PaimonError: the rows do not fit the table, or the commit failed; the query fails.
        """
        with named_batch(number, self.options.write.path):
            self._write(rows, number)

    def _write(self, rows: DataFrame, number: int) -> None:
        spark, options = rows.sparkSession, self.options
        user = options.commit_user
        name = user or self.identity.query(spark)
        once = Once(name, number, user=user, of_stream=True)
        write = replace(options.write, once=once)
        missing = partial(_refuse_lost_table, write.path)
        job = open_job(write, FrameColumns(rows.schema), self.overwrites, missing, finds_keys=True)
        self._check_same_table(local_run(spark), job.table)
        if self.watermark_column is None:
            if run_write(spark, rows, job).repeated:
                compute(rows)
            return
        seen, latest = Observation(), _latest_millis(rows, self.watermark_column)
        observed = rows.observe(seen, latest.alias(_LATEST))

        def watermark() -> int | None:
            found: int | None = seen.get[_LATEST]
            return None if found is None else found - options.watermark_delay

        if run_write(spark, observed, job, watermark=watermark).repeated:
            compute(rows)

    def _check_same_table(self, run: str | None, table: Table) -> None:
        """Refuses a table that was made where that of the earlier batches of a run was (protocol C11).

        Raises:
            TableNotFound: it is another one; nothing was written.
        """
        if run not in self.opened:
            self.opened.clear()
        if not self.opened.setdefault(run, table).is_there:
            raise TableNotFound(
                f"the table at {self.options.write.path} is another one than that of the earlier batches: it was "
                "dropped or renamed while the stream ran, and another table was made there. Nothing was written. Start "
                "with a new checkpoint to have all rows of the source, or with the same one to have those from now on"
            )


def _refuse_lost_table(path: str) -> None:
    """The table was there when the stream was made, and has keys and options that its rows do not tell.

    Raises:
        TableNotFound: always.
    """
    raise TableNotFound(
        f"no Paimon table at {path}; it was dropped or moved while the stream ran. Nothing was written. Create it "
        "again, and start with a new checkpoint to have all rows of the source, or with the same one to have those "
        "from now on"
    )


def _latest_millis(rows: DataFrame, column: str) -> Column:
    """The greatest time in milliseconds, rounded down; one without a zone is a time in UTC."""
    named = sf.col(quoted(column))
    if isinstance(rows.schema[column].dataType, TimestampType):
        micros = sf.unix_micros(named)
    else:
        micros = sf.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {quoted(column)})")
    return sf.max(sf.floor(micros / 1000).cast("long"))
