"""A table that is named by a path, a version or a time: what is refused, and with which advice."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_spark import check, expire_snapshots, open_catalog, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.write.table_write import TableWrite


def test_a_relative_path_without_a_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for asked in (open_table, open_catalog, check):
        with pytest.raises(OptionError, match=r"'one' is relative to the working directory .* removed: write"):
            asked("one")


def test_the_time_that_a_message_shows_can_be_given(tmp_path: Path) -> None:
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())])))
    for day in ("2099-01-01", "2099-01-01 12:30:00", "2099-01"):
        with pytest.raises(OptionError, match="has no zone: add one, such as") as caught:
            open_table(str(tmp_path), timestamp=day)
        shown = re.findall("such as '(.*?)'", str(caught.value))
        with pytest.raises(SnapshotNotFound):  # of an empty table
            open_table(str(tmp_path), timestamp=shown[0]).scan()


@pytest.mark.parametrize(("zone", "offset"), [("Europe/Berlin", "+01:00"), ("America/St_Johns", "-03:30")])
def test_a_time_of_history_is_the_one_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zone: str, offset: str
) -> None:
    """The advice that the message gives leads to the snapshot whose time was given."""
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())])))
    for number in range(2):
        table = open_table(str(tmp_path))
        write = TableWrite(table, "user")
        write.write(pa.record_batch({"id": [number]}))
        TableCommit(table, "user").append(write.finish(), identifier=number)
    with monkeypatch.context() as changed:
        changed.setenv("TZ", zone)
        time.tzset()
        first = open_table(str(tmp_path)).history().to_pylist()[-1]["commit_time"]
        with pytest.raises(OptionError, match=r"the times of this machine") as caught:
            open_table(str(tmp_path), timestamp=first)
        with pytest.raises(OptionError, match=re.escape(f"'2026-01-15 12:00:00{offset}'")):
            open_table(str(tmp_path), timestamp="2026-01-15 12:00:00")
    time.tzset()
    (shown,) = re.findall("such as '(.*?)'", str(caught.value))
    read = open_table(str(tmp_path), timestamp=shown).scan().plan().snapshot
    assert read is not None
    assert read.id == 1


def test_a_number_is_the_id_of_a_snapshot(tmp_path: Path) -> None:
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())])))
    for number in range(2):
        table = open_table(str(tmp_path))
        write = TableWrite(table, "user")
        write.write(pa.record_batch({"id": [number]}))
        TableCommit(table, "user").append(write.finish(), identifier=number)
    create_tag(open_table(str(tmp_path)), "1", 2)
    assert open_table(str(tmp_path), version=1).scan().count() == 1
    assert open_table(str(tmp_path), version="1").scan().count() == 2


def test_seconds_are_no_milliseconds(tmp_path: Path) -> None:
    create_table(str(tmp_path), new_schema(pa.schema([("id", pa.int64())])))
    table = open_table(str(tmp_path))
    with pytest.raises(OptionError, match=r"older_than is 1700000000, .*: milliseconds are expected, .* 1700000000000"):
        expire_snapshots(table, older_than=1_700_000_000)
    expire_snapshots(table, older_than=1_700_000_000_000)
