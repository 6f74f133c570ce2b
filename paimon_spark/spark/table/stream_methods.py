"""What PaimonTable does with streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark.spark.adapters.options import PATH
from paimon_spark.spark.stream_sink.options import stream_options
from paimon_spark.spark.stream_sink.watermark import event_time_column
from paimon_spark.spark.table.each_batch import EachBatch

_NO_OPTIONS: Mapping[str, str] = {}


class StreamMethods(ABC):
    """Streams into the table."""

    _spark: SparkSession
    _path: str

    @abstractmethod
    def _stream_options(self) -> Mapping[str, str]: ...

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
        column = event_time_column(given.watermark_column, df.schema)
        each = EachBatch(given, checkpoint, column)
        writer = df.writeStream.foreachBatch(each)
        plain = writer.outputMode

        def output_mode(mode: str) -> DataStreamWriter:
            """Spark does not tell a batch in which mode it is."""
            writer.foreachBatch(replace(each, overwrites=mode.lower() == "complete"))
            return plain(mode)

        shown: Any = writer
        shown.outputMode = output_mode
        return writer if checkpoint is None else writer.option("checkpointLocation", checkpoint)
