"""A stream of a table without Spark: what has changed since a position, in batches with the position behind each."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import OptionError
from paimon_spark.store.metadata.remembered import remembering
from paimon_spark.store.read.arrow_rows import ArrowRows
from paimon_spark.store.stream_source.position import parse_position
from paimon_spark.store.stream_source.reading import UnitReader
from paimon_spark.store.stream_source.stream import TableStream
from paimon_spark.store.stream_source.stream_read import StreamRead
from paimon_spark.store.stream_source.units import StreamUnit

StreamPosition: TypeAlias = dict[str, Any]
"""Where a stream stands: a value of JSON, to be kept with what was made of the rows before it."""


@checks_arguments
@dataclass(frozen=True, repr=False)
class StreamBatch(ArrowRows):
    """The rows of some snapshots, those of a key in the order of their changes. They are read when they are asked for.

    Attributes:
        start, position: where the stream stands before these rows, and behind them.
    """

    start: StreamPosition
    position: StreamPosition
    _units: tuple[StreamUnit, ...]
    _reader: UnitReader

    def __repr__(self) -> str:
        return f"<StreamBatch from {self.start} to {self.position}>"

    @property
    def arrow_schema(self) -> pa.Schema:
        """The exact schema of every batch."""
        return self._reader.arrow_schema

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in bounded memory.

        Raises:
            SnapshotNotFound: a file is missing because its snapshot has expired.
            CorruptFile: a file is missing or damaged.
        """
        for unit in self._units:
            yield from self._reader.read(unit)

    def to_arrow(self) -> pa.Table:
        """All rows at once; errors as for to_batches."""
        return pa.Table.from_batches(self.to_batches(), schema=self.arrow_schema)


@checks_arguments
@dataclass(repr=False)
class ChangeStream:
    """What changes in a table, from a position on. One thread may use it at a time.

    ``for batch in stream`` reads what is there, and ends; ``follow`` waits for more. ``position`` is behind the last
    batch that was taken: keep it with what you have made of the rows, and give it to ``stream`` the next time. A
    consumer (`consumer-id`), whose snapshots do not expire, moves when the batch behind the next one is asked for.
    """

    _read: StreamRead
    position: StreamPosition | None = None
    _stream: TableStream = field(init=False)

    def __post_init__(self) -> None:
        self._stream = self._read.start()

    def __repr__(self) -> str:
        return f"<ChangeStream of {self._read.table.location} at {self.position or 'its beginning'}>"

    @remembering()
    def poll(self) -> StreamBatch | None:
        """The next batch, within the limits that the options set (`read.stream.maxFilesPerTrigger`, ...).

        Returns:
            The batch; None: nothing has changed.

        Raises:
            StreamPositionLost: what comes next has expired, or the table was rolled back.
            TableChanged: a column that is read was dropped, or has another type.
        """
        start = self._stream.first() if self.position is None else parse_position(self.position)
        before = start.to_json()
        while True:
            end = self._stream.next(start)
            self.position = end.to_json()
            if end == start:
                return None
            units = tuple(self._stream.units(start, end))
            if units:
                return StreamBatch(before, self.position, units, self._read.reader)
            start = end  # snapshots that change no row

    def between(self, start: StreamPosition, end: StreamPosition) -> StreamBatch:
        """The batch between two positions that this stream, or one with the same options, has told.

        Raises:
            StreamPositionLost: it has expired, or the table was rolled back.
        """
        units = self._stream.units(parse_position(start), parse_position(end))
        return StreamBatch(start, end, tuple(units), self._read.reader)

    def __iter__(self) -> Iterator[StreamBatch]:
        """The batches of all that is there now; snapshots that come later are left to the next loop."""
        self._stream.stop_at_latest()
        try:
            while (batch := self.poll()) is not None:
                yield batch
        finally:
            self._stream.read_on()

    def follow(self, interval: float = 1.0) -> Iterator[StreamBatch]:
        """The batches of what is there and of what comes, without an end: stop the loop to stop.

        Args:
            interval: seconds between two looks at the table when there is nothing new.
        """
        if interval < 0:
            raise OptionError(f"follow(interval={interval}): give seconds, 0 or more", arguments=("interval",))
        while True:
            batch = self.poll()
            if batch is None:
                time.sleep(interval)
            else:
                yield batch
