"""Converts comparisons of a column with literals of other types to comparisons in the column's own type.

Spark compares in a type common to both sides and so casts the column, row by row (Spark: AnsiTypeCoercion,
DecimalPrecisionTypeCoercion). These casts are monotonic, so a comparison of the cast column equals a comparison of the
column itself with another bound. This module finds that bound once; rows, statistics and partitions are then compared
with values of their own type.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from paimon_spark.arrow.predicates.char_columns import compare_char, test_char
from paimon_spark.arrow.predicates.literals import (
    DOUBLE,
    FLOAT,
    INTEGER_BITS,
    OF_LOCAL_TIMES,
    Literal,
    cast_literal,
    decimal_literal,
    literal_words,
    round_decimal,
    to_float,
    zone_needed,
)
from paimon_spark.arrow.predicates.predicate import (
    FALSE,
    NULL,
    Compare,
    IsNotNull,
    IsNull,
    Op,
    Path,
    Predicate,
    UnlessNull,
    Value,
    and_,
    not_,
    or_,
)
from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.arrow.types import decimal_of
from paimon_spark.arrow.zones import DAY, MICRO, ZoneUnknown, end_of_gap, to_instant
from paimon_spark.errors import PredicateError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

_NUMBERS = INTEGERS | FLOATS | {Root.DECIMAL}
_WIDTH = [Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT, Root.DOUBLE]
_INTEGER_DIGITS = {Root.TINYINT: 3, Root.SMALLINT: 5, Root.INT: 10, Root.BIGINT: 20}
_MOMENTS = [Root.DATE, Root.TIMESTAMP, Root.TIMESTAMP_LTZ]
_MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a filter, found in the table: its path in the table's spelling, and the type of the values there."""

    path: Path
    type: DataType

    def __str__(self) -> str:
        return f"{'.'.join(self.path)} ({type_sql(self.type)})"


# --------------------------------------------------------------------------------------------------------- common types


def common_type(left: DataType | None, right: DataType | None) -> DataType | None:
    """The type in which Spark compares two types; None if it does not. A bare NULL (None) takes the other type."""
    if left is None or right is None:
        return left or right
    if left.root in STRINGS or right.root in STRINGS:
        return _common_with_text(left, right)
    if left.root in _NUMBERS and right.root in _NUMBERS:
        return _common_number(left, right)
    if left.root in _MOMENTS and right.root in _MOMENTS:
        root = max(left.root, right.root, key=_MOMENTS.index)
        return DataType(root) if root is Root.DATE else DataType(root, precision=6)
    if left.root is right.root or (left.root in BINARIES and right.root in BINARIES):
        return left.with_nullable(True) if left.root in (Root.BOOLEAN, Root.TIME, *BINARIES) else None
    return None


def _common_with_text(left: DataType, right: DataType) -> DataType | None:
    text, other = (left, right) if left.root in STRINGS else (right, left)
    if other.root in STRINGS:
        return text.with_nullable(True)
    if other.root in INTEGERS:
        return DataType(Root.BIGINT)
    if other.root in (Root.DECIMAL, *FLOATS):
        return DOUBLE
    if other.root in TIMESTAMPS:
        return DataType(other.root, precision=6)
    return other.with_nullable(True) if other.root in (Root.BOOLEAN, Root.DATE, Root.TIME, *BINARIES) else None


def _common_number(left: DataType, right: DataType) -> DataType:
    if Root.DECIMAL in (left.root, right.root):
        if left.root in FLOATS or right.root in FLOATS:
            return DOUBLE
        (p1, s1), (p2, s2) = _digits(left), _digits(right)
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale
        excess = max(precision - _MAX_PRECISION, 0)  # too wide: Spark gives up digits behind the point
        return DataType(Root.DECIMAL, precision=precision - excess, scale=max(scale - excess, 0))
    root = max(left.root, right.root, key=_WIDTH.index)
    mixed = root is Root.FLOAT and left.root is not right.root
    return DOUBLE if mixed else DataType(root)


def _digits(data_type: DataType) -> tuple[int, int]:
    if data_type.root is Root.DECIMAL:
        return data_type.precision or 0, data_type.scale or 0
    return _INTEGER_DIGITS[data_type.root], 0


# ---------------------------------------------------------------------------------------------------------- comparisons


def bind_comparison(column: Column, op: Op, literal: Literal, zone: dt.tzinfo) -> Predicate:
    """``column op literal`` over the column's own values.

    Args:
        column: of any type; only those that Spark can order can be compared.
        op: the comparison, the column on its left.
        literal: of any type.
        zone: the session's: the zone of texts without one, and of local times and dates compared with instants.

    Raises:
        PredicateError: the types cannot be compared, or the literal cannot be read as the common type.
    """
    if literal.type is not None and literal.type.root in INTEGERS and column.type.root is Root.DECIMAL:
        literal = decimal_literal(decimal_of(int(literal.value or 0), 0)) if literal.value is not None else literal
    common = common_type(column.type, literal.type)
    if common is None:
        way_out = "use a literal of the column's type"
        if column.type.root in (Root.BLOB, Root.VARIANT):
            way_out = "values of this type are not compared here; IS NULL and IS NOT NULL are conditions on the column"
        raise PredicateError(f"cannot compare {column} with {_shown(literal)}: {way_out}")
    return bind_in_type(column, op, literal, common, zone)


