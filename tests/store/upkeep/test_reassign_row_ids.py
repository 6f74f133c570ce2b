"""New ids for the rows of partitions (Java: DataEvolutionRowIdReassignerTest, release 2.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, fault_points
from support.oracles.checker import check_table
from support.tables.column_changes import COLUMNS, VECTORS, changed, commit, delete, evolved, put, rows_with_ids, update
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import compact, live_files, make, write
from support.tables.files_by_hand import file as data_file

from paimon_spark.errors import CommitConflict, CorruptFile, OptionError, PaimonError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import FileKind, GlobalIndexMeta, IndexManifestEntry
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.compaction import compact_table, run_here
from paimon_spark.store.compact.outcomes import Outcome
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.manifest_files import read_index_manifest
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.reassign_row_ids import reassign_row_ids
from paimon_spark.tables.open import open_table


class Here:
    """Runs the tasks in this process."""

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        return [run_here(table, task) for task in tasks]

    def stop(self) -> None:
        """Nothing runs beside the caller."""


OF_ONE, OF_TWO = 1, 2


def in_turns(path: Path, options: Mapping[str, str] | None = None) -> Table:
    """Partitioned by `w`: rows 1 to 4 with the ids 0 to 3, by turns in the partitions 1 and 2."""
    table = evolved(path, options, ["w"])
    for key in (1, 2, 3, 4):
        write(table, [(key, f"v{key}", OF_TWO if key % 2 else OF_ONE)])
    return table


def ids(table: Table) -> dict[object, object]:
    return {row[0]: row[3] for row in rows_with_ids(table)}


def test_partitions_get_consecutive_ids_in_their_order(tmp_path: Path) -> None:
    table = in_turns(tmp_path)
    update(table, "v", {1: "a"})
    before, base = rows_with_ids(table), latest(table)
    done = reassign_row_ids(table)
    assert (done.partitions, done.files, done.rows, done.first_row_id, done.next_row_id) == (2, 5, 4, 4, 8)
    assert ids(table) == {2: 4, 4: 5, 1: 6, 3: 7}
    assert [row[:3] + row[4:] for row in rows_with_ids(table)] == [row[:3] + row[4:] for row in before]
    made = latest(table)
    assert (made.id, made.commit_kind, made.next_row_id) == (base.id + 1, CommitKind.OVERWRITE, 8)
    assert (made.total_record_count, made.delta_record_count) == (base.total_record_count, 0)
    check_table(table.location)
    assert reassign_row_ids(table).snapshot_id is None
    compact(open_table(table.location, {"compaction.min.file-num": "2"}))
    assert sorted(file.row_count for file in live_files(table)) == [2, 2]
    put(table, 9)
    assert ids(table)[9] == 8


def test_chosen_partitions(tmp_path: Path) -> None:
    table = in_turns(tmp_path)
    assert reassign_row_ids(table, "w = 2").rows == 2
    assert ids(table) == {1: 4, 3: 5, 2: 1, 4: 3}
    with pytest.raises(OptionError, match="k is no partition column"):
        reassign_row_ids(table, "k = 1")


def test_long_runs_keep_their_ids(tmp_path: Path) -> None:
    table = evolved(tmp_path, {"data-evolution.reassign.skip-contiguous-row-count": "2"}, ["w"])
    for keys in ((1, 2, 3), (4,), (5, 6), (7,), (8, 9)):
        write(table, [(key, "", OF_ONE if len(keys) > 1 else OF_TWO) for key in keys])
    reassign_row_ids(table, "w = 1")
    assert ids(table) == {1: 0, 2: 1, 3: 2, 4: 3, 5: 9, 6: 10, 7: 6, 8: 11, 9: 12}


def test_a_table_without_partitions_keeps_its_ids(tmp_path: Path) -> None:
    table = evolved(tmp_path, VECTORS)
    put(table, 1)
    assert reassign_row_ids(table).snapshot_id is None
    assert reassign_row_ids(evolved(tmp_path / "empty", None, ["w"])).snapshot_id is None


def test_deleted_rows_stay_deleted(tmp_path: Path) -> None:
    table = in_turns(tmp_path, VECTORS)
    TableCommit(table, "one").append(delete(table, 2), operation="DELETE")
    reassign_row_ids(table)
    assert ids(table) == {2: 4, 4: 5, 1: 6}
    update(table, "v", {4: "a", 1: "b"})
    assert [row[:4] for row in rows_with_ids(table)] == [(1, "b", 2, 6), (2, "v2", 1, 4), (4, "a", 1, 5)]
    check_table(table.location)


# -------------------------------------------------------------------------------------------------------- other writers


def test_rows_that_come_between_are_planned_again(tmp_path: Path) -> None:
    table = in_turns(tmp_path)
    done = reassign_row_ids(with_rivals(table, partial(write, table, [(5, "v5", OF_ONE)])))
    assert (done.rows, done.first_row_id) == (5, 5)
    assert ids(table) == {2: 5, 4: 6, 5: 7, 1: 8, 3: 9}
    check_table(table.location)


def test_a_change_that_was_computed_before_is_refused(tmp_path: Path) -> None:
    table = in_turns(tmp_path)
    late = changed(table, "v", {1: "late"})
    reassign_row_ids(table)
    with pytest.raises(CommitConflict, match="which are no longer the rows of other files"):
        commit(table, late, read=4)
    check_table(table.location)


def test_a_compaction_that_was_planned_before_is_planned_again(tmp_path: Path) -> None:
    table = evolved(tmp_path, {"compaction.min.file-num": "2"}, ["w"])
    for number in (1, 1, 2, 1):
        write(table, [(number, "", number)])
    done = compact_table(with_rivals(table, partial(reassign_row_ids, table)), Here(), full=True)
    assert (len(done.snapshot_ids), done.dropped) == (1, ())
    assert sorted((f.first_row_id, f.row_count) for f in live_files(table)) == [(2, 1), (4, 3)]
    check_table(table.location)


# -------------------------------------------------------------------------------------------------------------- indexes


def index(table: Table, name: str, first: int, last: int, part: int = OF_ONE) -> CommitMessage:
    place = encode_arity_row([part], table.schema.partition_types)
    meta = GlobalIndexMeta(first, last, table.schema.by_name["v"].id)
    entry = IndexManifestEntry(FileKind.ADD, place, 0, "btree", name, 0, 1, global_index=meta)
    return CommitMessage(place, 0, -1, index_entries=(entry,))


def test_indexes_of_the_whole_table_follow_or_go(tmp_path: Path) -> None:
    table = evolved(tmp_path, {"data-evolution.reassign.skip-contiguous-row-count": "2"}, ["w"])
    for key, part in ((1, 1), (2, 1), (3, 2), (4, 1), (5, 2), (6, 1), (7, 1), (8, 1)):
        write(table, [(key, "", part)])
    found = [("both", 0, 1), ("one", 3, 3), ("across", 1, 3), ("long", 5, 7)]
    messages = [index(table, name, first, last) for name, first, last in found]
    TableCommit(table, "java").append([*messages, index(table, "other", 2, 2, OF_TWO)])
    assert reassign_row_ids(table, "w = 1").index_files == 2
    entries = read_index_manifest(table.file_io, table.location, latest(table).index_manifest)
    named = {e.file_name: e.global_index for e in entries}
    ranges = {name: (m.row_range_start, m.row_range_end) for name, m in named.items() if m is not None}
    assert ranges == {"both": (8, 9), "one": (10, 10), "long": (5, 7), "other": (2, 2)}


# -------------------------------------------------------------------------------------------------- refusals and faults


def test_what_has_no_ids_to_change(tmp_path: Path) -> None:
    plain = make(tmp_path / "plain", COLUMNS, [], {"bucket": "-1", "row-tracking.enabled": "true"}, ["w"])
    with pytest.raises(OptionError, match=r"has not 'data-evolution\.enabled' = 'true'"):
        reassign_row_ids(plain)
    table = in_turns(tmp_path)
    place = encode_arity_row([OF_ONE], table.schema.partition_types)

    def added(**facts: object) -> Sequence[CommitMessage]:
        held = data_file("held")._replace(row_count=1, **facts)  # type: ignore[arg-type]  # of several attributes
        return [CommitMessage(place, 0, -1, new_files=(held,))]

    TableCommit(table, new_user(table)).append(added(write_cols=("k", "_ROW_ID"), first_row_id=None))
    with pytest.raises((UnsupportedFeature, CorruptFile), match="giving rows new ids"):
        reassign_row_ids(table)


@pytest.mark.parametrize("lasting", [False, True], ids=["one fault", "store goes away"])
def test_whatever_fails_the_ids_are_old_or_new(tmp_path: Path, lasting: bool) -> None:
    io = FaultyFileIO(LocalFileIO())
    first = in_turns(tmp_path / "first", VECTORS)
    reassign_row_ids(replace(first, file_io=io))
    for number, (at, when) in enumerate(fault_points(io.log, 8)):
        table = in_turns(tmp_path / str(number), VECTORS)
        faulty = replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, lasting=lasting))
        with suppress(OSError, PaimonError):
            reassign_row_ids(faulty)
        assert ids(table) in ({1: 0, 2: 1, 3: 2, 4: 3}, {2: 4, 4: 5, 1: 6, 3: 7}), f"{io.log[at]} #{at} {when}"
        check_table(table.location)
