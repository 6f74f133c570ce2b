"""Marks that hold snapshots: which count, which are deleted, and how far consumers are behind."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import pytest
from support.tables.compacted_tables import append, new_table

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.store.holds import consumer_files
from paimon_spark.store.holds.consumer_files import ConsumerLag, consumer_lag
from paimon_spark.store.holds.marks import held_snapshot_ids, hold
from paimon_spark.store.metadata.table import Table

DAY = 24 * 3600


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = new_table(tmp_path / "t")
    for number in range(3):
        append(made, [(number, number, "a"), (number + 10, number, "b")])
    return made


def mark(table: Table, number: int, age: float) -> Path:
    """A mark as of a job that began so many seconds ago."""
    path = Path(table.location, "snapshot", f".holding-{number}-{uuid.uuid4()}")
    path.write_text("")
    made = time.time() - age
    os.utime(path, (made, made))
    return path


def held(table: Table) -> set[int]:
    return held_snapshot_ids(table.file_io, table.snapshots.directory)


def test_a_mark_counts_for_a_day_and_is_deleted_then(table: Table) -> None:
    young, almost, old = mark(table, 1, 5), mark(table, 2, DAY - 60), mark(table, 3, DAY + 60)
    assert held(table) == {1, 2}
    assert [path.exists() for path in (young, almost, old)] == [True, True, False]


def test_the_clock_of_the_store_decides_where_nothing_was_written_for_long(table: Table) -> None:
    old = mark(table, 2, DAY + 60)
    for path in Path(table.location, "snapshot").iterdir():
        os.utime(path, (time.time() - DAY - 60,) * 2)
    assert held(table) == set()
    assert not old.exists()
    assert [path.name for path in Path(table.location, "snapshot").iterdir() if path.name.startswith(".")] == []


def test_a_snapshot_is_held_while_a_job_works(table: Table) -> None:
    with hold(table.snapshots, 2):
        assert held(table) == {2}
    assert held(table) == set()
    Path(table.location, "snapshot", f".expiring-3-{uuid.uuid4()}").write_text("")
    with hold(table.snapshots, 3):
        pass
    with pytest.raises(SnapshotNotFound, match="it expires just now"), hold(table.snapshots, 2):
        pass


def test_how_far_a_consumer_is_behind(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    store = table.snapshots
    assert consumer_lag(store, 4) == consumer_lag(store, 9).__class__(4, 0, 0, 0)
    now = time.time() * 1000
    told = consumer_lag(store, 2)
    assert (told.snapshots, told.rows) == (2, 4)
    assert abs((told.millis or 0) - (now - store.load(2).time_millis)) < 60_000
    Path(table.location, "snapshot", "snapshot-1").unlink()
    assert consumer_lag(store, 1) == ConsumerLag(1, 3, None, None)
    monkeypatch.setattr(consumer_files, "_COUNTED", 2)
    assert consumer_lag(store, 2).rows == 4
    monkeypatch.setattr(consumer_files, "_COUNTED", 1)
    assert consumer_lag(store, 2).rows is None
    assert consumer_lag(store, 2).millis is not None
    assert consumer_lag(new_table(Path(f"{table.location}-none")).snapshots, 1) == ConsumerLag(1, 0, 0, 0)
