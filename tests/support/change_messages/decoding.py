"""Messages decoded for a test."""

from __future__ import annotations

from typing import Any

from paimon_spark.cdc.batches.decoding import ROW_KIND, Decoding
from paimon_spark.cdc.batches.rows import decode_rows
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from support.change_messages.batches import values_batch

Row = tuple[Any, ...]


def columns(**types: str) -> tuple[DataField, ...]:
    """Columns of these names and types."""
    return tuple(DataField(i, name, parse_type(text)) for i, (name, text) in enumerate(types.items()))


def decoded(name: str, fields: tuple[DataField, ...], *values: Any, **options: Any) -> list[Row]:
    """The rows of messages: the kind, then the values.

    Args:
        name: of the format.
        values: of the messages; texts as they are, others as JSON.
        options: of Decoding.
    """
    decoding = Decoding(name, fields, **options)
    rows = decode_rows([values_batch(*values)], decoding).to_pylist()
    return [(row[ROW_KIND], *(row[field.name] for field in decoding.row_fields)) for row in rows]
