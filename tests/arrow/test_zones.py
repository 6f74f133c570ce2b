"""Names of time zones, local times and instants; Spark itself is asked in tests/spark/test_conditions_in_zones.py."""

import datetime as dt
import os
import pickle
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paimon_spark.arrow.predicates.literal_text import parse_local_timestamp
from paimon_spark.arrow.zones import SECOND, LocalZone, ZoneUnknown, find_zone, session_zone, to_instant, to_local
from paimon_spark.errors import OptionError

HOUR = 3600 * SECOND


@pytest.mark.parametrize(
    ("name", "minutes"),
    [
        ("Z", 0), ("UTC", 0), ("GMT", 0), ("UT", 0), ("+1", 60), ("+01", 60), ("+1:30", 90), ("+01:3", 63),
        ("+0130", 90), ("-03:30", -210), ("GMT-03:30", -210), ("UTC+1", 60), ("UT+01:00", 60), ("+18:00", 1080),
        ("EST", -300),
        ("HST", -600), ("MST", -420), ("+01:00:00", 60), ("Asia/Kolkata", 330), ("IST", 330), ("JST", 540),
        ("BST", 360),
    ],
)  # fmt: skip
def test_names_of_zones(name: str, minutes: int) -> None:
    assert dt.datetime(2026, 1, 1, tzinfo=find_zone(name)).utcoffset() == dt.timedelta(minutes=minutes)


@pytest.mark.parametrize(
    "name",
    [
        "+18:01", "+19", "+1:60", "+100", "+01:3000", "+13000", "Nowhere", "America", "/etc/passwd", "../UTC", "",
        "utc", "UTC+", "UTC 1", "posix/Europe/Berlin", "right/UTC", "localtime", "ROC", "+01:00:61", " UTC",
        "Europe/Berlin ",
    ],
)  # fmt: skip
def test_unknown_zones(name: str) -> None:
    with pytest.raises(ValueError, match=r"zone|offset"):
        find_zone(name)
    with pytest.raises(OptionError, match="Europe/Paris"):
        session_zone(name)


def test_a_zone_that_is_not_known_cannot_be_used() -> None:
    zone = session_zone(None)
    with pytest.raises(ZoneUnknown):
        to_instant(0, zone)
    with pytest.raises(ZoneUnknown):
        to_local(0, zone)


@pytest.mark.parametrize(
    ("text", "zone", "offset"),
    [  # Java's ZonedDateTime.of gives the same
        ("2026-10-25 02:30:00", "Europe/Berlin", 2 * HOUR),  # comes twice: the first
        ("2026-03-29 02:30:00", "Europe/Berlin", 1 * HOUR),  # is left out: 03:30 in summer time
        ("0001-01-01 00:00:00", "Europe/Berlin", 53 * 60 * SECOND + 28 * SECOND),
        ("1942-07-05 12:00:00", "Europe/Stockholm", 2 * HOUR),  # of Berlin, with which it is merged
        ("1942-07-05 12:00:00", "Africa/Accra", 0),
        ("1850-06-01 12:00:00", "CET", 17 * 60 * SECOND + 30 * SECOND),
        ("9999-12-31 23:59:59", "Australia/Sydney", 11 * HOUR),
        ("12026-07-01 00:00:00", "Europe/Berlin", 2 * HOUR),  # the calendar repeats
        ("12026-01-01 00:00:00", "Europe/Berlin", 1 * HOUR),
        ("2011-12-30 12:00:00", "Pacific/Apia", -10 * HOUR),  # a whole day is left out
    ],
)
def test_local_times_as_instants(text: str, zone: str, offset: int) -> None:
    local = parse_local_timestamp(text)
    assert local - to_instant(local, find_zone(zone)) == offset


@pytest.fixture(params=["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def local_name(request: pytest.FixtureRequest) -> Iterator[str]:
    before = os.environ.get("TZ")
    os.environ["TZ"] = request.param
    time.tzset()
    yield request.param
    os.environ.pop("TZ")
    if before is not None:
        os.environ["TZ"] = before
    time.tzset()


def test_the_zone_of_this_process_is_the_one_of_that_name(local_name: str) -> None:
    local, named = LocalZone(), find_zone(local_name)
    assert isinstance(pickle.loads(pickle.dumps(local)), LocalZone)

    @given(st.integers(-62_000_000_000, 253_000_000_000) | st.integers(1_760_000_000, 1_820_000_000))
    @example(parse_local_timestamp("2026-03-29 02:30:00") // SECOND)
    @example(parse_local_timestamp("2026-10-25 02:30:00") // SECOND)
    @example(parse_local_timestamp("2026-11-01 01:30:00") // SECOND)
    def agrees(seconds: int) -> None:
        nanos = seconds * SECOND
        assert to_instant(nanos, local) == to_instant(nanos, named)
        assert to_local(nanos, local) == to_local(nanos, named)

    agrees()


def test_a_region_is_a_value() -> None:
    zone = find_zone("Europe/Stockholm")
    assert pickle.loads(pickle.dumps(zone)) == zone
    assert (str(zone), zone.utcoffset(None)) == ("Europe/Stockholm", None)
    moment = dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC).astimezone(zone)
    assert (moment.hour, moment.utcoffset()) == (2, dt.timedelta(hours=2))
    assert moment.astimezone(dt.UTC) == dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)
    later = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC).astimezone(zone)
    assert (later.hour, later.fold, later.utcoffset()) == (2, 1, dt.timedelta(hours=1))
