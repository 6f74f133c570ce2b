"""Texts as values, by the rules of Spark's ANSI casts (Spark: SparkDateTimeUtils, Cast, UTF8String).

Each ``parse_`` function returns an internal value and raises ValueError where Spark's cast would fail. Words that Spark
resolves by the clock (``now``, ``today``) and times without a date are refused, so that a filter means the same every
day.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal, InvalidOperation

from paimon_spark.arrow.zones import DAY, MICRO, SECOND, find_zone, to_instant

_SPACE = "".join(map(chr, range(0x21))) + "\x7f"
_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL | re.ASCII)
_TIMESTAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})"
    r"(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d.].*)?)?)?)?)?)?",
    re.DOTALL | re.ASCII,
)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?[df]?", re.ASCII | re.IGNORECASE)
_FLOAT_WORDS = {
    "nan": "nan", "inf": "inf", "+inf": "inf", "infinity": "inf", "+infinity": "inf", "-inf": "-inf",
    "-infinity": "-inf",
}  # fmt: skip
_TRUE = frozenset({"t", "true", "y", "yes", "1"})
_FALSE = frozenset({"f", "false", "n", "no", "0"})
_EPOCH = dt.date(1970, 1, 1)


def parse_integer(text: str) -> int:
    text = text.strip(_SPACE)
    if not _INTEGER.fullmatch(text):
        raise ValueError("it is not a whole number")
    return int(text)


def parse_float(text: str) -> float:
    text = text.strip(_SPACE).lower()
    if text in _FLOAT_WORDS:
        return float(_FLOAT_WORDS[text])
    if not _FLOAT.fullmatch(text):
        raise ValueError("it is not a number")
    return float(text.rstrip("df"))


def parse_decimal(text: str) -> Decimal:
    try:
        value = Decimal(text.strip(_SPACE))
    except InvalidOperation:
        raise ValueError("it is not a number") from None
    if not value.is_finite():
        raise ValueError("it is not a finite number")
    return value


def parse_boolean(text: str) -> bool:
    word = text.strip(_SPACE).lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("it is neither true nor false")
    return word in _TRUE


def parse_date(text: str) -> int:
    """Days since 1970-01-01 of ``[+-]yyyy[-m[-d]]``; after a full date, anything behind a blank or a T is ignored."""
    found = _DATE.fullmatch(text.strip(_SPACE))
    if not found:
        raise ValueError("it is not a date like 2026-11-01")
    sign, year, month, day = found.groups()
    return _days(int(sign + year), int(month or 1), int(day or 1))


def parse_timestamp(text: str, zone: dt.tzinfo) -> int:
    """Nanoseconds since the epoch of a date and time, cut to microseconds; one without a zone is read in ``zone``."""
    local, written = _parse_local(text)
    return _in_range(to_instant(local, find_zone(written) if written else zone))


def parse_local_timestamp(text: str) -> int:
    """Nanoseconds of a local date and time, as if it were UTC. A zone in the text must be valid, and is ignored."""
    local, written = _parse_local(text)
    if written:
        find_zone(written)
    return _in_range(local)


def _in_range(nanos: int) -> int:
    if not -(1 << 63) <= nanos // MICRO < 1 << 63:
        raise ValueError("there is no such timestamp")
    return nanos


def _parse_local(text: str) -> tuple[int, str]:
    found = _TIMESTAMP.fullmatch(text.strip(_SPACE))
    if not found:
        raise ValueError("it is not a date and time like 2026-11-01 12:30:00")
    sign, year, month, day, hour, minute, second, fraction, zone = found.groups()
    days = _days(int(sign + year), int(month or 1), int(day or 1))
    time = _time_of_day(int(hour or 0), int(minute or 0), int(second or 0))
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return days * DAY + time * SECOND + micros * MICRO, (zone or "").strip(_SPACE)


def parse_time(text: str) -> int:
    """Milliseconds of the day of ``h:m[:s[.fraction]]``."""
    found = _TIME.fullmatch(text.strip(_SPACE))
    if not found:
        raise ValueError("it is not a time like 12:30:00")
    hour, minute, second, fraction = found.groups()
    nanos = int((fraction or "").ljust(9, "0"))
    if nanos % 1_000_000:
        raise ValueError("TIME columns hold whole milliseconds")
    return _time_of_day(int(hour), int(minute), int(second or 0)) * 1000 + nanos // 1_000_000


def _time_of_day(hour: int, minute: int, second: int) -> int:
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("there is no such time of day")
    return (hour * 60 + minute) * 60 + second


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar, also of years that datetime does not have."""
    cycle = (year - 1) // 400  # the calendar repeats every 400 years
    try:
        return dt.date(year - 400 * cycle, month, day).toordinal() + cycle * 146_097 - _EPOCH.toordinal()
    except ValueError:
        raise ValueError("there is no such day") from None
