"""One time zone for what a command is given and what it prints."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
from contextvars import copy_context
from pathlib import Path

import pyarrow as pa
import pytest
from support.programs.command_line import ENVIRONMENT, PROGRAM, command
from support.tables.compacting import make, write

from paimon_spark.cli.arguments import choose_zone
from paimon_spark.cli.values import json_values
from paimon_spark.tables.open import open_table

ROWS = (
    (1, dt.datetime(2026, 10, 31, 23, 30, tzinfo=dt.UTC)),  # 00:30 on 1 November in Berlin
    (2, dt.datetime(2026, 10, 25, 0, 30, tzinfo=dt.UTC)),  # 02:30 in Berlin, the first of two
    (3, dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)),  # 02:30, the second
)
BERLIN = ("--time-zone", "Europe/Berlin")
JSON = ("--output", "json")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    made = make(
        tmp_path / "t", pa.schema([("k", pa.int32()), ("ts", pa.timestamp("ms", "UTC"))]), ("k",), {"bucket": "1"}
    )
    write(made, ROWS[:1])
    write(made, ROWS[1:])
    return tmp_path / "t"


def test_rows(table: Path) -> None:
    rows = command("read", table, *JSON, *BERLIN).documents
    assert [row["ts"] for row in rows] == [
        "2026-11-01T00:30:00.000+01:00",
        "2026-10-25T02:30:00.000+02:00",
        "2026-10-25T02:30:00.000+01:00",
    ]
    chosen = command("read", table, "--where", "ts >= '2026-11-01'", "--columns", "k", *JSON, *BERLIN)
    assert chosen.documents == [{"k": 1}]
    assert command("read", table, "--where", "ts >= '2026-11-01'", *JSON, "--time-zone", "UTC").documents == []
    assert "2026-11-01T00:30:00.000+01:00" in command("diff", table, "0", *BERLIN).out


def test_times_of_snapshots_go_in_as_they_come_out(table: Path) -> None:
    millis = [open_table(str(table)).snapshots.load(number).time_millis for number in (1, 2)]
    for zone, offset in (("Asia/Kathmandu", "+05:45"), ("-03:30", "-03:30"), ("UTC", "+00:00")):
        given = ("--time-zone", zone)
        listed = [row["commit_time"] for row in command("snapshots", table, *JSON, *given).document]
        told = command("info", table, *JSON, *given).document
        assert [told["first"]["time"], told["last"]["time"]] == listed
        assert [round(dt.datetime.fromisoformat(time).timestamp() * 1000) for time in listed] == millis
        assert {time[-6:] for time in listed} == {offset}
        assert f"{listed[0][:19].replace('T', ' ')}{offset}" in command("info", table, *given).out
        for time in (listed[0], listed[0][:-6]):  # with its offset, and by the zone of the call
            assert [row["k"] for row in command("read", table, "--at", time, *JSON, *given).documents] == [1]
            since = command("snapshots", table, "--where", f"commit_time > '{time}'", *JSON, *given).document
            assert [row["snapshot_id"] for row in since] == [2]
        assert command("read", f"{table}$snapshots", *JSON, *given).documents[0]["commit_time"] == listed[0]
    late = (dt.datetime.fromtimestamp(millis[1] / 1000, dt.UTC) + dt.timedelta(hours=1)).strftime("%Y-%m-%d %H:%M:%S")
    assert "nothing to do" in command("orphans", table, "--older-than", late, "--time-zone", "+02:00").out
    refused = command("read", table, "--at", late, "--time-zone", "+12:00")  # before the first snapshot there
    assert refused.code == 2
    assert f"as of {late}.000+12:00" in refused.err


def test_the_zone_of_the_machine_is_meant_if_none_is_named(table: Path) -> None:
    command_line = [*PROGRAM, "read", str(table), "--where", "ts >= '2026-11-01'", *JSON]
    printed = [
        subprocess.run(command_line, env={**ENVIRONMENT, "TZ": zone}, capture_output=True, text=True, check=True).stdout
        for zone in ("Europe/Berlin", "UTC")
    ]
    assert [list(map(json.loads, text.splitlines())) for text in printed] == [
        [{"k": 1, "ts": "2026-11-01T00:30:00.000+01:00"}],
        [],
    ]
    shown = command("read", table, *JSON).documents[0]["ts"]  # after other calls of this process named others
    assert dt.datetime.fromisoformat(shown) == ROWS[0][1]
    assert dt.datetime.fromisoformat(shown).utcoffset() == ROWS[0][1].astimezone().utcoffset()


def test_partitions_are_chosen_in_the_zone(tmp_path: Path) -> None:
    columns = pa.schema([("k", pa.int32()), ("ts", pa.timestamp("ms", "UTC"))])
    made = make(tmp_path / "t", columns, ("k", "ts"), {"bucket": "1"}, ("ts",))
    write(made, ROWS)
    copied = command("copy", made.location, tmp_path / "copy", "--where", "ts >= '2026-11-01'", *BERLIN)
    assert copied.code == 0
    assert [row["k"] for row in command("read", tmp_path / "copy", *JSON).documents] == [1]
    write(made, ROWS)
    compacted = command("compact", made.location, "--where", "ts >= '2026-11-01'", "--processes", "1", *JSON, *BERLIN)
    assert compacted.document["buckets"] == 1


def test_a_wrong_zone_is_said(table: Path) -> None:
    printed = command("read", table, "--time-zone", "Berlin")
    assert printed.code == 2
    assert "no time zone 'Berlin'" in printed.err
    assert "--time-zone" in command("compact", "--help").out


def test_edges_of_time() -> None:
    edges = pa.array([-62_135_596_800_000_000, 253_402_300_799_999_999, None], pa.timestamp("us", "UTC"))

    def shown(zone: str) -> list[str | None]:
        choose_zone(zone)
        return json_values(edges)

    utc, berlin = (copy_context().run(shown, zone) for zone in ("UTC", "Europe/Berlin"))
    assert utc == ["0001-01-01T00:00:00.000000+00:00", "9999-12-31T23:59:59.999999+00:00", None]
    assert berlin == ["0001-01-01T00:53:28.000000+00:53:28", "10000-01-01T00:59:59.999999+01:00", None]


def test_help_names_the_zone(table: Path) -> None:
    for name in ("read", "snapshots", "info", "diff", "expire", "create-tag", "rollback"):
        told = " ".join(command(name, "--help").out.split())
        assert "--time-zone" in told
        assert "else that of this machine" in told