def bind_in_type(column: Column, op: Op, literal: Literal, common: DataType, zone: dt.tzinfo) -> Predicate:
    """``column op literal`` over the column's own values, compared in a common type that is already known.

    Raises:
        PredicateError: the literal cannot be read as the common type, or the comparison needs an unknown time zone.
    """
    if column.type.root in STRINGS and common.root not in STRINGS:
        raise PredicateError(
            f"comparing {column} with {_shown(literal)} would cast the column in every row: write the literal as text "
            "in quotes, in the form the column holds"
        )
    try:
        return _bind_value(column, op, cast_literal(literal, common, zone).value, common, zone)
    except ZoneUnknown:
        what = f"comparing {column} with {literal_words(literal)}"
        if column.type.root is Root.TIMESTAMP_LTZ:
            raise zone_needed(what) from None
        raise zone_needed(what, OF_LOCAL_TIMES) from None


def _bind_value(column: Column, op: Op, value: Value | None, common: DataType, zone: dt.tzinfo) -> Predicate:
    if value is None:
        return IsNull(column.path) if op is Op.NULL_SAFE_EQ else NULL
    scale = _scale_of(column.type, common, zone, value)
    if scale is None:
        return _bind_text(column, op, value)
    if column.type.root is Root.TIMESTAMP and common.root is Root.TIMESTAMP_LTZ:
        end = end_of_gap(int(value), zone)
        if end is not None:
            return _bound_after_gap(column.path, op, value, scale, end)
    return _bound(column.path, op, value, scale)


def _bind_text(column: Column, op: Op, value: Value) -> Predicate:
    """A comparison of values as they are; Spark pads texts for a CHAR column, but not for a field of that type."""
    same = Compare(column.path, op, value)
    if column.type.root is not Root.CHAR or not isinstance(value, str):
        return same
    length = column.type.length or 1
    return compare_char(column.path, length, op, value) if len(column.path) == 1 else test_char(length, same)


def _shown(literal: Literal) -> str:
    return "NULL" if literal.type is None else f"a literal of type {type_sql(literal.type)}"


@dataclass(frozen=True, slots=True)
class _Scale:
    """All values of a type in ascending order, by number, and their cast to another type."""

    low: int
    high: int
    value: Callable[[int], Value]
    cast: Callable[[Any], Value]
    near: Callable[[Any], int] | None = None
    """What guesses the number of a value, so that few have to be tried."""

    def first(self, reaches: Callable[[int], bool], bound: Value) -> int:
        """The first number whose value, cast, compares with the bound as wanted; high + 1 if there is none."""
        low, high = self.low, self.high + 1
        if self.near is not None and math.isfinite(cast("float", bound)):
            guess = self.near(bound)
            for place in (guess, guess + 1):
                if low < place < high and self._reaches(place, reaches, bound):
                    if not self._reaches(place - 1, reaches, bound):
                        return place
                    break
        while low < high:
            middle = (low + high) // 2
            if self._reaches(middle, reaches, bound):
                high = middle
            else:
                low = middle + 1
        return low

    def _reaches(self, number: int, reaches: Callable[[int], bool], bound: Value) -> bool:
        return reaches(compare_values(self.cast(self.value(number)), bound))


def _bound(path: Path, op: Op, value: Value, scale: _Scale) -> Predicate:
    """``cast(column) op value`` as a comparison of the column: the values that are equal when cast are a range."""
    first = scale.first(lambda order: order >= 0, value)
    after = scale.first(lambda order: order > 0, value)
    match op:
        case Op.LT:
            return _above_or_below(path, Op.LT, first, scale)
        case Op.LE:
            return _above_or_below(path, Op.LE, after - 1, scale)
        case Op.GT:
            return _above_or_below(path, Op.GT, after - 1, scale)
        case Op.GE:
            return _above_or_below(path, Op.GE, first, scale)
        case Op.NE:
            equal = _bound(path, Op.EQ, value, scale)
            return Compare(path, Op.NE, equal.value) if isinstance(equal, Compare) else not_(equal)
    if first == after:
        return FALSE if op is Op.NULL_SAFE_EQ else UnlessNull(path, False)
    if after == first + 1:
        return Compare(path, op, scale.value(first))
    between = (Compare(path, Op.GE, scale.value(first)), Compare(path, Op.LE, scale.value(after - 1)))
    return and_(*between, IsNotNull(path)) if op is Op.NULL_SAFE_EQ else and_(*between)


