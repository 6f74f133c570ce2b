"""The watermark of a batch, from a column with the time of events: a sink does not see that of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType, TimestampNTZType, TimestampType

from paimon_spark.errors import OptionError


def event_time_column(name: str | None, schema: StructType) -> str | None:
    """The column of a stream that an option names, in any letter case; None: the option is not given.

    Raises:
        OptionError: there is no such column of timestamps.
    """
    if name is None:
        return None
    alike = [f for f in schema.fields if f.name == name] or [f for f in schema.fields if f.name.lower() == name.lower()]
    if len(alike) != 1 or not isinstance(alike[0].dataType, TimestampType | TimestampNTZType):
        columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in schema.fields)
        raise OptionError(f"'watermark-column' = '{name}' must name one column of timestamps: {columns}")
    return alike[0].name


class EventTimes:
    """Counts the rows that pass, and remembers the greatest time of an event.

    Attributes:
        rows: how many have passed.
        latest: in epoch milliseconds, rounded down; a time without a zone is one in UTC, as for Spark's own watermark.
            None: no row had a time.
    """

    def __init__(self, column: str | None) -> None:
        self.rows: int = 0
        self.latest: int | None = None
        self._column = column

    def watched(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches as they are."""
        for batch in batches:
            self.rows += batch.num_rows
            if self._column is not None:
                self._look(batch)
            yield batch

    def _look(self, batch: pa.RecordBatch) -> None:
        name, names = self._column or "", batch.schema.names
        lower = [other.lower() for other in names]
        times = batch.column(names.index(name) if name in names else lower.index(name.lower()))
        micros = pc.max(times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())).as_py()
        if micros is not None:
            self.latest = max(micros // 1000, self.latest if self.latest is not None else micros // 1000)
