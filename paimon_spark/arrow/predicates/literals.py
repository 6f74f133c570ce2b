"""Typed literals of filters, and their casts by Spark's ANSI rules (Spark: Literal, Cast)."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.predicates.literal_text import (
    parse_boolean,
    parse_date,
    parse_decimal,
    parse_float,
    parse_integer,
    parse_local_timestamp,
    parse_time,
    parse_timestamp,
)
from paimon_spark.arrow.predicates.predicate import Value
from paimon_spark.arrow.types import NANOS_PER_UNIT
from paimon_spark.arrow.zones import DAY, MICRO, UNKNOWN_ZONE, to_instant, to_local
from paimon_spark.errors import PredicateError, wrong_in_utf8
from paimon_spark.format.java.text import date_text, timestamp_text
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, MAX_LENGTH, STRINGS, DataType, Root

BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, DATE = (
    DataType(root) for root in (Root.BOOLEAN, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE, Root.DATE)
)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
BYTES = DataType(Root.VARBINARY, length=MAX_LENGTH)
TIME = DataType(Root.TIME, precision=3)
LOCAL_TIMESTAMP = DataType(Root.TIMESTAMP, precision=6)
INSTANT = DataType(Root.TIMESTAMP_LTZ, precision=6)
MAX_PRECISION = 38
INTEGER_BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}

WITH_OFFSET = "write the offset into the literal, as in '2026-11-01 00:00:00+01:00'"
OF_LOCAL_TIMES = "write a literal without a zone, as in TIMESTAMP_NTZ '2026-11-01 00:00:00'"
_MISSING = ("NaTType", "NAType")  # of pandas, which is not imported for it
_DAYS = ("Y", "M", "W", "D")  # units of NumPy whose values begin at midnight
_FINE = ("ns", "ps", "fs", "as")
_MOST_LISTED = 1_000_000
_EXACT = Context(prec=1000)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of a filter: an internal value of its type. NULL has the value None; an untyped NULL has type None."""

    value: Value | None
    type: DataType | None


NULL_LITERAL = Literal(None, None)


def decimal_literal(value: Decimal) -> Literal:
    """A decimal constant with the precision and scale its digits need.

    Raises:
        PredicateError: it is not finite or needs more than 38 digits.
    """
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int):
        raise PredicateError(f"the decimal {value} is not a number: use a float for NaN and infinity")
    scale = max(-exponent, 0)
    precision = max(value.adjusted() + 1 + scale if value else 1, len(value.as_tuple().digits), scale)
    if precision > MAX_PRECISION:
        raise PredicateError(
            f"the decimal {value!s:.60} has {precision} digits: at most {MAX_PRECISION} can be compared"
        )
    plain = value if exponent <= 0 else value.quantize(Decimal(1), context=_EXACT)
    return Literal(plain, DataType(Root.DECIMAL, precision=precision, scale=scale))


def integer_literal(value: int | Decimal) -> Literal:
    """A whole number as INT, else BIGINT, else DECIMAL: the first that holds it."""
    for data_type in (INT, BIGINT):
        if fits_integer(value, data_type.root):
            return Literal(int(value), data_type)
    return decimal_literal(Decimal(value))


def fits_integer(value: int | Decimal, root: Root) -> bool:
    limit = 1 << (INTEGER_BITS[root] - 1)
    return -limit <= value < limit


