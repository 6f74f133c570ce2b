"""Columns of values as the texts of the Java system: the toString of its objects, and its casts to a string."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.text_casts import by_distinct, format_texts
from paimon_spark.format.java.text import double_text, float_text, timestamp_iso_text, timestamp_text
from paimon_spark.format.types import BINARIES, INTEGERS, MAX_LENGTH, STRINGS, TIMESTAMPS, DataType, Root

TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
NULL = "null"


def object_texts(array: pa.Array, data_type: DataType) -> pa.Array:
    """The toString of Java's internal values; null stays null.

    DATE is a number of days, TIME a number of milliseconds. For bytes, Java prints the address of an array; here they
    are shown as ``X'00FF'``.
    """
    root = data_type.root
    if root in STRINGS:
        return array
    if root in INTEGERS or root is Root.BOOLEAN:
        return array.cast(pa.string())
    if root in (Root.DATE, Root.TIME):
        return array.cast(pa.int32()).cast(pa.string())
    formatters: dict[Root, Callable[[Any], str]] = {
        Root.FLOAT: float_text,
        Root.DOUBLE: double_text,
        Root.DECIMAL: lambda value: format(value, "f"),
        **dict.fromkeys(TIMESTAMPS, timestamp_iso_text),
        **dict.fromkeys(BINARIES, lambda value: f"X'{value.hex().upper()}'"),
    }
    return by_distinct(array, formatters.get(root, str), TEXT)


def cast_texts(array: pa.Array, data_type: DataType) -> pa.Array:
    """The cast to a string, TIMESTAMP_LTZ in the local time zone; null stays null."""
    if data_type.root in STRINGS:
        return array
    if data_type.root in BINARIES:
        return by_distinct(array, lambda value: bytes(value).decode(errors="replace"), TEXT)
    if data_type.root is Root.TIMESTAMP_LTZ:
        precision = 6 if data_type.precision is None else data_type.precision
        return by_distinct(array, lambda nanos: timestamp_text(_local_nanos(nanos), precision), TEXT)
    return format_texts(array, data_type, TEXT)


def _local_nanos(nanos: int) -> int:
    return nanos + time.localtime(nanos // 10**9).tm_gmtoff * 10**9


def listed(columns: Sequence[pa.Array], rows: int, brackets: str = "[]", names: Sequence[str] = ()) -> pa.Array:
    """The texts of each row between brackets, joined by comma and blank; null as ``null``.

    Args:
        columns: arrays of texts.
        rows: the length of the result, needed when there are no columns.
        brackets: the opening and the closing bracket.
        names: if not empty, each value is preceded by its name and an equals sign.
    """
    before = [f"{name}=" for name in names] or [""] * len(columns)
    parts: list[pa.Array | str] = []
    for i, (column, label) in enumerate(zip(columns, before, strict=True)):
        parts += [(", " if i else brackets[0]) + label, column]
    if not columns:
        return pa.repeat(brackets, rows)
    joined = pc.binary_join_element_wise(*parts, brackets[1], "", null_handling="replace", null_replacement=NULL)
    return joined if len(joined) == rows else pa.repeat(brackets, rows)
