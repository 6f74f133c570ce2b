"""Patterns of times: what Java's DateTimeFormatter reads, and what it refuses."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import OptionError
from paimon_spark.format.java.text import civil_date, civil_days
from paimon_spark.format.java.time_pattern import DEFAULT_PATTERN, TimePattern, time_pattern

EPOCH = datetime(1970, 1, 1)
SECOND = 10**9


def nanos(year: int, month: int, day: int, *time: int) -> int:
    return (datetime(year, month, day, *time) - EPOCH) // timedelta(microseconds=1) * 1000


def pattern(text: str) -> TimePattern:
    return time_pattern(text, "partition.timestamp-formatter")


@pytest.mark.parametrize(
    ("letters", "text", "time"),
    [
        ("yyyyMMdd", "20261101", (2026, 11, 1)),
        ("yyyyMMddHH", "2026110123", (2026, 11, 1, 23)),
        ("yyyyMMddHHmmss", "20261101235958", (2026, 11, 1, 23, 59, 58)),
        ("yyyyMMddHHmmssSSS", "20261101235958007", (2026, 11, 1, 23, 59, 58, 7000)),
        ("yyyy-MM-dd", "2026-11-01", (2026, 11, 1)),
        ("yyyy-MM-dd HH:mm:ss", "2026-11-01 10:20:30", (2026, 11, 1, 10, 20, 30)),
        ("yyyy-MM-dd'T'HH:mm", "2026-11-01T10:20", (2026, 11, 1, 10, 20)),
        ("yyyy-MM-dd[ HH[:mm]]", "2026-11-01", (2026, 11, 1)),
        ("yyyy-MM-dd[ HH[:mm]]", "2026-11-01 10", (2026, 11, 1, 10)),
        ("yyyy-MM-dd[ HH[:mm]]", "2026-11-01 10:20", (2026, 11, 1, 10, 20)),
        ("y/M/d", "2026/1/1", (2026, 1, 1)),
        ("yyMMdd", "261101", (2026, 11, 1)),
        ("yyyyDDD", "2026032", (2026, 2, 1)),
        ("dd MMM yyyy", "01 Nov 2026", (2026, 11, 1)),
        ("dd MMMM yyyy", "01 Nov 2026", (2026, 11, 1)),  # no language: the long names are short ones
        ("yyyyMMdd hh a", "20261101 12 AM", (2026, 11, 1, 0)),
        ("yyyyMMdd hh a", "20261101 11 PM", (2026, 11, 1, 23)),
        ("yyyyMMdd K a", "20261101 0 PM", (2026, 11, 1, 12)),
        ("yyyyMMdd a", "20261101 PM", (2026, 11, 1, 18)),
        ("yyyyMMdd kk", "20261101 24", (2026, 11, 1, 0)),
        ("yyyyMMdd HH", "20261101 24", (2026, 11, 2, 0)),
        ("yyyyMMdd A", "20261101 3600000", (2026, 11, 1, 1)),
        ("yyyyMMdd mm", "20261101 59", (2026, 11, 1)),  # minutes of no hour
        ("yyyyMMdd", "20260231", (2026, 2, 28)),
        ("yyyy''MM''dd", "2026'11'01", (2026, 11, 1)),
        ("'o''clock' HH yyyyMMdd", "o'clock 07 20261101", (2026, 11, 1, 7)),
        ("yyyyMMdd yyyy", "20261101 2026", (2026, 11, 1)),
    ],
)
def test_times(letters: str, text: str, time: tuple[int, ...]) -> None:
    assert pattern(letters).parse(text) == nanos(*time)


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        ("yyyyMMdd", ""),
        ("yyyyMMdd", "2026-11-01"),
        ("yyyyMMdd", "20261301"),
        ("yyyyMMdd", "20261132"),
        ("yyyyMMdd", "20261101 "),
        ("yyyyMMdd", "2026\uff11\uff1101"),
        ("yyyyMMdd", "120261101"),
        ("yyyyMM", "202611"),
        ("HH:mm", "10:20"),
        ("yyyyMMdd HH", "20261101 25"),
        ("yyyyMMdd HH:mm", "20261101 24:01"),
        ("yyyyMMdd hh a", "20261101 13 PM"),
        ("yyyyMMdd hh a", "20261101 11 pm"),
        ("dd MMM yyyy", "01 November 2026"),
        ("yyyyMMdd yyyy", "20261101 2025"),
        ("yyyyMMdd DDD", "20261101 001"),
        ("yyyy-MM-dd", "-0001-11-01"),
        ("yyyyDDD", "2026366"),
        ("__yyyyMMdd", "__DEFAULT_PARTITION__"),
    ],
)
def test_texts_that_say_no_time(letters: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        pattern(letters).parse(text)


@pytest.mark.parametrize(
    ("letters", "why"),
    [
        ("yyyy-ww", "'w' is not supported"),
        ("YYYY", "'Y' is not supported"),
        ("yyyyMMddXXX", "'X' is not supported"),
        ("MMMMM", "5 letters 'M'"),
        ("ddd", "3 letters 'd'"),
        ("aa", "2 letters 'a'"),
        ("SSSSSSSSSS", "10 letters 'S'"),
        ("y" * 20, "20 letters 'y'"),
        ("yyyy'T", "quote is not closed"),
        ("'''", "quote is not closed"),
        ("yyyy]", "has no '\\['"),
        ("yyyy#", "'#' is reserved"),
    ],
)
def test_what_is_no_pattern(letters: str, why: str) -> None:
    with pytest.raises(OptionError, match=f"partition.timestamp-formatter.*{why}"):
        pattern(letters)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-01", (2026, 11, 1)),
        ("2026-1-1", (2026, 1, 1)),
        ("2026-11-01 1:2:3", (2026, 11, 1, 1, 2, 3)),
        ("2026-11-01 01:02:03.5", (2026, 11, 1, 1, 2, 3, 500_000)),
        ("2026-13-32", (2027, 2, 1)),  # carried over
        ("2026-11-01 24:60:61", (2026, 11, 2, 1, 1, 1)),
        ("2026-0-0", (2025, 11, 30)),
        ("2026-01-01 -1:00:00", (2025, 12, 31, 23)),
    ],
)
def test_without_a_pattern(text: str, time: tuple[int, ...]) -> None:
    assert DEFAULT_PATTERN.parse(text) == nanos(*time)


@pytest.mark.parametrize(
    "text", ["", "20261101", "2026-11", "2026-11-01 10", "2026-11-01T10:00:00", "2026-11-001", "x"]
)
def test_without_a_pattern_not_a_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        DEFAULT_PATTERN.parse(text)


def test_years_beyond_python() -> None:
    assert pattern("yyyyMMdd").parse("+123450101") == civil_days(12345, 1, 1) * 86_400 * SECOND
    assert DEFAULT_PATTERN.parse("-5-1-1") == civil_days(-5, 1, 1) * 86_400 * SECOND
    with pytest.raises(ValueError, match="year"):
        DEFAULT_PATTERN.parse("999999999-13-01")


@given(st.integers(-(10**9), 10**9))
def test_days_and_dates(days: int) -> None:
    assert civil_days(*civil_date(days)) == days


@given(st.datetimes(min_value=datetime(1000, 1, 1)), st.sampled_from(["%Y%m%d%H%M%S%f", "%Y-%m-%d %H:%M:%S.%f"]))
def test_what_python_prints(moment: datetime, form: str) -> None:
    letters = {"%Y": "yyyy", "%m": "MM", "%d": "dd", "%H": "HH", "%M": "mm", "%S": "ss", "%f": "SSSSSS"}
    java = form
    for code, letter in letters.items():
        java = java.replace(code, letter)
    expected = (moment - EPOCH) // timedelta(microseconds=1) * 1000
    assert pattern(java).parse(moment.strftime(form)) == expected
