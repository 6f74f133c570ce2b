"""Going back by a new snapshot: what it holds, what it keeps, and that every writer notices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import compact, make, rows_of, write
from support.tables.expiring import rules, stored

from paimon_spark.errors import OptionError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback_as_latest import rollback_to_as_latest
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.holds.marks import write_mark
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("p", pa.int32()), ("v", pa.int64())])
TABLES: Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]] = {
    "keys": (("k",), {}),
    "vectors": (("k",), {"deletion-vectors.enabled": "true"}),
    "lookup": (("k",), {"changelog-producer": "lookup"}),
    "ordered": (("k",), {"sequence.snapshot-ordering": "true"}),
    "append": ((), {"bucket": "-1"}),
}


def life(path: Path, kind: str, steps: str = "wwcwcw") -> tuple[Table, list[list[tuple[object, ...]]]]:
    """A table and its rows at each snapshot, from the first."""
    keys, options = TABLES[kind]
    table, states = make(path / kind, COLUMNS, keys, options), []
    for number, step in enumerate(steps):
        before = table.snapshots.latest_id() or 0
        if step == "w":
            write(table, [(k, k, number) for k in range(number, number + 3)])
        else:
            compact(table)
        states += [at(table, i) for i in range(before + 1, latest(table).id + 1)]
    return table, states


def at(table: Table, snapshot: int) -> list[tuple[object, ...]]:
    found = open_table(table.location, {"scan.snapshot-id": str(snapshot)}).scan().to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


@pytest.mark.parametrize("kind", TABLES)
def test_the_old_rows_are_there_again(tmp_path: Path, kind: str) -> None:
    table, states = life(tmp_path, kind)
    for target in range(1, len(states) + 1):
        before = latest(table).id
        done = rollback_to_as_latest(table, snapshot=target)
        assert (done.previous_snapshot_id, done.rolled_back_snapshot_id, done.current_snapshot_id) == (
            before, target, before + 1,
        )  # fmt: skip
        assert rows_of(table) == states[target - 1]
        assert latest(table).commit_kind == "OVERWRITE"
        assert latest(table).total_record_count == table.snapshots.load(target).total_record_count
        assert done.tag in table.snapshots.tag_names()
    assert table.snapshots.ids() == list(range(1, 2 * len(states) + 1))
    check_table(table.location)
    write(table, [(100, 100, 100)])
    if kind == "vectors":  # its new rows wait for a compaction
        compact(table)
    assert (100, 100, 100) in rows_of(table)
    check_table(table.location)


@pytest.mark.parametrize("kind", TABLES)
def test_its_files_outlive_those_snapshots(tmp_path: Path, kind: str) -> None:
    """The compaction of snapshot 3 has deleted them, and its expiry would take them away."""
    table, states = life(tmp_path, kind)
    done = rollback_to_as_latest(table, snapshot=2)
    delete_tags(table, done.tag)
    expire_snapshots_by(table, rules(1))
    assert table.snapshots.ids() == [done.current_snapshot_id]
    assert rows_of(table) == states[1]
    check_table(table.location)


def test_to_a_tag(tmp_path: Path) -> None:
    table, states = life(tmp_path, "keys")
    create_tag(table, "old", 2)
    expire_snapshots_by(table, rules(1))
    for target in ({"tag": "old"}, {"version": "old"}, {"version": 2}):
        done = rollback_to_as_latest(table, **target)  # type: ignore[arg-type]  # one of several parameters
        assert (done.rolled_back_snapshot_id, rows_of(table)) == (2, states[1])
        assert (done.tag == "old") == ("version" not in target or target["version"] == "old")
        write(table, [(50, 50, 50)])


def test_a_writer_that_was_about_to_publish(tmp_path: Path) -> None:
    """It takes the next snapshot, on the old state; and the other way round its rows are gone."""
    table, states = life(tmp_path, "append", "www")
    racing = with_rivals(table, lambda: write(table, [(7, 7, 7)]))
    done = rollback_to_as_latest(racing, snapshot=1)
    assert done.current_snapshot_id == 5
    assert (at(table, 4), rows_of(table)) == (sorted([*states[2], (7, 7, 7)], key=repr), states[0])
    check_table(table.location)


def test_targets_that_are_none(tmp_path: Path) -> None:
    table, _ = life(tmp_path, "keys", "ww")
    before = stored(table)
    with pytest.raises(OptionError, match="just one"):
        rollback_to_as_latest(table)
    for target in ("x", "9", 9):
        with pytest.raises(SnapshotNotFound):
            rollback_to_as_latest(table, target)
    with pytest.raises(UnsupportedFeature, match=r"commit\.callbacks"):
        rollback_to_as_latest(open_table(table.location, {"commit.callbacks": "x"}), 1)
    assert stored(table) == before
    write_mark(table.snapshots, 2, None)
    with pytest.raises(SnapshotNotFound, match="expires just now"):
        rollback_to_as_latest(table, 1)
    assert (table.snapshots.ids(), table.snapshots.tag_names()) == ([1, 2], [])


def replace_all(table: Table, row: tuple[int, int, int]) -> None:
    open_table(table.location).overwrite(pa.Table.from_pylist([dict(zip("kpv", row, strict=True))], COLUMNS))


def tagged(table: Table, name: str) -> list[tuple[object, ...]]:
    found = open_table(table.location, {"scan.tag-name": name}).scan().to_arrow()
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=repr)


@pytest.mark.parametrize("forgotten", [False, True])
def test_an_old_tag_keeps_files_that_a_newer_one_does_not_have(tmp_path: Path, forgotten: bool) -> None:
    """The state of snapshot 1 comes back, and leaves again, when a tag of another state stands between."""
    table = make(tmp_path / "t", COLUMNS, (), {"bucket": "-1"})
    write(table, [(1, 1, 1)])
    create_tag(table, "old", 1)
    replace_all(table, (2, 2, 2))
    create_tag(table, "between", 2)
    done = rollback_to_as_latest(table, snapshot=1)
    expire_snapshots_by(table, rules(1))
    create_tag(table, "back", done.current_snapshot_id)
    if forgotten:
        delete_tags(table, done.tag)
    replace_all(table, (3, 3, 3))
    expire_snapshots_by(table, rules(1))
    assert (tagged(table, "old"), tagged(table, "between")) == ([(1, 1, 1)], [(2, 2, 2)])
    delete_tags(table, "old")
    assert tagged(table, "back") == [(1, 1, 1)]
    check_table(table.location)
