"""Compaction of tables with data evolution (Java: DataEvolutionCompactCoordinatorTest, DataEvolutionTableTest, 2.0)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.faults.faulty_store import FaultyFileIO, fault_points
from support.oracles.checker import check_table
from support.tables.column_changes import VECTORS, changed, commit, delete, evolved, facts, put, rows_with_ids, update
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import compact, live_files, rows_of, tasks_of, write
from support.tables.files_by_hand import file as data_file

from paimon_spark.errors import CommitConflict, PaimonError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.compaction.append_picks import AppendRules
from paimon_spark.merge.compaction.column_picks import pick_columns
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import Outcome, compact_table, run_here
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

FEW = {"compaction.min.file-num": "2"}
RULES = AppendRules(target_size=100, small_file=70, open_cost=10, min_files=2, delete_ratio=0.2, rewrites_all=False)


class Here:
    """Runs the tasks in this process."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        return [run_here(table, task) for task in tasks]

    def stop(self) -> None:
        """Nothing runs beside the caller."""


def columns(first: int, count: int, size: int = 1, number: int = 1, **more: Any) -> DataFileMeta:
    name = f"{first}-{number}"
    return replace(
        data_file(name), file_size=size, row_count=count, first_row_id=first, max_sequence_number=number, **more
    )


# ---------------------------------------------------------------------------------------------------------------- picks


def picked(files: Sequence[DataFileMeta], takes_few: bool = False, **rules: int) -> list[list[str]]:
    found = pick_columns(files, replace(RULES, **rules), takes_few).wide  # type: ignore[arg-type]  # numbers all
    return [[file.file_name for file in group] for group in found]


def test_neighbours_are_joined_until_they_are_full() -> None:
    files = [columns(10 * n, 10, 60) for n in range(5)]
    assert picked(files) == [["0-1", "10-1"], ["20-1", "30-1"]]
    assert picked([columns(10 * n, 10) for n in range(5)]) == [["0-1", "10-1", "20-1", "30-1", "40-1"]]
    assert picked([columns(n, 1) for n in range(20)], min_files=1) == [
        [f"{n}-1" for n in range(11)],
        [f"{n}-1" for n in range(11, 20)],
    ]


def test_a_gap_of_ids_ends_a_group() -> None:
    assert picked([columns(0, 5), columns(6, 2), columns(8, 2)]) == [["6-1", "8-1"]]


def test_all_files_of_the_same_rows_are_in_one_group() -> None:
    files = [columns(0, 5, 60, 3, write_cols=("v",)), columns(5, 5, 500), columns(0, 5, 60, 1), columns(5, 5, 1, 2)]
    assert picked(files) == [["0-1", "0-3"], ["5-1", "5-2"]]
    assert picked([columns(0, 5, 500), columns(5, 5), columns(10, 5)]) == [["5-1", "10-1"]]


def test_few_files_wait() -> None:
    files = [columns(n, 1) for n in range(3)]
    assert picked(files, min_files=4) == []
    assert picked(files, min_files=4, takes_few=True) == [["0-1", "1-1", "2-1"]]
    assert picked(files[:1], min_files=1, takes_few=True) == []


# ------------------------------------------------------------------------------------------------------------- joining


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_columns_and_neighbours_become_one_file(tmp_path: Path, form: str) -> None:
    table = evolved(tmp_path, {**FEW, "file.format": form, "target-file-row-num": "1"})
    put(table, 1, 2)
    put(table, 3)
    update(table, "v", {1: "a", 3: None})
    update(table, "w", {2: 20})
    before = rows_with_ids(table)
    compact(table, full=False)
    (file,) = live_files(table)
    assert facts(file) == (0, 3, 1, 4, None)
    assert (latest(table).commit_kind, latest(table).next_row_id) == (CommitKind.COMPACT, 3)
    assert [row[:4] for row in rows_with_ids(table)] == [row[:4] for row in before]
    put(table, 4)
    update(table, "v", {1: "b"})
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "b"), (2, "v2"), (3, None), (4, "v4")]
    check_table(table.location)


