"""Text as values and values as text, as the Java system does it (Java: the *ToString and StringTo* cast rules).

Each distinct value is converted once, in Python: these casts serve only old files of changed columns, and default
values.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.conform import list_of, map_of, struct_of
from paimon_spark.arrow.raw_values import scalar_of
from paimon_spark.arrow.types import from_internal, to_internal
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.java.text import (
    date_text,
    double_text,
    float_text,
    time_text,
    timestamp_iso_text,
    timestamp_text,
)
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import (
    BINARIES,
    FLOATS,
    INTEGERS,
    MAX_LENGTH,
    STRINGS,
    TIMESTAMPS,
    DataType,
    Root,
    has_char,
)

EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
_COUNT = DataType(Root.INT, nullable=False)
_LIMITS = {Root.TINYINT: 2**7, Root.SMALLINT: 2**15, Root.INT: 2**31, Root.BIGINT: 2**63}
BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_DATE = re.compile(r"\s*(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?\s*")
_TIME = re.compile(r"\s*(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?)?\s*")
_TIMESTAMP = re.compile(r"\s*(\d{1,4}-\d{1,2}-\d{1,2})(?:[ T](\d{1,2}:\d{1,2}(?::\d{1,2}(?:\.\d{1,9})?)?))?(Z)?\s*")
TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)
NULL = "null"


def format_texts(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Values of a plain type as text, cut or padded to the target type."""
    formatter = _formatter(source)
    if formatter is None:
        raise UnsupportedFeature(f"casting {type_sql(source)} to {type_sql(target)} is not supported")
    texts = by_distinct(array, formatter, DataType(Root.VARCHAR, length=MAX_LENGTH))
    return cut_text(texts, source, target)


