"""Resolves parsed fields, such as year and hour, to a local time (java.time.format.Parsed, IsoChronology)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from paimon_spark.format.java.text import civil_date, civil_days

_MILLI, _SECOND = 10**6, 10**9
_MINUTE, _HOUR, _DAY = 60 * _SECOND, 3600 * _SECOND, 86_400 * _SECOND
_LAST_YEAR = 999_999_999


class Field(StrEnum):
    """A field that a pattern can contain; its value is the pattern letter."""

    YEAR = "u"
    YEAR_OF_ERA = "y"
    MONTH = "M"
    DAY = "d"
    DAY_OF_YEAR = "D"
    HALF = "a"
    HOUR = "H"
    CLOCK_HOUR = "k"
    HOUR_OF_HALF = "K"
    CLOCK_HOUR_OF_HALF = "h"
    MINUTE = "m"
    SECOND = "s"
    NANO = "n"
    MILLI_OF_DAY = "A"
    NANO_OF_DAY = "N"


_RANGES = {
    Field.YEAR: (-_LAST_YEAR, _LAST_YEAR), Field.YEAR_OF_ERA: (1, _LAST_YEAR + 1), Field.MONTH: (1, 12),
    Field.DAY: (1, 31), Field.DAY_OF_YEAR: (1, 366), Field.HALF: (0, 1), Field.HOUR: (0, 23), Field.CLOCK_HOUR: (1, 24),
    Field.HOUR_OF_HALF: (0, 11), Field.CLOCK_HOUR_OF_HALF: (1, 12), Field.MINUTE: (0, 59), Field.SECOND: (0, 59),
    Field.NANO: (0, _SECOND - 1), Field.MILLI_OF_DAY: (0, 86_400_000 - 1), Field.NANO_OF_DAY: (0, _DAY - 1),
}  # fmt: skip
_TIMES = (Field.HOUR, Field.MINUTE, Field.SECOND, Field.NANO)
_OF_DATES = frozenset({Field.YEAR, Field.YEAR_OF_ERA, Field.MONTH, Field.DAY, Field.DAY_OF_YEAR})


def local_nanos(fields: Mapping[Field, int], lenient: bool) -> int:
    """Nanoseconds from 1970-01-01 00:00 to a local time, of any year.

    Args:
        fields: the fields of a text. Missing fields of the time of day are zero; without an hour it is midnight.
        lenient: True: numbers may be too big and carry over, so day 32 is the first of the next month. False: they must
            be in range, except that a day past the end of its month means its last day.

    Raises:
        ValueError: they do not make up a date, or contradict each other.
    """
    left = dict(fields)
    days = _take_date(left, lenient)
    nanos = _take_time(left, lenient)
    _check_rest(left, days, nanos)
    if abs(civil_date(days + (nanos or 0) // _DAY)[0]) > _LAST_YEAR:
        raise ValueError("there is no such year")
    return days * _DAY + (nanos or 0)


def _take_date(left: dict[Field, int], lenient: bool) -> int:
    """The day number of a date. Removes the fields that it is made of."""
    of_era = left.pop(Field.YEAR_OF_ERA, None)
    if of_era is not None:
        if not lenient:
            _checked(Field.YEAR_OF_ERA, of_era)
        before = left.get(Field.YEAR)
        _put(left, Field.YEAR, of_era if before is None or before > 0 else 1 - of_era)
    if Field.YEAR not in left or not (left.keys() >= {Field.MONTH, Field.DAY} or Field.DAY_OF_YEAR in left):
        raise ValueError("it has no date")
    year = _checked(Field.YEAR, left.pop(Field.YEAR))
    if left.keys() >= {Field.MONTH, Field.DAY}:
        return _day_of_month(year, left.pop(Field.MONTH), left.pop(Field.DAY), lenient)
    day = left.pop(Field.DAY_OF_YEAR)
    found = civil_days(year, 1, 1) + (day if lenient else _checked(Field.DAY_OF_YEAR, day)) - 1
    if not lenient and civil_date(found)[0] != year:
        raise ValueError("the year has no such day")
    return found


def _day_of_month(year: int, month: int, day: int, lenient: bool) -> int:
    if lenient:
        years, months = divmod(month - 1, 12)
        return civil_days(year + years, months + 1, 1) + day - 1
    _checked(Field.MONTH, month)
    _checked(Field.DAY, day)
    next_month = civil_days(year + month // 12, month % 12 + 1, 1)
    return min(civil_days(year, month, day), next_month - 1)


def _take_time(left: dict[Field, int], lenient: bool) -> int | None:
    """Nanoseconds of the day, outside of one day where it carries over; None: the fields have no time."""
    _simplify(left, lenient)
    if not left.keys() & set(_TIMES) and Field.HALF in left:
        half = left.pop(Field.HALF)
        return ((half if lenient else _checked(Field.HALF, half)) * 12 + 6) * _HOUR  # Java: the middle of the half
    _, has_minute, has_second, has_nano = (field in left for field in _TIMES)
    has_gap = has_nano > has_second if has_minute else has_second or has_nano
    if Field.HOUR in left and has_gap:
        return None  # Java does not look at them
    if Field.HOUR not in left:
        for field in () if lenient else left.keys() - _OF_DATES:
            _checked(field, left[field])
        return None
    hour, minute = left.pop(Field.HOUR), left.pop(Field.MINUTE, 0)
    second, nano = left.pop(Field.SECOND, 0), left.pop(Field.NANO, 0)
    if not lenient and (hour, minute, second, nano) != (24, 0, 0, 0):
        for field, value in zip(_TIMES, (hour, minute, second, nano), strict=True):
            _checked(field, value)
    return hour * _HOUR + minute * _MINUTE + second * _SECOND + nano


def _simplify(left: dict[Field, int], lenient: bool) -> None:
    """Replaces all fields of the time of day by hour, minute, second and nanosecond."""
    for clock, plain, last in (
        (Field.CLOCK_HOUR, Field.HOUR, 24),
        (Field.CLOCK_HOUR_OF_HALF, Field.HOUR_OF_HALF, 12),
    ):
        if clock in left:
            hour = left.pop(clock)
            if not lenient and hour:
                _checked(clock, hour)
            _put(left, plain, 0 if hour == last else hour)
    if left.keys() >= {Field.HALF, Field.HOUR_OF_HALF}:
        half, hour = left.pop(Field.HALF), left.pop(Field.HOUR_OF_HALF)
        if not lenient:
            _checked(Field.HALF, half)
            _checked(Field.HOUR_OF_HALF, hour)
        _put(left, Field.HOUR, half * 12 + hour)
    for field, unit in ((Field.NANO_OF_DAY, 1), (Field.MILLI_OF_DAY, _MILLI)):
        if field not in left:
            continue
        nanos = (left.pop(field) if lenient else _checked(field, left.pop(field))) * unit
        if unit == _MILLI:  # says nothing of what is below
            nanos += left.get(Field.NANO, 0) % _MILLI
        for part, length in ((Field.HOUR, _HOUR), (Field.MINUTE, _MINUTE), (Field.SECOND, _SECOND), (Field.NANO, 1)):
            _put(left, part, nanos // length)
            nanos %= length


def _check_rest(left: Mapping[Field, int], days: int, nanos: int | None) -> None:
    """Checks that the fields that are left agree with the date and the time; raises ValueError if not."""
    year, month, day = civil_date(days)
    known = {Field.YEAR: year, Field.MONTH: month, Field.DAY: day, Field.DAY_OF_YEAR: days - civil_days(year, 1, 1) + 1}
    if nanos is not None:
        hour = nanos % _DAY // _HOUR
        known |= {Field.HALF: hour // 12, Field.HOUR_OF_HALF: hour % 12}
    for field in left.keys() & known.keys():
        if left[field] != known[field]:
            raise ValueError("it contradicts itself")


def _put(left: dict[Field, int], field: Field, value: int) -> None:
    if left.setdefault(field, value) != value:
        raise ValueError("it contradicts itself")


def _checked(field: Field, value: int) -> int:
    low, high = _RANGES[field]
    if not low <= value <= high:
        raise ValueError(f"{value} is out of the range {low} to {high}")
    return value