def _bound_after_gap(path: Path, op: Op, value: Value, scale: _Scale, end: int) -> Predicate:
    """``cast(column) op value`` where the cast maps local times in a gap of the clock to instants after the gap.

    ``end`` is the local time at which the clock resumes. The cast is not monotonic around it, but it is below ``end``
    and from ``end`` on, so each part has a bound of its own.
    """
    if op is Op.NE:
        return not_(_bound_after_gap(path, Op.EQ, value, scale, end))
    number = replace(scale, cast=_same).first(lambda order: order >= 0, end)
    before, after = replace(scale, high=number - 1), replace(scale, low=number)
    bounds = [_bound(path, op, value, part) for part in (before, after)]
    if op in (Op.EQ, Op.NULL_SAFE_EQ):
        return or_(*bounds)
    return or_(and_(Compare(path, Op.LT, end), bounds[0]), and_(Compare(path, Op.GE, end), bounds[1]))


def _above_or_below(path: Path, op: Op, number: int, scale: _Scale) -> Predicate:
    """``column op value(number)``, where the number may lie just outside of the scale."""
    below = op in (Op.LT, Op.LE)
    if number < scale.low or (number == scale.low and op in (Op.LT, Op.GE)):
        return UnlessNull(path, not below)
    if number > scale.high or (number == scale.high and op in (Op.LE, Op.GT)):
        return UnlessNull(path, below)
    return Compare(path, op, scale.value(number))


def _scale_of(source: DataType, common: DataType, zone: dt.tzinfo, value: Value) -> _Scale | None:
    """The values of a column's type and their cast to the common type; None if the literal itself is the bound."""
    root = source.root
    if root in INTEGERS:
        limit = 1 << (INTEGER_BITS[root] - 1)
        return _Scale(-limit, limit - 1, int, _number_cast(common), _number_near(1))
    if root is Root.DECIMAL:
        scale, limit = source.scale or 0, 10 ** (source.precision or 0)
        narrowed = common.root is Root.DECIMAL and (common.scale or 0) < scale
        wider: Callable[[Any], Value] = (lambda v: round_decimal(v, common)) if narrowed else _number_cast(common)
        return _Scale(1 - limit, limit - 1, lambda n: decimal_of(n, scale), wider, _number_near(10**scale))
    if root is Root.FLOAT:
        return _Scale(-0x7F800000, 0x7F800001, _float_at, _same, _float_number)
    if root is Root.DATE and common.root in TIMESTAMPS:
        if common.root is Root.TIMESTAMP:
            return _Scale(-(1 << 31), (1 << 31) - 1, int, lambda days: days * DAY, lambda nanos: nanos // DAY)
        return _Scale(-(1 << 31), (1 << 31) - 1, int, lambda days: to_instant(days * DAY, zone))
    if root in TIMESTAMPS:
        return _moments(source, common, zone, 1 if int(value) % MICRO else MICRO)
    return None


def _moments(source: DataType, common: DataType, zone: dt.tzinfo, step: int) -> _Scale:
    """Spark sees timestamps in microseconds, so finer ones count as rounded down; a finer literal is not of Spark.

    Args:
        source: of the column.
        common: the type in which the comparison is made.
        zone: of the session.
        step: nanoseconds, to whose multiples values are rounded down.
    """
    digits = 6 if source.precision is None else source.precision
    unit = 10**6 if digits <= 3 else 10**3 if digits <= 6 else 1
    local = source.root is Root.TIMESTAMP and common.root is Root.TIMESTAMP_LTZ

    def seen(nanos: int) -> int:
        rounded = nanos // step * step
        return to_instant(rounded, zone) if local else rounded

    limit = (1 << 63) * (10**6 // unit)  # Java keeps 64 bits of milliseconds, whatever the precision
    return _Scale(-limit, limit - 1, lambda n: n * unit, seen, lambda nanos: nanos // unit)


def _number_cast(common: DataType) -> Callable[[Any], Value]:
    return float if common.root in FLOATS else _same


def _number_near(power: int) -> Callable[[Any], int]:
    """What counts how often 1 / power goes into a number."""

    def near(value: Any) -> int:
        numerator, denominator = value.as_integer_ratio()
        return int(numerator * power // denominator)

    return near


def _same(value: Value) -> Value:
    return value


def _float_at(number: int) -> float:
    """The float of a place in the order of all floats: 0 is 0.0, bits count up from it, one past infinity is NaN."""
    magnitude: float = struct.unpack("<f", struct.pack("<I", abs(number)))[0]
    return -magnitude if number < 0 else magnitude


def _float_number(value: float) -> int:
    """The place of the float that is nearest to a finite number."""
    magnitude: int = struct.unpack("<I", struct.pack("<f", abs(to_float(value, FLOAT))))[0]
    return -magnitude if value < 0 else magnitude
