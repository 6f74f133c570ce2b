"""Rows as CSV: a line of names, then one line per row (RFC 4180, but lines end with a line feed).

A null is an empty field, while an empty text is "". Numbers and booleans are not quoted (NaN and infinities are nan,
inf and -inf); all other values are quoted, as in JSON (paimon_spark.cli.values): times in ISO 8601, bytes as base64;
ARRAY, MAP and ROW are JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import Any

import pyarrow as pa
from pyarrow import csv
from pyarrow import types as pt

from paimon_spark.cli.values import json_values


def print_csv(schema: pa.Schema, batches: Iterable[pa.RecordBatch], limit: int | None = None) -> None:
    """Prints rows on stdout.

    Args:
        schema: of the rows.
        batches: with this schema.
        limit: at most so many rows; None: all.
    """
    csv_schema = pa.schema([pa.field(f.name, f.type if _is_plain(f.type) else pa.string()) for f in schema])
    _write(csv_schema.empty_table(), csv.WriteOptions(include_header=True))
    for batch in batches if limit is None else _first_rows(batches, limit):
        columns = [_column(column) for column in batch.columns]
        _write(pa.Table.from_arrays(columns, schema=csv_schema), csv.WriteOptions(include_header=False))


def _write(rows: pa.Table, options: csv.WriteOptions) -> None:
    text = BytesIO()
    csv.write_csv(rows, text, options)
    sys.stdout.write(text.getvalue().decode())


def _first_rows(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    """Reads no batch more than it needs."""
    for batch in batches:
        yield batch.slice(0, limit)
        limit -= batch.num_rows
        if limit <= 0:
            return


def _is_plain(kind: pa.DataType) -> bool:
    """True if Arrow writes the column as we want it."""
    number = pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)
    return bool(number or pt.is_boolean(kind) or pt.is_string(kind))


def _column(column: pa.Array) -> pa.Array:
    return column if _is_plain(column.type) else pa.array(map(_text, json_values(column)), pa.string())


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
