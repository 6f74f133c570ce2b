"""What looking after a table costs when nothing is due: operations on the store, which do not grow with its history."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.tables.expiring import consumer, live_on, new_table

from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.maintenance import maintain
from paimon_spark.tables.open import open_table

LONGER_CHANGELOGS = {"changelog.num-retained.min": "100000", "changelog.num-retained.max": "200000"}


def lived(path: Path, snapshots: int) -> Table:
    """A table of so many snapshots, all of one state, and all young."""
    table = new_table(path / "t")
    live_on(table, "w")
    first = Path(table.location, "snapshot", "snapshot-1").read_text()
    for number in range(2, snapshots + 1):
        text = re.sub(r'("id"\s*:\s*)1,', rf"\g<1>{number},", first)
        Path(table.location, "snapshot", f"snapshot-{number}").write_text(text)
    table.snapshots.write_latest_hint(snapshots)
    table.snapshots.write_earliest_hint(1)
    return open_table(table.location, {"write-only": "false"})


def operations(table: Table) -> Counter[str]:
    io = FaultyFileIO(LocalFileIO())
    maintain(replace(table, file_io=io))
    return Counter(io.log)


# Of tags one listing; of snapshots the two hints, that they are true, and whether the second one is old.
NOTHING_DUE = {"list": 1, "exists": 1, "read": 5}


@pytest.mark.parametrize("snapshots", [20, 10_000])
def test_of_snapshots(tmp_path: Path, snapshots: int) -> None:
    table = lived(tmp_path, snapshots)
    assert operations(table) == NOTHING_DUE
    for number in range(5):
        consumer(table, f"c{number}", 1)
    assert operations(table) == NOTHING_DUE, "consumers are asked when something is due"


def test_of_tags_and_long_lived_changelogs(tmp_path: Path) -> None:
    table = lived(tmp_path, 20)
    for number in range(1, 6):
        create_tag(table, f"t{number}", number)
    with_tags = {**NOTHING_DUE, "read": NOTHING_DUE["read"] + 5}
    assert operations(table) == with_tags
    with_changelogs = {**with_tags, "read": with_tags["read"] + 1, "list": 2}
    assert operations(table.with_options(LONGER_CHANGELOGS)) == with_changelogs


def test_of_what_is_switched_off(tmp_path: Path) -> None:
    table = lived(tmp_path, 20)
    assert operations(table.with_options({"write-only": "true"})) == {}
    switched_off = {key: count for key, count in NOTHING_DUE.items() if key != "list"}
    assert operations(table.with_options({"tag.time-expire-enabled": "false"})) == switched_off


def test_of_consumers_that_hold(tmp_path: Path) -> None:
    """However many snapshots wait behind a consumer, they are not looked at after every commit."""
    table = lived(tmp_path, 100)
    consumer(table, "slow", 3)
    limits = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "10"}
    maintain(table.with_options(limits))
    assert table.snapshots.ids()[0] == 3
    assert operations(table.with_options(limits)) == {"list": 2, "exists": 1, "read": 5}


def test_of_one_that_expires_of_a_table_that_is_appended_to(tmp_path: Path) -> None:
    """The younger ones are not read: none of them can have taken up a file that goes."""
    done = {}
    for snapshots in (20, 500):
        table = lived(tmp_path / str(snapshots), snapshots)
        limits = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": str(snapshots - 1)}
        done[snapshots] = operations(table.with_options(limits))
        assert table.snapshots.ids()[0] == 2
    assert done[20] == done[500]


def test_of_automatic_tags_that_are_not_due(tmp_path: Path) -> None:
    """The snapshots since the last tag are not read again after every commit."""
    done = {}
    for snapshots in (20, 500):
        table = lived(tmp_path / str(snapshots), snapshots).with_options({"tag.automatic-creation": "process-time"})
        maintain(table)
        assert [tag.snapshot.id for tag in table.snapshots.tags().values()] == [1]
        done[snapshots] = operations(table)
    assert done[20] == done[500]
