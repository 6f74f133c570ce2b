"""What follows a commit: when, where, and that it never makes the commit fail."""

from __future__ import annotations

import logging
import signal
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from support.faults.faulty_store import FaultyFileIO, exit_code_of
from support.tables.expiring import KEEP_TWO, live_on, new_table

from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import finish_maintenance, maintain
from paimon_spark.tables.open import open_table


def lived(path: Path, **more: str) -> Table:
    table = new_table(path / "t", KEEP_TWO)
    live_on(table, "wwww")
    return open_table(table.location, {"write-only": "false", **{k.replace("_", "-"): v for k, v in more.items()}})


def test_snapshots_expire_by_the_options(tmp_path: Path) -> None:
    table = lived(tmp_path)
    maintain(table)
    assert table.snapshots.ids() == [3, 4]


def test_changelogs_expire_after_them(tmp_path: Path) -> None:
    limits = {"changelog.num-retained.min": "3", "changelog.num-retained.max": "3"}
    table = lived(tmp_path).with_options(limits)
    maintain(table)
    assert table.snapshots.ids() == [3, 4]
    assert sorted(p.name for p in Path(table.location, "changelog").glob("changelog-*")) == ["changelog-2"]


def test_a_writer_that_only_writes_leaves_it_to_others(tmp_path: Path) -> None:
    table = lived(tmp_path).with_options({"write-only": "true"})
    maintain(table)
    assert table.snapshots.ids() == [1, 2, 3, 4]
    maintain(table, dedicated=True)
    assert table.snapshots.ids() == [3, 4]


def test_in_a_thread(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = lived(tmp_path).with_options({"snapshot.expire.execution-mode": "async"})
    with caplog.at_level(logging.WARNING):
        maintain(table)
        finish_maintenance()
    assert table.snapshots.ids() == [3, 4]
    assert caplog.text == ""


def test_in_a_thread_of_a_forked_process(tmp_path: Path) -> None:
    """It has not the thread that the other process had; with that one it would wait until the alarm ends it."""
    table = lived(tmp_path).with_options({"snapshot.expire.execution-mode": "async"})
    maintain(table)
    finish_maintenance()
    live_on(table, "ww")

    def expire() -> None:
        signal.alarm(30)
        maintain(table)
        finish_maintenance()

    assert exit_code_of(expire) == 0
    assert table.snapshots.ids() == [5, 6]


def break_off() -> NoReturn:
    raise ZeroDivisionError("a mistake of ours")


def test_an_error_in_the_thread_that_nobody_expects_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = lived(tmp_path).with_options({"snapshot.expire.execution-mode": "async"})
    maintain(replace(table, file_io=FaultyFileIO(LocalFileIO(), at=0, act=break_off)))
    finish_maintenance()
    assert f"the maintenance of {table.location} broke off" in caplog.text
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["a mistake of ours"]


def test_a_failure_is_reported_and_made_good_later(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = lived(tmp_path)
    with caplog.at_level(logging.WARNING):
        maintain(replace(table, file_io=FaultyFileIO(LocalFileIO(), at=0, lasting=True)))
    assert "expiring snapshots" in caplog.text
    assert table.snapshots.ids() == [1, 2, 3, 4]
    maintain(table)
    assert table.snapshots.ids() == [3, 4]
