"""Values in a form of their own, such as decimals in base64 and times that count units, as Arrow arrays."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.types import arrow_type
from paimon_spark.cdc.encodings import BYTES, TEXT, Encoding, Form
from paimon_spark.cdc.geometry import geo_json, mysql_geo_json
from paimon_spark.cdc.json_values import NumberText, value_text
from paimon_spark.errors import DataError
from paimon_spark.format.types import DataType, Root

_EXACT = Context(prec=200)
_ARROW_DIGITS = 38  # with more behind the point, Arrow reads beyond its powers of ten
_MOST_DIGITS = 200_000  # PostgreSQL has 131,072 before the point and 16,383 behind it
_PER_MILLI = {Form.MILLIS: 1, Form.MICROS: 10**3, Form.NANOS: 10**6}
_UNITS = {Form.MILLIS: ("ms", 3), Form.MICROS: ("us", 6), Form.NANOS: ("ns", 9)}


def decoded_values(values: Sequence[Any], encoding: Encoding, target: DataType) -> tuple[pa.Array, DataType]:
    """The values as an array, and the type of that: the target itself where that holds all values exactly.

    Raises:
        ValueError, TypeError, ArithmeticError, pa.ArrowException: a value is not written so.
    """
    form = encoding.form
    if form in (Form.BASE64_DECIMAL, Form.VARIABLE_DECIMAL):
        return _decimals(values, encoding, target)
    if form in (Form.BASE64, Form.BITS, Form.LATIN1, Form.HEX):
        return _each(values, _BYTES[form], pa.binary()), BYTES
    if form is Form.DAYS:
        return pa.array(_whole(values), pa.int32()).cast(pa.date32()), DataType(Root.DATE)
    if form in _UNITS:
        return _times(values, form, encoding, target)
    if form is Form.SET:
        listed = [None if value is None else _set_options(value, encoding.options) for value in values]
        if encoding.type.root is Root.ARRAY:
            return pa.array(listed, arrow_type(encoding.type)), encoding.type
        return pa.array([None if item is None else f"[{','.join(item)}]" for item in listed], pa.string()), TEXT
    if form is Form.ENUM:
        return _each(values, lambda value: _enum_option(value, encoding.options), pa.string()), TEXT
    return _each(values, _geometry if form is Form.GEOMETRY else _mysql_geometry, pa.string()), TEXT


def _each(values: Sequence[Any], read: Callable[[Any], Any], to: pa.DataType) -> pa.Array:
    return pa.array([None if value is None else read(value) for value in values], to)


def _whole(values: Sequence[Any]) -> Sequence[Any]:
    """Whole numbers, which may also be written as texts."""
    return [int(value) if isinstance(value, str) else value for value in values]


def _times(values: Sequence[Any], form: Form, encoding: Encoding, target: DataType) -> tuple[pa.Array, DataType]:
    """Counts of units: of the day where the column is a TIME, else since 1970-01-01."""
    counts = pa.array(_whole(values), pa.int64())
    if encoding.type.root is Root.TIME:
        millis = pc.divide(counts, _PER_MILLI[form])
        if pc.any(pc.or_(pc.less(counts, 0), pc.greater_equal(millis, 86_400_000))).as_py():
            raise DataError("a time of the day lies between 00:00:00 and 23:59:59.999")
        return millis.cast(pa.int32()).cast(pa.time32("ms")), DataType(Root.TIME, precision=3)
    unit, precision = _UNITS[form]
    return counts.cast(pa.timestamp(unit)), DataType(Root.TIMESTAMP, precision=precision)


def _decimals(values: Sequence[Any], encoding: Encoding, target: DataType) -> tuple[pa.Array, DataType]:
    read = _variable_decimal if encoding.form is Form.VARIABLE_DECIMAL else None
    scale = encoding.scale
    found = [None if v is None else read(v) if read else decimal_of(v, scale) for v in values]
    if target.root is Root.DECIMAL:
        arrow = arrow_type(target)
        try:
            if all(v is None or -int(v.as_tuple().exponent) <= _ARROW_DIGITS for v in found):
                return pa.array(found, arrow), target
        except pa.ArrowInvalid:  # digits beyond the scale: rounded as texts are
            pass
    return pa.array([None if v is None else format(v, "f") for v in found], pa.string()), TEXT


def decimal_of(value: Any, scale: int) -> Decimal:
    """A decimal that Kafka Connect writes in base64, or as a number.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, NumberText) or not isinstance(value, str):
        return _number(value)
    try:
        unscaled = int.from_bytes(base64.b64decode(value, validate=True), "big", signed=True)
    except ValueError:
        return _number(value)
    return _within_range(Decimal(unscaled).scaleb(-scale, _EXACT))


def _within_range(number: Decimal) -> Decimal:
    """A number whose digits, all of them, can be written: a few bytes of a message name one of a billion."""
    if max(abs(number.adjusted()), -int(number.as_tuple().exponent)) > _MOST_DIGITS:
        raise ValueError(f"a decimal of more than {_MOST_DIGITS} digits is not read")
    return number


def _number(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{value!r:.80} is no decimal")
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"{value!r:.80} is no decimal") from None
    if not number.is_finite():
        raise ValueError(f"{value!r:.80} is no decimal")
    return _within_range(number)


def _variable_decimal(value: Any) -> Decimal:
    if not isinstance(value, dict):
        return _number(value)
    scale = value.get("scale")
    if not isinstance(scale, int):
        raise ValueError("a decimal of variable scale has no whole number 'scale'")
    return decimal_of(value.get("value"), scale)


def _text_of(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"bytes are written as a text, found {value!r:.80}")
    return value


def _latin1(value: Any) -> bytes:
    """The bytes behind the characters; a text beyond them is no bytes of Canal, and taken in UTF-8 (Java: always)."""
    text = _text_of(value)
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8")


_BYTES: dict[Form, Callable[[Any], bytes]] = {
    Form.BASE64: lambda value: base64.b64decode(_text_of(value), validate=True),
    Form.BITS: lambda value: base64.b64decode(_text_of(value), validate=True)[::-1],
    Form.LATIN1: _latin1,
    Form.HEX: lambda value: bytes.fromhex(_text_of(value).removeprefix("0x")),
}


def _enum_option(value: Any, options: tuple[str, ...]) -> str | None:
    """The option of a number from 1; 0 is MySQL's mark of a value that was refused, the empty text."""
    text = value_text(value) or ""
    if not text.isdecimal() or text in options:
        return text
    number = int(text)
    if number > len(options):
        raise ValueError(f"there are {len(options)} options")
    return options[number - 1] if number else ""


def _set_options(value: Any, options: tuple[str, ...]) -> list[str]:
    text = value_text(value) or ""
    if not text.isdecimal():
        return text.split(",") if text else []
    bits = int(text)
    if bits >> len(options):
        raise ValueError(f"there are {len(options)} options")
    return [option for i, option in enumerate(options) if bits >> i & 1]


def _geometry(value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("wkb"), str):
        raise ValueError("a geometry is an object with the member 'wkb'")
    return geo_json(base64.b64decode(value["wkb"], validate=True), value.get("srid") or 0)


def _mysql_geometry(value: Any) -> str:
    return mysql_geo_json(_latin1(value))