def literal_of(value: Any) -> Literal:
    """A value of Python, NumPy, pandas or Arrow as a literal; a time with a zone is an instant, one without is local.

    A time keeps its nanoseconds, though the type of a literal is one of microseconds.

    Raises:
        PredicateError: a kind of value that filters do not take.
    """
    if isinstance(value, pa.TimestampScalar) and value.is_valid:
        return Literal(value.value * NANOS_PER_UNIT[value.type.unit], INSTANT if value.type.tz else LOCAL_TIMESTAMP)
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.datetime64):
        return _numpy_moment(value)
    if isinstance(value, np.generic) and not isinstance(value, np.timedelta64):
        value = value.item()
    if type(value).__name__ in _MISSING and type(value).__module__.startswith("pandas."):
        return NULL_LITERAL
    match value:
        case None:
            return NULL_LITERAL
        case bool():
            return Literal(value, BOOLEAN)
        case int():
            return integer_literal(value)
        case float():
            return Literal(value, DOUBLE)
        case Decimal():
            return decimal_literal(value)
        case str():
            if wrong := wrong_in_utf8(value):
                raise PredicateError(f"a filter cannot compare with {value!r:.100}, which {wrong}; write it in UTF-8")
            return Literal(value, STRING)
        case bytes() | bytearray() | memoryview():
            return Literal(bytes(value), BYTES)
        case dt.datetime():
            offset = value.utcoffset()
            local = (value.replace(tzinfo=None) - _EPOCH) // _MICROSECOND * MICRO + getattr(value, "nanosecond", 0)
            if offset is None:
                return Literal(local, LOCAL_TIMESTAMP)
            return Literal(local - offset // _MICROSECOND * MICRO, INSTANT)
        case dt.date():
            return Literal(value.toordinal() - _EPOCH.toordinal(), DATE)
        case dt.time():
            return cast_literal(Literal(value.isoformat(), STRING), TIME, UNKNOWN_ZONE)
    several = "; isin(...) compares with each of several values" if isinstance(value, Iterable) else ""
    column = _first_column(value)
    if column is not None:
        several = f"; isin(rows['{column}']) takes the values of one column"
    raise PredicateError(
        f"a filter cannot compare with {' '.join(repr(value).split()):.100} of type {type(value).__name__}: use None, "
        f"bool, int, float, Decimal, str, bytes, date, time or datetime{several}"
    )


def _first_column(value: Any) -> str | None:
    """The name of a column of rows of a library; None: it is something else."""
    if isinstance(value, pa.Table | pa.RecordBatch):
        return next(iter(value.schema.names), None)
    names: Any = getattr(value, "columns", ())
    return str(names[0]) if isinstance(value, Iterable) and len(names) else None


def _numpy_moment(value: np.datetime64) -> Literal:
    """A day, or a local time in nanoseconds: finer digits are cut."""
    if np.isnat(value):
        return NULL_LITERAL
    unit = np.datetime_data(value)[0]
    if unit in _DAYS:
        return Literal(int(value.astype("datetime64[D]").astype(np.int64)), DATE)
    unit, nanos = ("ns", 1) if unit in _FINE else ("us", MICRO)
    return Literal(int(value.astype(f"datetime64[{unit}]").astype(np.int64)) * nanos, LOCAL_TIMESTAMP)


def items_of(value: Any) -> tuple[Any, ...]:
    """The values of a list, array, Series or other iterable; a single value alone.

    Raises:
        PredicateError: a range of more values than a condition can list.
    """
    if isinstance(value, range) and len(value) > _MOST_LISTED:
        raise PredicateError(f"{value} has {len(value)} values, too many for a list: use between(low, high)")
    single = isinstance(value, str | bytes | bytearray | memoryview | Mapping | pa.Scalar | pa.Table | pa.RecordBatch)
    if single or getattr(value, "ndim", 1) != 1:
        return (value,)
    try:
        items = tuple(value)
    except TypeError:  # no iterable: it is a value, or something that literal_of refuses
        return (value,)
    if getattr(getattr(value, "dtype", None), "kind", "") != "O":
        return items
    return tuple(None if isinstance(item, float) and math.isnan(item) else item for item in items)


def cast_literal(literal: Literal, to: DataType, zone: dt.tzinfo) -> Literal:
    """The literal as another type, as ``cast(literal as to)`` gives in Spark.

    Args:
        literal: of any type.
        to: the wanted type.
        zone: of the session, for conversions between local times and instants.

    Raises:
        PredicateError: the value cannot be converted, or Spark has no cast between the types.
        ZoneUnknown: the cast depends on the zone, which is not known.
    """
    if literal.value is None or literal.type is None:
        return Literal(None, to)
    if literal.type == to:
        return literal
    try:
        value = _cast_value(literal.value, literal.type, to, zone)
    except (ValueError, ArithmeticError) as error:
        raise PredicateError(f"cannot read {literal_words(literal)} as {type_sql(to)}: {error}") from None
    if value is None:
        raise PredicateError(
            f"a filter cannot cast {literal_words(literal)} to {type_sql(to)}: write a literal of that type"
        )
    return Literal(value, to)


def literal_words(literal: Literal) -> str:
    """A literal for messages."""
    value, root = literal.value, None if literal.type is None else literal.type.root
    if isinstance(value, int) and root is Root.DATE:
        return f"DATE '{date_text(value)}'"
    if isinstance(value, int) and root is Root.TIMESTAMP:
        return f"TIMESTAMP_NTZ '{timestamp_text(value, 0)}'"
    if isinstance(value, int) and root is Root.TIMESTAMP_LTZ:
        return f"TIMESTAMP '{timestamp_text(value, 0)} UTC'"
    return "NULL" if value is None else f"{value!r:.100}"


def zone_needed(what: str, instead: str = WITH_OFFSET) -> PredicateError:
    """The error for a condition whose rows depend on the time zone when that is unknown.

    Args:
        what: the part of the condition that depends on it.
        instead: advice, with a literal that does not.
    """
    return PredicateError(
        f"{what} depends on a time zone, and none is known here: {instead}, or name the zone, as in Europe/Berlin, "
        "with the option 'time-zone' of the read or write (time_zone= of open_table)"
    )


def _cast_value(value: Any, source: DataType, to: DataType, zone: dt.tzinfo) -> Value | None:
    """The value cast to another type; None if the cast is not supported."""
    if to.root in STRINGS:
        return _as_text(value, source)
    if source.root in STRINGS:
        return _parse(value, to, zone)
    if source.root in (Root.BOOLEAN, *INTEGERS, *FLOATS, Root.DECIMAL):
        return _cast_number(value, source, to)
    if source.root is to.root or (source.root in BINARIES and to.root in BINARIES):
        same: Value = value
        return same
    return _cast_moment(value, source.root, to.root, zone)


def _as_text(value: Any, source: DataType) -> str | None:
    if source.root in STRINGS:
        return str(value)
    if source.root is Root.BOOLEAN:
        return "true" if value else "false"
    if source.root in INTEGERS:
        return str(value)
    if source.root is Root.DATE:
        return str(_EPOCH.date() + dt.timedelta(days=value))
    return None


def _parse(text: str, to: DataType, zone: dt.tzinfo) -> Value | None:
    if to.root in INTEGERS:
        return _checked_integer(parse_integer(text), to)
    if to.root is Root.DECIMAL:
        return round_decimal(parse_decimal(text), to)
    if to.root in FLOATS:
        return to_float(parse_float(text), to)
    if to.root is Root.TIMESTAMP_LTZ:
        return parse_timestamp(text, zone)
    if to.root in BINARIES:
        return text.encode("utf-8")
    parsers: dict[Root, Callable[[str], Value]] = {
        Root.BOOLEAN: parse_boolean,
        Root.DATE: parse_date,
        Root.TIME: parse_time,
        Root.TIMESTAMP: parse_local_timestamp,
    }
    return parsers[to.root](text) if to.root in parsers else None


def _cast_number(value: Any, source: DataType, to: DataType) -> Value | None:
    if to.root is Root.BOOLEAN:
        return bool(value != 0)
    if to.root in FLOATS:
        return to_float(float(value), to)
    if to.root in INTEGERS:
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("it is not finite")
        return _checked_integer(int(value), to)
    if to.root is Root.DECIMAL:
        if isinstance(value, float):  # Spark takes the shortest digits that give the number
            exact = parse_decimal(repr(to_float(value, source)))
        else:
            exact = Decimal(int(value)) if not isinstance(value, Decimal) else value
        return round_decimal(exact, to)
    return None


def _cast_moment(value: int, source: Root, to: Root, zone: dt.tzinfo) -> Value | None:
    match source, to:
        case Root.DATE, Root.TIMESTAMP:
            return value * DAY
        case Root.DATE, Root.TIMESTAMP_LTZ:
            return to_instant(value * DAY, zone)
        case Root.TIMESTAMP, Root.TIMESTAMP_LTZ:
            return to_instant(value, zone)
        case Root.TIMESTAMP_LTZ, Root.TIMESTAMP:
            return to_local(value, zone)
        case Root.TIMESTAMP, Root.DATE:
            return value // DAY
        case Root.TIMESTAMP_LTZ, Root.DATE:
            return to_local(value, zone) // DAY
    return None


def _checked_integer(value: int, to: DataType) -> int:
    if not fits_integer(value, to.root):
        raise ValueError("it is out of range")
    return value


def round_decimal(value: Decimal, to: DataType) -> Decimal:
    """The value with the scale of a DECIMAL type, halves away from zero. Raises ValueError for too many digits."""
    rounded = value.quantize(Decimal(1).scaleb(-(to.scale or 0)), ROUND_HALF_UP, _EXACT)
    digits = rounded.quantize(Decimal(1), ROUND_DOWN, _EXACT)
    if abs(digits) >= 10 ** ((to.precision or 0) - (to.scale or 0)):
        raise ValueError("it has too many digits")
    return rounded


def to_float(value: float, to: DataType) -> float:
    """The nearest number that the type holds."""
    if to.root is Root.DOUBLE or not math.isfinite(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