def test_a_compaction_by_a_writer_waits_for_five_files(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    for key in range(4):
        put(table, key)
    assert tasks_of(table, full=False) == ()
    update(table, "v", {2: "b"})
    (task,) = tasks_of(table, full=False)
    assert len(task.files) == 5


@pytest.mark.parametrize("bits", ["false", "true"])
def test_deleted_rows_stay_deleted(tmp_path: Path, bits: str) -> None:
    table = evolved(tmp_path, {**VECTORS, **FEW, "deletion-vectors.bitmap64": bits})
    put(table, 1, 2, 3)
    put(table, 4, 5)
    update(table, "v", {2: "b", 5: "e"})
    TableCommit(table, "one").append(delete(table, 0, 4), operation="DELETE")
    compact(table)
    assert [facts(file)[:2] for file in live_files(table)] == [(0, 5)]
    assert [row[:2] for row in rows_with_ids(table)] == [(2, "b"), (3, "v3"), (4, "v4")]
    TableCommit(table, "two").append(delete(table, 3), operation="DELETE")
    update(table, "w", {2: 20})
    assert [row[:3] for row in rows_with_ids(table)] == [(2, "b", 20), (3, "v3", 3)]
    check_table(table.location)


def test_new_columns_and_partitions(tmp_path: Path) -> None:
    table = evolved(tmp_path, FEW, ["w"])
    for _ in range(2):
        write(table, [(1, "a", 0), (2, "b", 1)])
    alter_table(open_table(table.location), (c.AddColumn(("n",), DataType(Root.INT)), c.RenameColumn(("v",), "x")))
    table = open_table(table.location)
    update(table, "n", {1: 7})
    before = rows_of(table)
    compact(table)
    assert rows_of(table) == before == [(1, "a", 0, 7)] * 2 + [(2, "b", 1, None)] * 2
    assert sorted(facts(file)[:2] for file in live_files(table)) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    check_table(table.location)


# ------------------------------------------------------------------------------------------------------------ conflicts


def test_a_change_between_plan_and_commit_stays(tmp_path: Path) -> None:
    """Of the same rows: the new column is newer than the joined file, whose rows are the same."""
    table = evolved(tmp_path, FEW)
    put(table, 1, 2)
    update(table, "w", {1: 10})
    raced = with_rivals(table, partial(update, table, "v", {1: "a"}))
    done = compact_table(raced, Here(), full=True)
    assert (len(done.snapshot_ids), done.dropped) == (1, ())
    assert [row[:3] for row in rows_with_ids(table)] == [(1, "a", 10), (2, "v2", 2)]
    assert [facts(file) for file in live_files(table)] == [(0, 2, 3, 3, ("v",)), (0, 2, 1, 2, None)]
    check_table(table.location)


def test_a_change_of_rows_that_are_joined_with_others_is_planned_again(tmp_path: Path) -> None:
    table = evolved(tmp_path, FEW)
    put(table, 1)
    put(table, 2)
    raced = with_rivals(table, partial(update, table, "v", {1: "a"}))
    done = compact_table(raced, Here(), full=True)
    assert (len(done.snapshot_ids), done.dropped, done.files_before) == (1, (), 3)
    assert [row[:2] for row in rows_with_ids(table)] == [(1, "a"), (2, "v2")]
    check_table(table.location)


def test_a_deletion_between_plan_and_commit_stays(tmp_path: Path) -> None:
    table = evolved(tmp_path, {**FEW, **VECTORS})
    put(table, 1)
    put(table, 2, 3)

    def rival() -> None:
        TableCommit(table, new_user(table)).append(delete(table, 1), operation="DELETE")

    compact_table(with_rivals(table, rival), Here(), full=True)
    assert [row[0] for row in rows_with_ids(table)] == [1, 3]
    assert len(live_files(table)) == 1
    check_table(table.location)


def test_a_change_that_was_computed_before_a_compaction(tmp_path: Path) -> None:
    table = evolved(tmp_path, FEW)
    put(table, 1, 2)
    update(table, "w", {1: 10})
    same = changed(table, "v", {1: "a"})
    compact(table)
    commit(table, same, read=2)  # its rows are still those of one file
    put(table, 3)
    joined = changed(table, "v", {1: "b"})
    compact(table)
    with pytest.raises(CommitConflict, match="which are no longer the rows of other files"):
        commit(table, joined, read=4)
    assert [row[:3] for row in rows_with_ids(table)] == [(1, "a", 10), (2, "v2", 2), (3, "v3", 3)]
    check_table(table.location)


# --------------------------------------------------------------------------------------------------------------- faults


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
def test_whatever_fails_the_rows_stay(tmp_path: Path, lasting: bool) -> None:
    def prepared(path: Path) -> Table:
        table = evolved(path, {**FEW, **VECTORS})
        put(table, 1, 2)
        put(table, 3)
        update(table, "v", {1: "a"})
        TableCommit(table, "one").append(delete(table, 1), operation="DELETE")
        return table

    io = FaultyFileIO(LocalFileIO())
    compact_table(replace(prepared(tmp_path / "first"), file_io=io), Here(), full=True)
    for number, (at, when) in enumerate(fault_points(io.log, 12)):
        table = prepared(tmp_path / str(number))
        faulty = replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, lasting=lasting))
        with suppress(OSError, PaimonError):
            compact_table(faulty, Here(), full=True)
        assert [row[:3] for row in rows_with_ids(table)] == [(1, "a", 1), (3, "v3", 3)], f"{io.log[at]} #{at} {when}"
        check_table(table.location)
        compact_table(open_table(table.location), Here(), full=True)
        assert [row[:3] for row in rows_with_ids(table)] == [(1, "a", 1), (3, "v3", 3)]
        assert len(live_files(table)) == 1


# ------------------------------------------------------------------------------------------------------------- refusals


def test_new_ids_for_rows_are_refused(tmp_path: Path) -> None:
    table = evolved(tmp_path, {**VECTORS, "data-evolution.compaction.rewrite-row-ids": "true"})
    put(table, 1)
    with pytest.raises(UnsupportedFeature, match=r"'data-evolution\.compaction\.rewrite-row-ids' = 'true'"):
        tasks_of(table)


def test_columns_that_lie_apart_are_left_to_the_official_system(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1)
    (message,) = changed(table, "v", {1: "a"})
    (file,) = message.new_files
    apart = replace(file, file_name=file.file_name.replace("data-", "data-1.vector."))
    TableCommit(table, "java").append([replace(message, new_files=(apart,))])
    with pytest.raises(UnsupportedFeature, match="apart from the others, and the table has no option"):
        tasks_of(table)
