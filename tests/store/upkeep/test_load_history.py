"""Which files have been loaded, also after a COPY INTO that stopped at any of its steps."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.warehouse import COLUMNS, Warehouse

from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.load_history import PendingLoad, SourceFile, encode_pending, record_prefix
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.load_history import LoadHistory
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

A, B = SourceFile("file:/in/ä b.csv", 20, 1), SourceFile("file:/in/b.csv", 30, 2)
DAY = 24 * 3_600_000


@pytest.fixture
def table(tmp_path: Path) -> Table:
    warehouse = Warehouse(tmp_path)
    warehouse.create("d.t")
    warehouse.append("d.t", [(1, "x")])
    return open_table(warehouse.location("d.t"))


def names(table: Table) -> list[str]:
    folder = Path(table.location) / "copy-into" / "history"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def commit(table: Table, prefix: str) -> int:
    """Commits one row as the write of a load does; returns the id of the snapshot."""
    user = f"{prefix}_0"
    write = TableWrite(table, user)
    write.write(pa.record_batch([pa.array([7]), pa.array(["y"])], schema=COLUMNS))
    TableCommit(table, user).append(write.finish(), 1)
    latest = table.snapshots.latest_id()
    assert latest is not None
    return latest


def test_files_are_loaded_once_they_are_recorded(table: Table) -> None:
    history = LoadHistory(table)
    assert history.loaded([A, B]) == set()
    pending = history.begin({A: 3})
    history.finish(pending, commit(table, pending.user_prefix))
    assert history.loaded([A, B]) == {A}
    assert [name.rpartition("-")[0] + "-" for name in names(table)] == [record_prefix(A.path)]
    changed = [replace(A, size=21), replace(A, modified_millis=2)]
    assert history.loaded(changed) == set()


def test_an_empty_file_is_loaded_whenever_it_was_modified(table: Table) -> None:
    history = LoadHistory(table)
    empty = SourceFile("file:/in/empty.csv", 0, 5)  # Java records the time
    history.finish(history.begin({empty: 0}), None)
    unknown = replace(empty, modified_millis=0)
    assert history.loaded([unknown]) == {unknown}


def test_a_crash_behind_the_commit_loads_no_file_twice(table: Table) -> None:
    pending = LoadHistory(table).begin({A: 1, B: 0})
    snapshot_id = commit(table, pending.user_prefix)
    assert LoadHistory(table).loaded([A, B]) == {A, B}
    assert all(name.startswith("load-") for name in names(table))
    assert (
        f'"snapshotId" : {snapshot_id},' in (Path(table.location) / "copy-into/history" / names(table)[0]).read_text()
    )


def test_a_crash_before_the_commit_leaves_the_files_to_be_loaded(table: Table) -> None:
    pending = LoadHistory(table).begin({A: 1})
    commit(table, "somebody-else")
    assert LoadHistory(table).loaded([A]) == set()
    assert names(table) == [pending.name], "it may still be at work"


def test_a_load_that_has_not_committed_for_a_day_is_forgotten(table: Table) -> None:
    history = LoadHistory(table)
    pending = history.begin({A: 1})
    old = replace(pending, started_millis=pending.started_millis - DAY - 1)
    (Path(table.location) / "copy-into/history" / pending.name).write_bytes(encode_pending(old))
    assert history.loaded([A]) == set()
    assert names(table) == []


def test_an_interrupted_load_whose_snapshots_have_expired_is_refused(table: Table) -> None:
    history = LoadHistory(table)
    pending = history.begin({A: 1})
    commit(table, "somebody-else-0")
    (Path(table.location) / "snapshot" / "snapshot-1").unlink()
    (Path(table.location) / "snapshot" / "EARLIEST").write_text("2")
    assert history.loaded([A, B]) == set(), "all that came after the load began is there"
    assert names(table) == [pending.name]
    for number in range(1, 3):
        last = commit(table, f"somebody-else-{number}")
    for snapshot_id in range(2, last):
        (Path(table.location) / "snapshot" / f"snapshot-{snapshot_id}").unlink()
    (Path(table.location) / "snapshot" / "EARLIEST").write_text(str(last))
    with pytest.raises(DataError, match=f"COPY INTO of ä b.csv was interrupted.*{pending.name}"):
        history.loaded([A, B])
    assert history.loaded([B]) == set()


def settled(table: Table, is_committed: bool) -> PendingLoad:
    history = LoadHistory(table)
    pending = history.begin({A: 1})
    if is_committed:
        commit(table, pending.user_prefix)
    history.settle(pending)
    return pending


@pytest.mark.parametrize("is_committed", [True, False])
def test_after_an_error_the_commit_decides(table: Table, is_committed: bool) -> None:
    pending = settled(table, is_committed)
    assert pending.name not in names(table)
    assert LoadHistory(table).loaded([A]) == ({A} if is_committed else set())


def test_the_prefix_of_commit_users_of_the_table_stays(table: Table) -> None:
    mine = replace(table, settings=table.settings.merged({"commit.user-prefix": "etl"}))
    assert LoadHistory(mine).begin({A: 1}).user_prefix.startswith("etl-copy-")


def test_a_damaged_record_stops_the_load(table: Table) -> None:
    history = LoadHistory(table)
    history.finish(history.begin({A: 1}), 1)
    path = Path(table.location) / "copy-into/history" / names(table)[0]
    path.write_text("{")
    with pytest.raises(CorruptFile, match=path.name):
        history.loaded([A])
    assert history.loaded([B]) == set(), "records of other files do not matter"


def test_the_removal_of_orphan_files_keeps_the_history(table: Table) -> None:
    history = LoadHistory(table)
    history.finish(history.begin({A: 1}), 1)
    history.begin({B: 1})
    orphan = Path(table.location) / "manifest" / "manifest-0"
    orphan.touch()
    for path in Path(table.location).rglob("*"):
        os.utime(path, (1000, 1000))
    before = names(table)
    assert remove_orphan_files(table, dry_run=False).paths == (str(orphan),)
    assert names(table) == before
    assert len(before) == 2
