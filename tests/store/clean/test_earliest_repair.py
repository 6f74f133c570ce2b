"""The hint EARLIEST after a lost beginning, against what is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.long_runs import examples
from support.tables.expiring import copied
from support.tables.files_by_hand import added, file, plain_table

from paimon_spark.errors import OptionError, PaimonError, SnapshotNotFound
from paimon_spark.store.clean.earliest_repair import repair_earliest_snapshot
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of ten snapshots."""
    table = plain_table(tmp_path_factory.mktemp("ten") / "t")
    for number in range(1, 11):
        TableCommit(table, str(number)).append([added(file(str(number)))])
    return table


def table_of(ten: Table, path: Path, left: set[int], hint: int | None = None) -> Table:
    """Of ten snapshots some are left."""
    table = copied(ten, path)
    for number in set(range(1, 11)) - left:
        Path(table.location, "snapshot", f"snapshot-{number}").unlink()
    if left:
        table.snapshots.write_latest_hint(max(left))
    earliest = Path(table.location, "snapshot", "EARLIEST")
    earliest.unlink(missing_ok=True)
    if hint is not None:
        earliest.write_text(str(hint))
    return table


def hint_of(table: Table) -> str:
    return Path(table.location, "snapshot", "EARLIEST").read_text()


@pytest.mark.parametrize(
    ("left", "hint", "chosen", "result"),
    [
        ({8, 9, 10}, None, 8, (8, 8)),
        ({8, 9, 10}, 3, None, (8, 8)),
        ({2, 8, 9, 10}, 2, 8, (2, 8)),
        ({2, 8, 9, 10}, None, None, (2, 8)),
        ({1, 2, 5, 7, 8, 9, 10}, 1, 7, (1, 7)),
        ({1, 2, 5, 10}, 5, None, (5, 10)),
        ({3, 4, 5, 6, 7, 8, 9, 10}, 3, 3, (3, 3)),
        ({10}, None, None, (10, 10)),
    ],
)
def test_the_hint_is_written(
    ten: Table, tmp_path: Path, left: set[int], hint: int | None, chosen: int | None, result: tuple[int, int]
) -> None:
    table = table_of(ten, tmp_path / "t", left, hint)
    done = repair_earliest_snapshot(table, chosen)
    assert (done.previous_earliest_snapshot_id, done.current_earliest_snapshot_id) == result
    assert (table.snapshots.earliest(), hint_of(table)) == ((result[1], True), str(result[1]))
    assert set(table.snapshots.ids()) == left


def test_what_is_before_the_gap_can_be_deleted(ten: Table, tmp_path: Path) -> None:
    table = table_of(ten, tmp_path / "t", {1, 2, 5, 7, 8, 9, 10}, 1)
    assert repair_earliest_snapshot(table).deleted == ()
    assert repair_earliest_snapshot(table, delete_older=True).deleted == (1, 2, 5)
    assert table.snapshots.ids() == [7, 8, 9, 10]
    assert repair_earliest_snapshot(table, 7, delete_older=True).deleted == ()


@pytest.mark.parametrize(
    ("chosen", "kind", "message"),
    [
        (1, SnapshotNotFound, "no snapshot 1 is between the earliest, 2, and the latest, 10; .* Choose 8"),
        (11, SnapshotNotFound, "no snapshot 11"),
        (7, SnapshotNotFound, "no snapshot 7"),
        (
            2,
            SnapshotNotFound,
            "some snapshots after 2 are missing; snapshots 8 to 10 are there without a gap. Choose 8",
        ),
        (9, OptionError, "snapshot 8 is there, so 9 does not follow a gap; choose 8"),
    ],
)
def test_refusals(ten: Table, tmp_path: Path, chosen: int, kind: type[PaimonError], message: str) -> None:
    table = table_of(ten, tmp_path / "t", {2, 8, 9, 10}, 2)
    with pytest.raises(kind, match=message):
        repair_earliest_snapshot(table, chosen)
    assert hint_of(table) == "2"


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFound, match=re.escape("has no snapshot")):
        repair_earliest_snapshot(plain_table(tmp_path / "t"))


@settings(max_examples=examples(40))
@given(left=st.sets(st.integers(1, 10), min_size=1), hint=st.none() | st.integers(1, 10), data=st.data())
def test_any_gaps(
    ten: Table, tmp_path_factory: pytest.TempPathFactory, left: set[int], hint: int | None, data: Any
) -> None:
    table = table_of(ten, tmp_path_factory.mktemp("g") / "t", left, hint)
    previous, latest = hint if hint in left else min(left), max(left)
    whole = latest
    while whole - 1 in left and whole - 1 >= previous:
        whole -= 1
    chosen = data.draw(st.integers(0, 11))
    if chosen == whole:
        repair_earliest_snapshot(table, chosen)
        assert hint_of(table) == str(whole)
    else:
        with pytest.raises((SnapshotNotFound, OptionError), match=f"[Cc]hoose {whole}"):
            repair_earliest_snapshot(table, chosen)
    assert repair_earliest_snapshot(table).current_earliest_snapshot_id == whole