def cut_text(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Text cut to the length of the type, in characters; CHAR(n) is also padded with blanks."""
    limit = target.length or 1
    if limit >= MAX_LENGTH:
        return array
    cut = pc.utf8_slice_codeunits(array, 0, limit)
    return pc.utf8_rpad(cut, limit) if target.root is Root.CHAR else cut


def padded_texts(array: pa.Array, data_type: DataType) -> pa.Array:
    """An array with blanks behind texts that are shorter than their CHAR(n), at any depth; longer ones stay."""
    if data_type.root is Root.CHAR:
        return pc.utf8_rpad(array, data_type.length or 1)
    if not has_char(data_type):
        return array
    if data_type.root is Root.ROW:
        children = [padded_texts(array.field(i), field.type) for i, field in enumerate(data_type.fields)]
        return struct_of(array, children, list(array.type))
    if data_type.root is Root.ARRAY:
        return list_of(array, padded_texts(array.values, data_type.inner), array.type)
    key, item = (data_type.key_type, data_type.inner) if data_type.root is Root.MAP else (data_type.inner, _COUNT)
    return map_of(array, padded_texts(array.keys, key), padded_texts(array.items, item), array.type)


def parse_texts(array: pa.Array, source: DataType, target: DataType) -> pa.Array:
    """Text as values of a plain type.

    Raises:
        UnsupportedFeature: values of the type have no text form.
        DataError: a text is not a value of the type; the message shows the text.
    """
    parser = _parser(target)
    if parser is None:
        raise UnsupportedFeature(f"casting {type_sql(source)} to {type_sql(target)} is not supported")
    parse = parser

    def run(text: str) -> Any:
        try:
            return parse(text)
        except (ValueError, ArithmeticError):  # of decimals: no number, or an exponent beyond all
            raise DataError(f"the text '{text:.200}' is no {type_sql(target.with_nullable(True))}") from None

    return by_distinct(array, run, target)


def by_distinct(array: pa.Array, step: Callable[[Any], Any], target: DataType) -> pa.Array:
    """The step applied to each distinct value, as an array of the target type."""
    bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(array.type)
    encoded = (array if bits is None else array.view(bits)).dictionary_encode()  # by their bits: -0.0 is not 0.0
    distinct = encoded.dictionary if bits is None else encoded.dictionary.view(array.type)
    return from_internal([step(to_internal(value)) for value in distinct], target).take(encoded.indices)


def _formatter(source: DataType) -> Callable[[Any], str] | None:
    root = source.root
    if root in INTEGERS:
        return str
    if root in TIMESTAMPS:
        precision = 6 if source.precision is None else source.precision
        return lambda nanos: timestamp_text(nanos, precision)
    if root is Root.TIME:
        return lambda millis: time_text(millis, source.precision or 0)
    simple: dict[Root, Callable[[Any], str]] = {
        Root.BOOLEAN: lambda value: "true" if value else "false",
        Root.FLOAT: float_text,
        Root.DOUBLE: double_text,
        Root.DECIMAL: lambda value: format(value, "f"),
        Root.DATE: date_text,
    }
    return simple.get(root)


def _parser(target: DataType) -> Callable[[str], Any] | None:
    root = target.root
    if root in INTEGERS:
        return lambda text: _parse_integer(text, _LIMITS[root])
    if root in FLOATS:
        return _parse_float
    if root is Root.DECIMAL:
        return lambda text: _parse_decimal(text, target.precision or 10, target.scale or 0)
    if root in TIMESTAMPS:
        return lambda text: _parse_timestamp(text, target)
    simple: dict[Root, Callable[[str], Any]] = {
        Root.BOOLEAN: _parse_boolean,
        Root.DATE: _parse_date,
        Root.TIME: _parse_time,
    }
    return simple.get(root)


def _parse_boolean(text: str) -> bool:
    if text.lower() not in BOOLEANS:
        raise ValueError(text)
    return BOOLEANS[text.lower()]


def _parse_integer(text: str, limit: int) -> int:
    """Digits with a sign; a fraction is allowed and cut."""
    match = re.fullmatch(r"([+-]?)([0-9]*)(?:\.[0-9]*)?", text)
    if match is None or text in ("", "+", "-"):
        raise ValueError(text)
    value = int(match[1] + (match[2] or "0"))
    if not -limit <= value < limit:
        raise ValueError(text)
    return value


def _parse_float(text: str) -> float:
    """Java's Double.parseDouble: blanks around the number and a type letter at its end are allowed."""
    trimmed = re.sub(r"(?<=[0-9.])[dDfF]$", "", text.strip())
    if "_" in trimmed or trimmed.lower().lstrip("+-") in ("inf", "infinity", "nan"):
        named = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
        if trimmed.lstrip("+") not in named:
            raise ValueError(text)
        return named[trimmed.lstrip("+")]
    return float(trimmed)


def _parse_decimal(text: str, precision: int, scale: int) -> Decimal | None:
    """Rounded half up; None where it does not fit."""
    number = EXACT.create_decimal(text)
    if not number.is_finite() or text != text.strip() or "_" in text:
        raise ValueError(text)
    rounded = number.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    return rounded if abs(rounded) < 10 ** (precision - scale) else None


def _parse_date(text: str) -> int:
    """``2024-01-31``, also without the day or the month; digits alone are a day number, as DATE prints itself."""
    if text.isdigit():
        return _parse_integer(text, 2**31)
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return _days(int(match[1]), int(match[2] or 1), int(match[3] or 1), text)


def _days(year: int, month: int, day: int, text: str) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        raise ValueError(text)
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + sum(lengths[: month - 1]) + day - 719_163


def _parse_time(text: str) -> int:
    """``12:34:56.789`` in milliseconds; digits alone are milliseconds, as TIME prints itself."""
    if text.isdigit():
        return _parse_integer(text, 2**31)
    return _time_nanos(text) // 10**6


def _time_nanos(text: str) -> int:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    hours, minutes, seconds = (int(part or 0) for part in match.group(1, 2, 3))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError(text)
    return ((hours * 60 + minutes) * 60 + seconds) * 10**9 + int((match[4] or "").ljust(9, "0")[:9])


def _parse_timestamp(text: str, target: DataType) -> int:
    """``2024-01-31 12:34:56.789`` in nanoseconds, cut to the precision; digits alone count units of the precision."""
    precision = 6 if target.precision is None else target.precision
    if re.fullmatch("[0-9]+", text) and target.root is Root.TIMESTAMP and precision in (0, 3, 6, 9):
        return _parse_integer(text, 2**63) * int(10 ** (9 - precision))
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(text)
    nanos = _parse_date(match[1]) * 86_400 * 10**9 + (_time_nanos(match[2]) if match[2] else 0)
    return nanos - nanos % int(10 ** (9 - precision))


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
    parts: list[pa.Array | pa.Scalar] = []
    for i, (column, label) in enumerate(zip(columns, before, strict=True)):
        parts += [scalar_of((", " if i else brackets[0]) + label, pa.string()), column]
    if not columns:
        return pa.repeat(scalar_of(brackets, pa.string()), rows)
    parts += [scalar_of(brackets[1], pa.string()), scalar_of("", pa.string())]  # the last one stands between the others
    joined = pc.binary_join_element_wise(*parts, null_handling="replace", null_replacement=NULL)
    return joined if len(joined) == rows else pa.repeat(scalar_of(brackets, pa.string()), rows)
