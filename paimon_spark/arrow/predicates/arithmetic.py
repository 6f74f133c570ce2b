"""Arithmetic of constants in filters, as Spark does it (Spark: Add, Subtract, Multiply, DateAdd, DateAddYMInterval).

What depends on the time, or on the time zone of the session, is refused: a filter must mean the same whenever it runs.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from typing import Any

from paimon_spark.arrow.predicates.literals import (
    DOUBLE,
    INTEGER_BITS,
    MAX_PRECISION,
    Literal,
    decimal_literal,
    fits_integer,
    literal_words,
)
from paimon_spark.arrow.zones import MICRO
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import INTEGERS, Root

_EPOCH = dt.date(1970, 1, 1).toordinal()
_SECOND = 1_000_000 * MICRO
_MONTHS = {"MONTH": 1, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}
_NANOS = {"SECOND": _SECOND, "MINUTE": 60 * _SECOND, "HOUR": 3600 * _SECOND}
_SHORT_DAYS = (Root.TINYINT, Root.SMALLINT, Root.INT)


class Sum(StrEnum):
    """What is calculated."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of time of one unit.

    Attributes:
        months, days, nanos: of which one at most is not 0.
    """

    months: int = 0
    days: int = 0
    nanos: int = 0

    def negated(self) -> Interval:
        return Interval(-self.months, -self.days, -self.nanos)


def interval_of(unit: str, count: int) -> Interval:
    """So many days, months or other units, in singular or plural.

    Raises:
        PredicateError: there is no such unit.
    """
    name = unit.upper().removesuffix("S")
    if name in _MONTHS:
        return Interval(months=count * _MONTHS[name])
    if name in _DAYS:
        return Interval(days=count * _DAYS[name])
    if name in _NANOS:
        return Interval(nanos=count * _NANOS[name])
    raise PredicateError(f"a filter cannot calculate with intervals of the unit {unit}")


def calculate(kind: Sum, left: Literal | Interval, right: Literal | Interval) -> Literal:
    """The sum, difference or product of two constants.

    Raises:
        PredicateError: Spark has no such sum, it is out of range, or it depends on the time zone.
    """
    if isinstance(left, Interval) and isinstance(right, Literal) and kind is Sum.ADD:
        left, right = right, left
    if isinstance(left, Interval):
        raise PredicateError("an interval stands where a value must")
    if isinstance(right, Interval):
        if kind is Sum.MULTIPLY:
            raise PredicateError("a filter cannot multiply intervals")
        return _moved(left, right if kind is Sum.ADD else right.negated())
    if left.value is None or right.value is None:
        raise PredicateError("a filter cannot calculate with NULL")
    if left.type is not None and left.type.root is Root.DATE:
        return _days_later(kind, left, right)
    return _numbers(kind, left, right)


def negated(literal: Literal) -> Literal:
    """A number with the other sign, in the same type.

    Raises:
        PredicateError: it is no number, or too great for the type, as -(-128Y) is.
    """
    value, root = literal.value, None if literal.type is None else literal.type.root
    if isinstance(value, float):
        return Literal(-value, literal.type)
    if isinstance(value, Decimal):
        return Literal(value.copy_negate(), literal.type)  # Python's minus rounds to 28 digits
    if not isinstance(value, int) or root not in INTEGERS:
        raise PredicateError("a minus sign needs a number behind it")
    if not fits_integer(-value, root):
        raise PredicateError(f"the number {-value} of the filter is out of range")
    return Literal(-value, literal.type)


def _moved(moment: Literal, interval: Interval) -> Literal:
    root = None if moment.type is None else moment.type.root
    if root is Root.DATE and isinstance(moment.value, int) and not interval.nanos:
        return Literal(_date_later(moment.value, interval), moment.type)
    is_instant = root is Root.TIMESTAMP_LTZ
    if isinstance(moment.value, int) and (is_instant or root is Root.TIMESTAMP):
        if interval.months or (is_instant and interval.days):
            raise PredicateError("a filter adds months to dates only, and days to dates and local times only")
        return Literal(moment.value + interval.nanos + interval.days * 86_400 * _SECOND, moment.type)
    raise PredicateError(f"a filter cannot add this interval to {literal_words(moment)}")


def _date_later(days: int, interval: Interval) -> int:
    """The day, or the last of its month where the month has no such day."""
    try:
        date = dt.date.fromordinal(days + interval.days + _EPOCH)
        if interval.months:
            year, month = divmod(date.year * 12 + date.month - 1 + interval.months, 12)
            last = calendar.monthrange(year, month + 1)[1]
            date = date.replace(year, month + 1, min(date.day, last))
    except (ValueError, OverflowError):
        raise PredicateError("a date of the filter is not between the years 1 and 9999") from None
    return date.toordinal() - _EPOCH


def _days_later(kind: Sum, date: Literal, number: Literal) -> Literal:
    if number.type is None or number.type.root not in _SHORT_DAYS or kind is Sum.MULTIPLY:
        raise PredicateError(f"a filter cannot calculate with {literal_words(date)} and {literal_words(number)}")
    days = int(str(number.value)) if kind is Sum.ADD else -int(str(number.value))
    return _moved(date, Interval(days=days))


def _numbers(kind: Sum, left: Literal, right: Literal) -> Literal:
    roots = {None if literal.type is None else literal.type.root for literal in (left, right)}
    one, other = str(left.value), str(right.value)
    if roots == {Root.DOUBLE}:
        return Literal(_RESULTS[kind](float(one), float(other)), DOUBLE)
    if roots <= INTEGERS:
        value = _RESULTS[kind](int(one), int(other))
        wider = max((left, right), key=_bits)
        if wider.type is None or not fits_integer(value, wider.type.root):
            raise PredicateError(f"the number {value} of the filter is out of range")
        return Literal(value, wider.type)
    if roots <= {Root.DECIMAL, *INTEGERS}:
        return _decimals(kind, Decimal(one), Decimal(other))
    raise PredicateError(f"a filter cannot calculate with {literal_words(left)} and {literal_words(right)}")


def _bits(literal: Literal) -> int:
    return 0 if literal.type is None else INTEGER_BITS[literal.type.root]


def _decimals(kind: Sum, left: Decimal, right: Decimal) -> Literal:
    """Exact; what Spark may round, having more than 38 digits, is refused."""
    digits = sum(len(value.as_tuple().digits) + abs(int(value.as_tuple().exponent)) for value in (left, right)) + 1
    if digits > MAX_PRECISION:
        raise PredicateError(
            f"a filter cannot calculate with {left} and {right}: the result may need more than 38 digits"
        )
    return decimal_literal(_RESULTS[kind](left, right))


_EXACT = Context(prec=2 * MAX_PRECISION)
_RESULTS: dict[Sum, Callable[[Any, Any], Any]] = {
    Sum.ADD: lambda a, b: _EXACT.add(a, b) if isinstance(a, Decimal) else a + b,
    Sum.SUBTRACT: lambda a, b: _EXACT.subtract(a, b) if isinstance(a, Decimal) else a - b,
    Sum.MULTIPLY: lambda a, b: _EXACT.multiply(a, b) if isinstance(a, Decimal) else a * b,
}
