"""Consumers: reset, cleared by pattern, expired; and that they hold snapshots."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.tables.expiring import live_on, new_table, rules

from paimon_spark.errors import CorruptFile, OptionError, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.consumers import clear_consumers, expire_consumers, reset_consumer
from paimon_spark.store.holds.consumer_files import consumer_positions, readable_positions
from paimon_spark.store.holds.marks import write_mark
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table


def life(path: Path) -> Table:
    table = new_table(path / "t")
    live_on(table, "www")
    return table


def positions(table: Table) -> dict[str, int]:
    return consumer_positions(table.file_io, table.location, table.branch)


def test_a_consumer_is_set_and_forgotten(tmp_path: Path) -> None:
    table = life(tmp_path)
    reset_consumer(table, "c", 2)
    assert Path(table.location, "consumer/consumer-c").read_text() == '{\n  "nextSnapshot" : 2\n}'
    reset_consumer(table, "c", 3)
    assert positions(table) == {"c": 3}
    assert reset_consumer(table, "c")
    assert not reset_consumer(table, "c")
    assert positions(table) == {}


def test_what_is_no_consumer_or_snapshot(tmp_path: Path) -> None:
    table = life(tmp_path)
    with pytest.raises(SnapshotNotFound, match="snapshot 4"):
        reset_consumer(table, "c", 4)
    for name in ("", " ", "a/b"):
        with pytest.raises(OptionError, match="no id"):
            reset_consumer(table, name, 1)
    assert positions(table) == {}


def test_a_consumer_holds_snapshots(tmp_path: Path) -> None:
    table = life(tmp_path)
    reset_consumer(table, "c", 2)
    expire_snapshots_by(table, rules(1))
    assert table.snapshots.ids() == [2, 3]


@pytest.mark.parametrize(
    ("including", "excluding", "stay"),
    [
        (None, None, ""),
        ("a.*", None, "b1"),
        ("a", None, "a1 a2 b1"),
        (None, "a.*", "a1 a2"),
        ("a.*", ".2", "a2 b1"),
        ("[ab]1", "x", "a2"),
    ],
)
def test_cleared_by_patterns(tmp_path: Path, including: str | None, excluding: str | None, stay: str) -> None:
    table = life(tmp_path)
    for name in ("a1", "a2", "b1"):
        reset_consumer(table, name, 1)
    told = clear_consumers(table, including, excluding, dry_run=True)
    assert sorted(positions(table)) == ["a1", "a2", "b1"]
    done = clear_consumers(table, including, excluding)
    assert done.names == told.names
    assert sorted([*done.names, *stay.split()]) == ["a1", "a2", "b1"]
    assert sorted(positions(table)) == stay.split()


def test_no_pattern(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=re.escape("'('")):
        clear_consumers(life(tmp_path), "(")


def test_consumers_that_have_not_moved_expire(tmp_path: Path) -> None:
    table = life(tmp_path)
    reset_consumer(table, "old", 1)
    reset_consumer(table, "new", 1)
    an_hour_ago = time.time() - 3600
    os.utime(Path(table.location, "consumer/consumer-old"), (an_hour_ago, an_hour_ago))
    assert expire_consumers(table).names == ()
    hasty = open_table(table.location, {"consumer.expiration-time": "30 min"})
    assert expire_consumers(hasty, dry_run=True).names == ("old",)
    for limit in ("2 h", "61 min"):
        assert expire_consumers(open_table(table.location, {"consumer.expiration-time": limit})).names == ()
    almost = open_table(table.location, {"consumer.expiration-time": "59 min"})
    assert expire_consumers(almost, dry_run=True).names == ("old",)
    assert expire_consumers(hasty).names == ("old",)
    os.utime(Path(table.location, "consumer/consumer-new"), (0, 0))
    assert expire_consumers(hasty).names == (), "the store does not tell when it has moved"
    os.utime(Path(table.location, "consumer/consumer-new"))
    assert expire_consumers(table, older_than=int(time.time() * 1000) + 60_000).names == ("new",)
    assert positions(table) == {}


@pytest.mark.parametrize("before", [None, 2])
def test_a_snapshot_that_expires_while_a_consumer_is_set_to_it(tmp_path: Path, before: int | None) -> None:
    table = life(tmp_path)
    if before is not None:
        reset_consumer(table, "c", before)

    class Expiring(FaultyFileIO):
        def overwrite(self, path: str, data: bytes) -> None:
            super().overwrite(path, data)
            Path(table.location, "snapshot", "snapshot-1").unlink(missing_ok=True)

    with pytest.raises(SnapshotNotFound, match=r"'c' .* cannot stand at snapshot 1, which expires just now"):
        reset_consumer(replace(table, file_io=Expiring(LocalFileIO())), "c", 1)
    assert positions(table) == ({} if before is None else {"c": before})


def test_a_damaged_consumer_is_named_by_who_must_know_all(tmp_path: Path) -> None:
    table = life(tmp_path)
    reset_consumer(table, "good", 1)
    Path(table.location, "consumer/consumer-bad").write_text("{")
    with pytest.raises(CorruptFile, match="consumer-bad"):
        consumer_positions(table.file_io, table.location)
    found, damaged = readable_positions(table.file_io, table.location)
    assert (found, len(damaged)) == ({"good": 1}, 1)


def test_a_consumer_may_stand_where_a_running_expiry_ends(tmp_path: Path) -> None:
    table = life(tmp_path)
    write_mark(table.snapshots, 2, None)
    reset_consumer(table, "c", 2)
    with pytest.raises(SnapshotNotFound, match="which expires just now"):
        reset_consumer(table, "c", 1)
    assert positions(table) == {"c": 2}
