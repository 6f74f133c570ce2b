"""The default value of a column, from its text (Java: DefaultValueUtils, StringToArrayCastRule and its neighbours).

An ARRAY is written ``ARRAY(1, 2)`` or ``[1, 2]``, a MAP ``MAP('a', 1)`` or ``{a -> 1}``, a ROW ``STRUCT(1, 'a')`` or
``{1, a}``, and ``null`` in small letters is null. Java takes the quotes of a text in them for a part of the text, which
its documentation does not; here they are quotes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import DataError, SchemaError, UnsupportedFeature
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, STRINGS, DataField, DataType, Root

_STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
_FORMS = {
    Root.ARRAY: re.compile(r"\s*(?:ARRAY\s*\((.*)\)|\[(.*)\])\s*", re.IGNORECASE | re.DOTALL),
    Root.MAP: re.compile(r"\s*(?:MAP\s*\((.*)\)|\{(.*)\})\s*", re.IGNORECASE | re.DOTALL),
    Root.ROW: re.compile(r"\s*(?:STRUCT\s*\((.*)\)|\{(.*)\})\s*", re.IGNORECASE | re.DOTALL),
}
_PIECE = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|\\.|->|.""", re.DOTALL)
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*\"""", re.DOTALL)
_NULL = "null"


def default_scalar(field: DataField) -> pa.Scalar:
    """The value of the default text of a column, maybe in single quotes.

    Raises:
        SchemaError: the text is no value of the column's type.
    """
    text = field.default_value or ""
    if len(text) >= 2 and text.startswith("'") and text.endswith("'"):
        text = text[1:-1]
    try:
        return _array(text, field.type)[0]
    except (DataError, ValueError, UnsupportedFeature, pa.ArrowException) as error:
        raise SchemaError(
            f"the default value {field.default_value} of column '{field.name}' is no {type_sql(field.type)}: {error}"
        ) from None


def check_defaults(doing: str, fields: Iterable[DataField]) -> None:
    """Checks that the default values of columns can be stored (Java: CatalogUtils.validateCreateTable).

    Args:
        doing: what is done, for the error.

    Raises:
        SchemaError: the text of a default is no value of its column's type, or is longer than the type allows.
    """
    for field in fields:
        if field.default_value is None:
            continue
        if field.type.root is Root.VARIANT:
            raise SchemaError(
                f"{doing}: column '{field.name}' of the type VARIANT has the default value {field.default_value}, and "
                "there is none of this type: no text is cast to it; leave it out"
            )
        try:
            default_scalar(field)
        except SchemaError as error:
            raise SchemaError(
                f"{doing}: {error}; a default value is the text of a literal, such as 5 or '2026-11-01', and no "
                "expression"
            ) from None
        whole = default_scalar(replace(field, type=_STRING)).as_py() if field.type.root in STRINGS else ""
        if len(whole) > (field.type.length or MAX_LENGTH):
            raise SchemaError(
                f"{doing}: the default value {field.default_value} of column '{field.name}' is longer than "
                f"{type_sql(field.type)} allows"
            )


def fill_default(column: pa.Array, value: pa.Scalar) -> pa.Array:
    """A column with a value in the place of its nulls."""
    if not column.null_count:
        return column
    if not pa.types.is_nested(column.type):
        return pc.fill_null(column, value)
    with_value = pa.concat_arrays([column, pa.array([value.as_py()], column.type)])
    places = pa.array(range(len(column)), pa.int64())
    return with_value.take(pc.if_else(column.is_valid(), places, len(column)))


def _array(text: str, data_type: DataType) -> pa.Array:
    """One value, as an array of length 1.

    Raises:
        ValueError, DataError, ArrowException: the text is none.
    """
    root = data_type.root
    if root not in _FORMS:
        return cast_array(pa.array([text]), _STRING, data_type)
    found = _FORMS[root].fullmatch(text)
    if found is None:
        raise ValueError(f"write it as {_HOW[root]}")
    items = _items(found[1] or found[2] or "", ",")
    kind = arrow_type(data_type)
    if root is Root.ARRAY:
        return pa.array([[_value(item, data_type.inner) for item in items]], kind)
    if root is Root.MAP:
        return pa.array([_pairs(items, data_type, is_function=found[1] is not None)], kind)
    if not items:
        return pa.array([dict.fromkeys(field.name for field in data_type.fields)], kind)
    if len(items) != len(data_type.fields):
        raise ValueError(f"it has {len(items)} values for {len(data_type.fields)} fields")
    values = zip(data_type.fields, items, strict=True)
    return pa.array([{field.name: _value(item, field.type) for field, item in values}], kind)


_HOW = {
    Root.ARRAY: "ARRAY(a, b) or [a, b]",
    Root.MAP: "MAP(key, value) or {key -> value}",
    Root.ROW: "STRUCT(a, b) or {a, b}",
}


def _pairs(items: list[str], data_type: DataType, is_function: bool) -> list[tuple[object, object]]:
    if is_function and len(items) % 2:
        raise ValueError("MAP(...) needs a value for each key")
    pairs = zip(items[::2], items[1::2], strict=True) if is_function else (_items(item, "->") for item in items)
    found = []
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError("each entry is written as key -> value")
        found.append((_value(pair[0], data_type.key_type), _value(pair[1], data_type.inner)))
    return list(dict(found).items())


def _value(text: str, data_type: DataType) -> object:
    if text == _NULL:
        return None
    if data_type.root in STRINGS and _QUOTED.fullmatch(text):
        quote = text[0]
        text = re.sub(r"\\(.)", r"\1", text[1:-1].replace(quote * 2, quote), flags=re.DOTALL)
    value: object = _array(text, data_type)[0].as_py()
    return value


def _items(text: str, mark: str) -> list[str]:
    """The parts of a text between marks that stand outside of quotes and brackets, without the empty ones."""
    items, depth = [""], 0
    for piece in _PIECE.findall(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(piece, 0)
        if piece == mark and depth == 0:
            items.append("")
        else:
            items[-1] += piece
    return [item.strip() for item in items if item]
