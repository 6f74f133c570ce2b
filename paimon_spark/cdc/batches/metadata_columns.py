"""Columns that tell where a row comes from (Java: CdcMetadataConverter, KafkaMetadataConverter)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.arrow.types import arrow_type
from paimon_spark.cdc.encodings import TEXT
from paimon_spark.cdc.events import Event
from paimon_spark.errors import OptionError
from paimon_spark.format.types import DataType, Root

_INSTANT = DataType(Root.TIMESTAMP_LTZ, precision=3)


@dataclass(frozen=True)
class MetadataColumn:
    """A column of metadata.

    Attributes:
        type: of its values.
        of_event: its value of what a message says; None: it is the column of the message of this name.
    """

    type: DataType
    of_event: Callable[[Event], object] | None = None


_COLUMNS = {
    "database_name": MetadataColumn(TEXT, lambda event: event.database),
    "table_name": MetadataColumn(TEXT, lambda event: event.table),
    "schema_name": MetadataColumn(TEXT, lambda event: event.schema),
    "op_ts": MetadataColumn(_INSTANT, lambda event: event.op_millis),
    "topic": MetadataColumn(TEXT),
    "partition": MetadataColumn(DataType(Root.INT)),
    "offset": MetadataColumn(DataType(Root.BIGINT)),
    "timestamp": MetadataColumn(_INSTANT),
}


def metadata_column(name: str) -> MetadataColumn:
    """The column of a name.

    Raises:
        OptionError: there is none.
    """
    if name not in _COLUMNS:
        raise OptionError(f"there is no metadata column '{name}'; there are {', '.join(_COLUMNS)}")
    return _COLUMNS[name]


def metadata_array(name: str, said: Sequence[Event | None], numbers: pa.Array, batch: pa.RecordBatch) -> pa.Array:
    """The values of a column of metadata.

    Args:
        said: what each message says.
        numbers: the message of each row.
        batch: the messages.
    """
    column = metadata_column(name)
    if column.of_event is not None:
        values = [None if event is None else column.of_event(event) for event in said]
        return pa.array(values, arrow_type(column.type)).take(numbers)
    if name not in batch.schema.names:
        return pa.nulls(len(numbers), arrow_type(column.type))
    found = batch.column(name).take(numbers)
    if name == "timestamp":
        found = found.cast(pa.timestamp(found.type.unit, "UTC")) if found.type.tz is None else found
    return found.cast(arrow_type(column.type), safe=False)
