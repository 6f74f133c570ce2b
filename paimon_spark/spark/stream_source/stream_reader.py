"""A stream of a table in Spark's micro-batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.text_casts import padded_texts
from paimon_spark.format.types import has_char
from paimon_spark.spark.adapters.batches import rebatch, spark_arrow_schema
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.readable_columns import asked_columns
from paimon_spark.spark.adapters.worker_connections import SentToWorker
from paimon_spark.spark.stream_source.open_stream import open_stream
from paimon_spark.store.metadata.remembered import remembering
from paimon_spark.store.stream_source.position import Position, parse_position
from paimon_spark.store.stream_source.reading import UnitReader
from paimon_spark.store.stream_source.settings import Limits
from paimon_spark.store.stream_source.stream import TableStream
from paimon_spark.store.stream_source.stream_read import StreamRead
from paimon_spark.store.stream_source.units import StreamUnit, Task

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxFiles,
            SupportsTriggerAvailableNow,
        )
    except ImportError:

        class ReadLimit:
            """Stands for the class of Spark 4.2, which Spark 4.1 never hands over."""

        class ReadAllAvailable(ReadLimit): ...

        class ReadMaxFiles(ReadLimit):
            def __init__(self, max_files: int) -> None: ...

        class SupportsTriggerAvailableNow: ...


class UnitPartition(InputPartition):
    """Some units, the work of one Spark task."""

    def __init__(self, units: Task) -> None:
        super().__init__(None)
        self.units = units


class PaimonStreamReader(SentToWorker, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches in a process of its own, and reads them in the tasks.

    Spark makes two of it: one lives in the process that plans as long as the query runs, the other is pickled for the
    tasks once a run. ``commit`` does nothing: Spark calls it with the next batch that has rows, and never for the last
    one, so the consumer moves when Spark asks what comes after a position.

    Args:
        options: of ``spark.readStream``.
        schema: the columns that Spark expects.
    """

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        opened = open_stream(options)
        self._read: StreamRead | None = opened.start(schema)
        self._types = tuple(field.type for field in asked_columns(opened.readable, schema).values())
        self._reader: UnitReader = self._read.reader
        self._arrow_schema = spark_arrow_schema(schema)
        self._at: Position | None = None  # where the query stands, for Spark 4.1, which does not say it

    @property
    def planned(self) -> StreamRead:
        """What is streamed. Only the object that plans has it."""
        assert self._read is not None, "tasks do not plan"
        return self._read

    @cached_property
    def _stream(self) -> TableStream:
        return self.planned.start()

    @plainly
    @remembering()
    def initialOffset(self) -> dict[str, Any]:
        self._at = self._stream.first()
        return self._at.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        return default_limit(self.planned.settings.limits)

    @plainly
    def prepareForTriggerAvailableNow(self) -> None:
        self._stream.stop_at_latest()

    @plainly
    @remembering()
    def latestOffset(self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None) -> dict[str, Any]:
        begin = self._at if start is None else parse_position(start)
        if begin is None:  # Spark 4.1 after a restart
            return self._stream.newest().to_json()
        end = self._stream.next(begin, holds_limits(limit))
        return start if start is not None and end == begin else end.to_json()

    @plainly
    def reportLatestOffset(self) -> dict[str, Any] | None:
        """What ``query.lastProgress`` shows as the latest offset: how far the stream could be."""
        return self._stream.reported().to_json()

    @plainly
    @remembering()
    def units(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[StreamUnit]:
        """What is read from one offset to another one, in order."""
        self._at = parse_position(end)
        return self._stream.units(parse_position(start), self._at)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return [UnitPartition(task) for task in self.planned.tasks(self.units(start, end))]

    @plainly
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, UnitPartition):
            return iter(())
        rows = (self._shown(batch) for unit in partition.units for batch in self._reader.read(unit))
        return rebatch(rows)

    def _shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows for Spark, which pads CHAR in what it reads at once, but not in streams."""
        if not any(map(has_char, self._types)):
            return conform_batch(batch, self._arrow_schema)
        padded = [padded_texts(array, data_type) for array, data_type in zip(batch.columns, self._types, strict=True)]
        return conform_batch(pa.RecordBatch.from_arrays(padded, schema=batch.schema), self._arrow_schema)

    def __getstate__(self) -> dict[str, Any]:
        return {"_read": None, "_reader": self._reader, "_arrow_schema": self._arrow_schema, "_types": self._types}


__all__ = ["ReadAllAvailable", "ReadLimit", "SupportsTriggerAvailableNow", "default_limit", "holds_limits"]
_MANY = 2**31 - 1


def default_limit(limits: Limits) -> ReadLimit:
    """What Spark hands back with every micro-batch that must keep to limits. It takes one limit only, so that stands
    for all of them."""
    return ReadMaxFiles(limits.files or _MANY) if limits.any_set else ReadAllAvailable()


def holds_limits(limit: ReadLimit | None) -> bool:
    """False if Spark wants all that there is, whatever the options say: Trigger.Once."""
    return not isinstance(limit, ReadAllAvailable)
