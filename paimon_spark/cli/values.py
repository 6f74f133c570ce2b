"""Columns as values of JSON, which are also what people see.

Integers and booleans stay what they are (BIGINT beyond 2^53 too: read them as integers); DECIMAL is its text, with all
digits; DATE, TIME and TIMESTAMP are ISO 8601 (``2026-11-01T12:30:00.000``), TIMESTAMP_LTZ in UTC with a Z; bytes are
base64; NaN and infinities, which JSON lacks, are the texts NaN, Infinity and -Infinity. ARRAY is an array, ROW an
object, MAP and MULTISET an array of pairs, for keys need not be texts.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from math import isfinite, isnan
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt

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
        texts = pc.replace_substring_regex(array.cast(pa.string()), r"^([-+0-9]+) ", r"\1T")
        return texts.to_pylist()  # type: ignore[no-any-return]
    if pt.is_map(kind):
        entries = array.cast(pa.list_(pa.struct([("k", kind.key_type), ("v", kind.item_type)])))
        return [None if pairs is None else [[p["k"], p["v"]] for p in pairs] for pairs in json_values(entries)]
    if pt.is_list(kind):
        lengths, items = pc.list_value_length(array).to_pylist(), iter(json_values(array.flatten()))
        return [None if length is None else list(islice(items, length)) for length in lengths]
    if pt.is_struct(kind):
        return list(_structs(array))
    return array.to_pylist()  # type: ignore[no-any-return]


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
    """Whether a column of this type is aligned to the right."""
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
