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

from paimon_spark.errors import CommitConflict, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import DataFileMeta, FileKind, GlobalIndexMeta, IndexManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.compaction.append_picks import AppendRules
from paimon_spark.merge.compaction.column_picks import pick_columns
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.compact_call import leaving_out_deleted
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
    return data_file(name)._replace(
        file_size=size, row_count=count, first_row_id=first, max_sequence_number=number, **more
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


# -------------------------------------------------------------------------------------------------------------- new ids

NEW_IDS = {**VECTORS, **FEW, "data-evolution.compaction.rewrite-row-ids": "true"}


def delete_ids(table: Table, *ids: int) -> None:
    TableCommit(table, new_user(table)).append(delete(table, *ids), operation="DELETE")


def test_deleted_rows_leave_the_files_and_others_get_new_ids(tmp_path: Path) -> None:
    table = evolved(tmp_path, NEW_IDS)
    put(table, 1, 2, 3)
    put(table, 4, 5)
    update(table, "v", {2: "b", 5: "e"})
    delete_ids(table, 0, 4)
    compact(table)
    (file,) = live_files(table)
    assert facts(file) == (5, 3, 5, 5, None)
    assert rows_with_ids(table) == [(2, "b", 2, 5, 5), (3, "v3", 3, 6, 5), (4, "v4", 4, 7, 5)]
    assert (latest(table).next_row_id, latest(table).total_record_count) == (8, 3)
    assert find_vector_files(table, latest(table)) == {}
    check_table(table.location)


def test_files_without_deleted_rows_are_joined_as_ever(tmp_path: Path) -> None:
    table = evolved(tmp_path, {**NEW_IDS, "target-file-row-num": "1"})
    put(table, 1, 2)
    compact(table)
    assert [row[3] for row in rows_with_ids(table)] == [0, 1]
    assert len(live_files(table)) == 1


def test_files_whose_rows_are_all_deleted_go(tmp_path: Path) -> None:
    table = evolved(tmp_path, NEW_IDS)
    put(table, 1, 2)
    delete_ids(table, 0, 1)
    compact(table)
    assert (live_files(table), rows_with_ids(table)) == ([], [])
    put(table, 3)
    assert rows_with_ids(table)[0][3] == 2
    check_table(table.location)


def test_the_procedure_leaves_other_files_alone(tmp_path: Path) -> None:
    table = evolved(tmp_path, VECTORS)
    for key in (1, 2, 3):
        put(table, key, key + 10)
    delete_ids(table, 2)
    before = {file.file_name for file in live_files(table)}
    compact_table(leaving_out_deleted(table), Here(), full=False)
    assert [row[::3] for row in rows_with_ids(table)] == [(1, 0), (3, 4), (11, 1), (12, 6), (13, 5)]
    assert len(before & {file.file_name for file in live_files(table)}) == 2
    with pytest.raises(OptionError, match=r"this is for tables with 'deletion-vectors\.enabled' = 'true'"):
        leaving_out_deleted(evolved(tmp_path / "plain"))


@pytest.mark.parametrize("rival", ["update", "delete", "put"])
def test_what_others_do_to_rows_that_get_new_ids_stays(tmp_path: Path, rival: str) -> None:
    table = evolved(tmp_path, NEW_IDS)
    put(table, 1, 2, 3)
    delete_ids(table, 0)
    deeds = {
        "update": partial(update, table, "v", {2: "b"}),
        "delete": partial(delete_ids, table, 2),
        "put": partial(put, table, 4),
    }
    done = compact_table(with_rivals(table, deeds[rival]), Here(), full=True)
    assert (len(done.snapshot_ids), done.dropped) == (1, ())
    rows = {"update": [(2, "b"), (3, "v3")], "delete": [(2, "v2")], "put": [(2, "v2"), (3, "v3"), (4, "v4")]}
    assert [row[:2] for row in rows_with_ids(table)] == rows[rival]
    check_table(table.location)


def test_indexes_over_ids_that_are_gone_are_dropped(tmp_path: Path) -> None:
    table = evolved(tmp_path, NEW_IDS, ["w"])
    for key, part in ((1, 1), (2, 1), (3, 2)):
        write(table, [(key, "v", part)])
    delete_ids(table, 0)
    places = {part: encode_arity_row([part], table.schema.partition_types) for part in (1, 2)}
    for part, place in places.items():
        index = IndexManifestEntry(
            FileKind.ADD, place, 0, "btree", f"global-{part}", 0, 1,
            global_index=GlobalIndexMeta(0, 2, table.schema.by_name["v"].id),
        )  # fmt: skip
        TableCommit(table, f"java {part}").append([CommitMessage(place, 0, -1, index_entries=(index,))])
    compact(table)
    entries = read_index_manifest(table.file_io, table.location, latest(table).index_manifest)
    assert [entry.file_name for entry in entries] == ["global-2"]


def test_vectors_of_files_of_their_own_are_refused(tmp_path: Path) -> None:
    table = evolved(tmp_path, {**NEW_IDS, "vector.file.format": "parquet"})
    put(table, 1)
    (message,) = changed(table, "v", {1: "a"})
    (file,) = message.new_files
    apart = file._replace(file_name=file.file_name.replace("data-", "data-1.vector."))
    delete_ids(table, 0)
    TableCommit(table, "java").append([replace(message, new_files=(apart,))])
    with pytest.raises(UnsupportedFeature, match="get no new ids, neither here nor in the official system"):
        tasks_of(table)


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


def test_columns_that_lie_apart_are_left_to_the_official_system(tmp_path: Path) -> None:
    table = evolved(tmp_path)
    put(table, 1)
    (message,) = changed(table, "v", {1: "a"})
    (file,) = message.new_files
    apart = file._replace(file_name=file.file_name.replace("data-", "data-1.vector."))
    TableCommit(table, "java").append([replace(message, new_files=(apart,))])
    with pytest.raises(UnsupportedFeature, match="apart from the others, and the table has no option"):
        tasks_of(table)
