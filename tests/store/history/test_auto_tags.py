"""Tags that come by themselves: names of periods, which snapshot they keep, how many stay."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.expiring import live_on, new_table

from paimon_spark.errors import OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import decode_snapshot, encode_snapshot
from paimon_spark.store.history.auto_tags import (
    create_due_tags,
    period_before,
    tag_name,
    tag_period,
    trigger_tag_automatic_creation,
)
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.auto_tag_names import auto_tag_time
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.tables.open import open_table

DAY = {"tag.creation-period": "daily"}
HOUR = {"tag.creation-period": "hourly"}


def table_at(path: Path, options: dict[str, str], times: list[str], watermark: bool = False) -> Table:
    """A table with a snapshot at each of the times, in UTC."""
    made = new_table(path / "t", {"sink.process-time-zone": "UTC", **options})
    for time in times:
        live_on(made, "w")
        number = made.snapshots.ids()[-1]
        file = Path(made.location, "snapshot", f"snapshot-{number}")
        millis = int(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * 1000)
        snapshot = decode_snapshot(file.read_bytes(), str(file))
        changed = replace(snapshot, watermark=millis) if watermark else replace(snapshot, time_millis=millis)
        file.write_bytes(encode_snapshot(changed))
    return open_table(made.location)


def tags(table: Table) -> dict[str, int]:
    return {name: tag.snapshot.id for name, tag in table.snapshots.tags().items()}


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (DAY, "2026-11-03"),
        ({**DAY, "tag.period-formatter": "without_dashes"}, "20261103"),
        ({**DAY, "tag.period-formatter": "without_dashes_and_spaces"}, "20261103"),
        (HOUR, "2026-11-04 08"),
        ({**HOUR, "tag.period-formatter": "without_dashes"}, "20261104 08"),
        ({**HOUR, "tag.period-formatter": "without_dashes_and_spaces"}, "2026110408"),
        ({"tag.creation-period": "two-hours"}, "2026-11-04 06"),
        ({"tag.creation-period": "two-hours", "tag.period-formatter": "without_dashes"}, "2026-11-04 06"),
        ({"tag.creation-period-duration": "15 min"}, "202611040930"),
    ],
)
def test_the_name_is_the_begin_of_the_last_whole_period(options: dict[str, str], name: str) -> None:
    given = TableSettings(options)
    begin = period_before(datetime(2026, 11, 4, 9, 59, 59), tag_period(given))
    assert tag_name(begin, given) == name
    assert auto_tag_time(name, given) == begin


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)), st.sampled_from(["daily", "hourly", "two-hours"]))
def test_a_period_is_over_at_the_moment(moment: datetime, period: str) -> None:
    length = tag_period(TableSettings({"tag.creation-period": period}))
    begin = period_before(moment, length)
    assert begin + length <= moment < begin + 2 * length


def test_the_first_snapshot_after_a_period_is_kept(tmp_path: Path) -> None:
    times = ["2026-11-01T10:00", "2026-11-01T23:59", "2026-11-02T00:00", "2026-11-02T12:00", "2026-11-05T01:00"]
    table = table_at(tmp_path, {"tag.automatic-creation": "process-time"}, times)
    assert [made.name for made in trigger_tag_automatic_creation(table).created] == [
        "2026-10-31",
        "2026-11-01",
        "2026-11-04",
    ]
    assert tags(table) == {"2026-10-31": 1, "2026-11-01": 3, "2026-11-04": 5}
    assert create_due_tags(table).created == ()


def test_missed_periods_can_be_made_up_for(tmp_path: Path) -> None:
    """One period a snapshot, as in Java."""
    times = ["2026-11-01T10:00", "2026-11-04T10:00", "2026-11-04T11:00", "2026-11-04T12:00"]
    options = {"tag.automatic-creation": "process-time", "tag.automatic-completion": "true"}
    table = table_at(tmp_path, options, times)
    create_due_tags(table)
    assert tags(table) == {"2026-10-31": 1, "2026-11-01": 2, "2026-11-02": 3, "2026-11-03": 4}


def test_a_delay(tmp_path: Path) -> None:
    times = ["2026-11-01T10:00", "2026-11-01T11:04", "2026-11-01T11:05"]
    options = {"tag.automatic-creation": "process-time", **HOUR, "tag.creation-delay": "5 min"}
    table = table_at(tmp_path, options, times)
    create_due_tags(table)
    assert tags(table) == {"2026-11-01 09": 1, "2026-11-01 10": 3}
    with pytest.raises(OptionError, match="shorter than the period"):
        create_due_tags(table.with_options({"tag.creation-delay": "1 h"}))


def test_the_zone_of_the_clock(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "process-time", "sink.process-time-zone": "Asia/Tokyo"}
    table = table_at(tmp_path, options, ["2026-11-01T20:00"])  # the second of November there
    create_due_tags(table)
    assert tags(table) == {"2026-11-01": 1}


def test_by_watermark(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "watermark", **HOUR}
    table = table_at(tmp_path, options, ["2020-01-01T10:30", "2020-01-01T10:59", "2020-01-01T11:00"], watermark=True)
    live_on(table, "w")
    create_due_tags(table)
    assert tags(table) == {"2020-01-01 09": 1, "2020-01-01 10": 3}


def test_only_so_many_stay(tmp_path: Path) -> None:
    times = [f"2026-11-0{day}T10:00" for day in range(1, 6)]
    table = table_at(tmp_path, {"tag.automatic-creation": "process-time", "tag.num-retained-max": "2"}, times)
    create_tag(table, "mine", 1)
    done = create_due_tags(table)
    assert done.deleted == ("2026-10-31", "2026-11-01", "2026-11-02")
    assert tags(table) == {"mine": 1, "2026-11-03": 4, "2026-11-04": 5}


def test_tags_of_batches(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"tag.automatic-creation": "batch", "sink.process-time-zone": "UTC"})
    live_on(table, "w")
    maintain(table)
    live_on(table, "w")
    maintain(table)
    today = datetime.fromtimestamp(table.snapshots.load(2).time_millis / 1000, UTC).date()
    assert tags(table) == {f"batch-write-{today}": 2}
    named = table.with_options({"tag.batch.customized-name": "nightly", "tag.num-retained-max": "1"})
    live_on(table, "w")
    maintain(named)
    assert tags(table) == {"nightly": 3}


def test_tags_follow_a_commit(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "process-time", "write-only": "false", "tag.default-time-retained": "1 d"}
    table = table_at(tmp_path, options, ["2026-11-01T10:00"])
    maintain(table)
    assert tags(table) == {"2026-10-31": 1}
    tag = table.snapshots.find_tag("2026-10-31")
    assert tag is not None
    assert tag.time_retained == timedelta(days=1) // timedelta(microseconds=1) * 1000


@pytest.mark.parametrize("period", ["9999999 d", "0 s", "9223372036854775807 ms"])
def test_a_period_that_no_tag_can_name(tmp_path: Path, period: str) -> None:
    table = table_at(tmp_path, {"tag.creation-period-duration": period}, ["2026-11-01T10:00"])
    daily = replace(table, settings=table.settings.merged({"tag.automatic-creation": "process-time"}))
    with pytest.raises(OptionError, match=r"'tag.creation-period-duration' is .*: expected a length of time above 0"):
        create_due_tags(daily)


def test_a_delay_beyond_the_calendar(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "process-time", "tag.creation-delay": "9223372036854775807 ms"}
    with pytest.raises(OptionError, match="it must be shorter than the period, 1 day"):
        create_due_tags(table_at(tmp_path, options, ["2026-11-01T10:00"]))


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_tags_whose_time_is_up_go_with_those_that_come(tmp_path: Path, enabled: str) -> None:
    table = table_at(tmp_path, {"tag.time-expire-enabled": enabled}, ["2026-11-04 08:00:00"])
    create_tag(table, "short", time_retained=timedelta())
    create_tag(table, "long", time_retained=timedelta(days=1))
    done = trigger_tag_automatic_creation(table)
    assert (done.created, done.deleted) == ((), ("short",) if enabled == "true" else ())
    assert set(tags(table)) == ({"long"} if enabled == "true" else {"long", "short"})


def test_a_snapshot_without_a_watermark_makes_no_tag(tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "watermark", **DAY}
    table = table_at(tmp_path, options, ["2026-11-04 08:00:00"])
    assert create_due_tags(table).created == ()
    marked = table_at(tmp_path / "marked", options, ["2026-11-04 08:00:00"], watermark=True)
    assert list(tags(marked)) == []
    assert len(create_due_tags(marked).created) == 1
    assert tags(marked) == {"2026-11-03": 1}
