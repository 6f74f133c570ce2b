"""Indexes of a whole table that Java makes, under our writes; and ours, under Java's reads."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from genuine import Genuine
from java_global_indexes import create_index, index_entries, rows_where
from support.oracles.checker import check_table
from support.tables.column_changes import EVOLVED, VECTORS, changed, commit, delete, put, update
from support.tables.compacting import compact

from paimon_spark import check, open_table
from paimon_spark.errors import CommitConflict, UnsupportedFeature
from paimon_spark.store.checks.report import Rule

pytestmark = pytest.mark.interop

TYPES = {"k": "BIGINT", "v": "STRING", "w": "BIGINT"}
FULL = {"scalar-index.search-mode": "full"}


@pytest.fixture
def path(java: Genuine, tmp_path: Path) -> str:
    """A table of Java with 60 rows, and indexes over v (btree) and w (bitmap)."""
    made = str(tmp_path / "t")
    java.create(made, TYPES, options={**EVOLVED, **VECTORS})
    java.write(made, [(i, f"v{i % 20}" if i % 7 else None, i % 5) for i in range(40)])
    java.write(made, [(i, f"v{i % 20}" if i % 7 else None, i % 5) for i in range(40, 60)])
    assert java.run(create_index, made, "v", "btree") == 1
    assert java.run(create_index, made, "w", "bitmap") == 1
    return made


def ours(path: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in open_table(path).scan(["k", "v", "w"]).to_arrow().to_pylist()), key=repr)


def assert_found_alike(java: Genuine, path: str) -> None:
    """Java finds by its indexes the rows that a read of all rows has."""
    every = ours(path)
    for column, place in (("v", 1), ("w", 2)):
        for value in sorted({row[place] for row in every} - {None}, key=repr):
            found, left = java.run(rows_where, path, [(column, "equal", value)], FULL)
            assert sorted(found, key=repr) == [row for row in every if row[place] == value], (column, value)
            assert left >= 0, "an index was used"
    found, _ = java.run(rows_where, path, [("v", "isNull", None)], FULL)
    assert sorted(found, key=repr) == [row for row in every if row[1] is None]


def test_indexes_of_java_live_through_our_writes(java: Genuine, path: str) -> None:
    made = java.run(index_entries, path)
    open_table(path).create_tag("before")
    put(open_table(path), 100, 101, 102)  # rows that no index covers
    update(open_table(path), "k", {3: 1003, 45: 1045})  # a column that no index is over
    commit(open_table(path), delete(open_table(path), 0, 21, 59))
    assert java.run(index_entries, path) == made
    assert_found_alike(java, path)
    compact(open_table(path), full=True)
    assert_found_alike(java, path)
    table = open_table(path)
    table.create_branch("b", "before")
    assert table.expire_snapshots(retain_max=1, retain_min=1, older_than=datetime.now(UTC)).ids
    table.remove_orphan_files(older_than=datetime.now(UTC), dry_run=False)
    assert java.run(index_entries, path) == made
    assert_found_alike(java, path)
    assert len(open_table(f"{path}", {"branch": "b"}).scan(["k"]).to_arrow()) == 60
    report = check_table(path)
    assert not any("index files" in note for note in report.notes), "all index files were read"


def test_an_overwrite_takes_the_indexes_of_its_rows_away(java: Genuine, path: str) -> None:
    open_table(path).truncate()
    assert not java.run(index_entries, path)
    check_table(path)


# --------------------------------------------------------------------------------- updates of columns with an index


def test_an_update_of_an_indexed_column_is_refused(java: Genuine, path: str) -> None:
    """Java: MergeIntoPaimonDataEvolutionTable.checkUpdateResult, THROW_ERROR is the default."""
    with pytest.raises(UnsupportedFeature, match=r"UPDATE of .*: an index of the whole table, btree, is over .* 'v'"):
        open_table(path).update("k = 3", {"v": "'x'"})
    assert open_table(path).update("k = 3", {"k": 1003}).rows_updated == 1
    assert_found_alike(java, path)


def test_an_update_may_take_an_index_away(java: Genuine, path: str) -> None:
    table = open_table(path, {"global-index.column-update-action": "DROP_PARTITION_INDEX"})
    assert table.update("k = 3", {"v": "'x'"}).rows_updated == 1
    assert [entry[0] for entry in java.run(index_entries, path)] == ["bitmap"]
    found, left = java.run(rows_where, path, [("v", "equal", "x")], FULL)
    assert (found, left) == ([(3, "x", 3)], -1)
    check_table(path)


def test_an_update_takes_away_the_index_of_its_partition_alone(java: Genuine, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    java.create(path, TYPES, partitions=["w"], options=EVOLVED)
    java.write(path, [(i, f"v{i}", i % 2) for i in range(10)])
    assert java.run(create_index, path, "v", "btree") == 2
    table = open_table(path, {"global-index.column-update-action": "drop_partition_index"})
    assert table.update("k = 4", {"v": "'x'"}).rows_updated == 1
    ((_, _, first, last, _, _),) = java.run(index_entries, path)
    rows = open_table(path).scan(["w"], where=f"_ROW_ID >= {first} and _ROW_ID <= {last}").to_arrow()
    assert set(rows["w"].to_pylist()) == {1}
    for value, key in (("x", 4), ("v5", 5)):
        found, _ = java.run(rows_where, path, [("v", "equal", value)], FULL)
        assert [row[0] for row in found] == [key]


def test_an_update_may_leave_an_index_as_it_is(java: Genuine, path: str) -> None:
    made = java.run(index_entries, path)
    table = open_table(path, {"global-index.column-update-action": "IGNORE"})
    assert table.update("k = 3", {"v": "'x'"}).rows_updated == 1
    assert java.run(index_entries, path) == made
    check_table(path)


def test_an_index_that_another_job_makes_during_an_update_counts(java: Genuine, path: str) -> None:
    """The update was allowed when it began, because there was no index then."""
    open_table(path).truncate()
    java.write(path, [(1, "a", 1), (2, "b", 2)])
    messages = changed(open_table(path), "v", {1: "x"})
    assert java.run(create_index, path, "v", "btree") == 1
    with pytest.raises(CommitConflict, match="btree of 'v', which another job has made meanwhile"):
        commit(open_table(path), messages)
    commit(open_table(path, {"global-index.column-update-action": "DROP_PARTITION_INDEX"}), messages)
    assert not java.run(index_entries, path)
    check_table(path)


def test_index_files_of_the_table_lie_together(java: Genuine, tmp_path: Path) -> None:
    """Java: FileStorePathFactory.globalIndexFileFactory, whatever `index-file-in-data-file-dir` says."""
    path = str(tmp_path / "t")
    java.create(path, TYPES, options={**EVOLVED, "index-file-in-data-file-dir": "true"})
    java.write(path, [(1, "a", 1)])
    assert java.run(create_index, path, "v", "btree") == 1
    check_table(path)
    shutil.rmtree(f"{path}/index")
    assert any(problem.rule == Rule.STORED for problem in check(path).problems)
