"""Instants, local clocks, and the ends of the calendar."""

from __future__ import annotations

import datetime as dt
import time
from pathlib import Path

import pytest

from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.json_text import parse_json_object
from paimon_spark.store.holds.retention import epoch_millis
from paimon_spark.store.storage.files import touch_success_file
from paimon_spark.store.storage.local_time import epoch_millis_of_wall, local_wall_millis, moment_at, moment_before_now

SECOND, HOUR = 1000, 3_600_000


def test_instants_beyond_the_calendar_are_at_its_ends() -> None:
    assert moment_at(86_400_000 + 5, dt.UTC) == dt.datetime(1970, 1, 2, 0, 0, 0, 5000, dt.UTC)
    assert moment_at(10**18, dt.UTC).date() == dt.date(9999, 12, 30)
    assert moment_at(-(10**18), dt.UTC).date() == dt.date(1, 1, 2)
    assert moment_at(-1, dt.UTC).date() == dt.date(1969, 12, 31)


def test_a_length_of_time_before_now() -> None:
    early, now, late = (moment_before_now(millis, dt.UTC) for millis in (HOUR, 0, -HOUR))
    assert abs(now.timestamp() - time.time()) < 60
    assert abs((now - early).total_seconds() - 3600) < 60
    assert abs((late - now).total_seconds() - 3600) < 60


def test_the_local_clock_and_back(shanghai: None) -> None:
    for millis in (0, 1, 999, 1_700_000_000_123, -1, -1_000_000_001):
        assert local_wall_millis(millis) == millis + 8 * HOUR
        assert epoch_millis_of_wall(local_wall_millis(millis)) == millis


@pytest.mark.parametrize(
    ("moment", "millis"),
    [
        (dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, dt.UTC), 1500),
        (dt.datetime.min, -62_135_596_800_000),
        (1_700_000_000_123, 1_700_000_000_123),
    ],
)
def test_times_in_arguments(moment: dt.datetime | int, millis: int) -> None:
    assert epoch_millis(moment, "older_than") == millis


def test_a_success_file_has_the_time_of_now_and_keeps_that_of_its_creation(tmp_path: Path) -> None:
    path = f"{tmp_path}/_SUCCESS"
    touch_success_file(LocalFileIO(), path)
    first = parse_json_object(Path(path).read_bytes(), path)
    assert first.integer("creationTime") == first.integer("modificationTime")
    assert abs(first.integer("creationTime") / SECOND - time.time()) < 60
    Path(path).write_text('{"creationTime": 5, "modificationTime": 5}')
    touch_success_file(LocalFileIO(), path)
    again = parse_json_object(Path(path).read_bytes(), path)
    assert again.integer("creationTime") == 5
    assert abs(again.integer("modificationTime") / SECOND - time.time()) < 60
