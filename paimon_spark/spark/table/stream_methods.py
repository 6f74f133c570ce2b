"""What PaimonTable does with streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark.format.options.column_names import format_columns
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.spark.adapters.options import COLUMNS, FILTER, PATH, ROW_KINDS
from paimon_spark.spark.stream_sink.options import stream_options
from paimon_spark.spark.stream_sink.query import StreamIdentity
from paimon_spark.spark.stream_sink.watermark import event_time_column
from paimon_spark.spark.table.each_batch import EachBatch
from paimon_spark.store.stream_source.settings import STREAM

_NO_OPTIONS: Mapping[str, str] = {}


class StreamMethods(ABC):
    """Streams into the table, and from it."""

    _spark: SparkSession
    _path: str

    _options: Mapping[str, str]

    @abstractmethod
    def _in_session(self, options: Mapping[str, str]) -> Mapping[str, str]: ...

    @abstractmethod
    def _stream_options(self) -> Mapping[str, str]: ...

    def stream(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | None = None,
        row_kinds: bool = False,
        options: Mapping[str, str] = _NO_OPTIONS,
    ) -> DataFrame:
        """The rows of the table as a stream: its state first, then every change as it is committed.

        Args:
            columns: names of the columns to read, in order, or one text such as "id, total"; None means all.
            where: a condition in SQL, read in the time zone of the session.
            row_kinds: True adds a column ``_row_kind`` with +I, -U, +U or -D, and keeps rows that take others back.
            options: of the stream: where it begins (``scan.mode``, ``scan.snapshot-id``, ...), how much it takes at
                once (``read.stream.maxFilesPerTrigger``, ...), ``consumer-id``, for which snapshots wait.

        Raises:
            OptionError: an option does not fit, or a column does not exist.
            UnsupportedFeature: this release cannot stream from the table.
        """
        filters = {FILTER: where} if where is not None else {}
        given = {STREAM.key: "true", **self._in_session({**self._options, **options, **filters})}
        if columns is not None:
            given[COLUMNS] = columns if isinstance(columns, str) else format_columns(tuple(columns))
        if row_kinds:
            given[ROW_KINDS] = "true"
        return self._spark.readStream.format("paimon").options(**given).load(self._path)

    def write_stream(
        self, df: DataFrame, checkpoint: str | None = None, options: Mapping[str, str] = _NO_OPTIONS
    ) -> DataStreamWriter:
        """A stream into the table, of which each batch is written once: start it with ``.start()``.

        It does what ``df.writeStream.format("paimon")`` does, and more: rows are shuffled, so that one task writes a
        bucket and files are few; compactions run as Spark tasks; the output mode `update` and tables whose keys move
        between partitions work too. It costs a shuffle and some Spark jobs more for each batch.

        Args:
            df: a streaming DataFrame.
            checkpoint: where the query keeps its state, as for the option `checkpointLocation`. On Spark Connect it
                must be given here, because the id of the query is read from it.
            options: as for ``df.writeStream``: those of a write, `write.stream.commit-user`,
                `write.stream.unknown-batch`, `watermark-column` and `watermark-delay`.

        Returns:
            Spark's own DataStreamWriter, for ``outputMode``, ``trigger``, ``queryName`` and ``start``. In the output
            mode `complete` each batch replaces all rows.

        Raises:
            OptionError: an option does not fit the stream. What does not fit the table fails the first batch.
        """
        given = stream_options({**self._stream_options(), **options, PATH: self._path})
        column = event_time_column(given.watermark_column, check_frame(df).schema)
        each = EachBatch(given, StreamIdentity(checkpoint), column)
        writer = df.writeStream.foreachBatch(each)
        plain = writer.outputMode

        def output_mode(mode: str) -> DataStreamWriter:
            """Spark does not tell a batch in which mode it is."""
            writer.foreachBatch(replace(each, overwrites=mode.lower() == "complete"))
            return plain(mode)

        shown: Any = writer
        shown.outputMode = output_mode
        return writer if checkpoint is None else writer.option("checkpointLocation", checkpoint)
