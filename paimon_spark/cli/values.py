"""Columns as values of JSON, which are also what people see.

Integers and booleans stay what they are (BIGINT beyond 2^53 too: read them as integers); DECIMAL is its text, with all
digits; DATE, TIME and TIMESTAMP are ISO 8601 (``2026-11-01T12:30:00.000``), TIMESTAMP_LTZ in the zone of the call with
its offset; bytes are base64; NaN and infinities, which JSON lacks, are the texts NaN, Infinity and -Infinity. ARRAY is
an array, ROW an object, MAP and MULTISET an array of pairs, for keys need not be texts. VARIANT is its value, with its
decimals as doubles.

Rows as CSV: a line of names, then one line per row (RFC 4180, but lines end with a line feed). A null is an empty
field, while an empty text is "". Numbers and booleans are not quoted (NaN and infinities are nan, inf and -inf); all
other values are quoted, as in JSON: times in ISO 8601, bytes as base64; ARRAY, MAP and ROW
are JSON.
"""

from __future__ import annotations

import json
import sys
from base64 import b64encode
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from math import isfinite, isnan
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyarrow import types as pt

from paimon_spark.arrow.types import NANOS_PER_UNIT, is_variant
from paimon_spark.arrow.variants import json_texts
from paimon_spark.arrow.zones import SECOND, to_local
from paimon_spark.cli.arguments import current_zone
from paimon_spark.cli.texts import printable


def json_values(array: pa.Array) -> list[Any]:
    """The values of a column, ready for json.dumps."""
    kind = array.type
    if pt.is_float32(kind):  # by its own shortest digits, not by those of the double that it is widened to
        return [None if text is None else _float(float(text)) for text in array.cast(pa.string()).to_pylist()]
    if pt.is_floating(kind):
        return [None if value is None else _float(value) for value in array.to_pylist()]
    if pt.is_decimal(kind):
        return [None if value is None else format(value, "f") for value in array.to_pylist()]
    if pt.is_binary(kind):
        return [None if value is None else b64encode(value).decode() for value in array.to_pylist()]
    if pt.is_date(kind) or pt.is_time(kind):
        return array.cast(pa.string()).to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types
    if pt.is_timestamp(kind):
        return _local_texts(array) if kind.tz is None else _instant_texts(array)
    if pt.is_map(kind):
        entries = array.cast(pa.list_(pa.struct([("k", kind.key_type), ("v", kind.item_type)])))
        return [None if pairs is None else [[p["k"], p["v"]] for p in pairs] for pairs in json_values(entries)]
    if pt.is_list(kind) or pt.is_fixed_size_list(kind):
        lengths, items = pc.list_value_length(array).to_pylist(), iter(json_values(array.flatten()))
        return [None if length is None else list(islice(items, length)) for length in lengths]
    if is_variant(kind):
        return [None if text is None else json.loads(text) for text in json_texts(array).to_pylist()]
    if pt.is_struct(kind):
        return list(_structs(array))
    return array.to_pylist()  # type: ignore[no-any-return]


def _local_texts(array: pa.Array) -> list[str | None]:
    texts = pc.replace_substring_regex(array.cast(pa.string()), r"^([-+0-9]+) ", r"\1T")
    return texts.to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


def _instant_texts(array: pa.Array) -> list[str | None]:
    """With the offset of each; Arrow's own zones do not know the rules of far years."""
    zone, unit = current_zone(), NANOS_PER_UNIT[array.type.unit]
    instants = array.cast(pa.int64()).to_pylist()
    walls = [None if instant is None else to_local(instant * unit, zone) // unit for instant in instants]
    texts = _local_texts(pa.array(walls, pa.int64()).cast(pa.timestamp(array.type.unit)))
    return [
        None if text is None else text + _offset_text((wall - instant) * unit // SECOND)
        for text, wall, instant in zip(texts, walls, instants, strict=True)
    ]


def _offset_text(seconds: int) -> str:
    """``+01:00``, ``-03:30``; with seconds where clocks went by the sun."""
    hours, rest = divmod(abs(seconds), 3600)
    minutes, second = divmod(rest, 60)
    return f"{'-' if seconds < 0 else '+'}{hours:02}:{minutes:02}" + (f":{second:02}" if second else "")


def json_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows as objects."""
    for batch in batches:
        columns = [json_values(column) for column in batch.columns]
        names = batch.schema.names
        for row in zip(*columns, strict=True) if columns else ((),) * batch.num_rows:
            yield dict(zip(names, row, strict=True))


def cell(value: Any) -> str | None:
    """What a person sees of a value of JSON; None for null."""
    if value is None or isinstance(value, str):
        return value if value is None else printable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return printable(json.dumps(value, ensure_ascii=False)) if isinstance(value, list | dict) else str(value)


def is_number(kind: pa.DataType) -> bool:
    """True if a column of this type is aligned to the right."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def _float(value: float) -> float | str:
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _structs(array: pa.StructArray) -> Iterator[dict[str, Any] | None]:
    names = [field.name for field in array.type]
    columns = [json_values(column) for column in array.flatten()]
    rows = zip(*columns, strict=True) if columns else ((),) * len(array)
    for there, row in zip(array.is_valid().to_pylist(), rows, strict=True):
        yield dict(zip(names, row, strict=True)) if there else None


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
