"""Messages decoded for a test."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from paimon_spark.cdc.batches.decoding import ROW_KIND, Decoding
from paimon_spark.cdc.batches.rows import decode_batches, rows_schema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from support.change_messages.batches import values_batch

Row = tuple[Any, ...]


def columns(**types: str) -> tuple[DataField, ...]:
    """Columns of these names and types."""
    return tuple(DataField(i, name, parse_type(text)) for i, (name, text) in enumerate(types.items()))


def decode_rows(batches: Iterable[pa.RecordBatch], decoding: Decoding) -> pa.Table:
    """The rows of batches of messages as one table."""
    decoded = itertools.chain.from_iterable([batch] for batch in decode_batches(batches, decoding))
    return pa.Table.from_batches(decoded, schema=rows_schema(decoding))


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
