"""Sorts among other jobs, and with storage that fails: nothing is lost, nothing is doubled, nothing is left behind."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points
from support.oracles.checker import check_table
from support.tables.compacted_tables import live_names, stored_files
from support.tables.compacting import compact, rows_of, write
from support.tables.sorting import PLAIN, SmallParts, delete_rows, same, unordered

from paimon_spark.errors import CommitStateUnknown, PaimonError
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.tables.open import open_table

VECTORS = {**PLAIN, "deletion-vectors.enabled": "true"}
NEW = [(1000 + k, "new", 0.5) for k in range(9)]


def test_rows_that_are_appended_concurrently_are_kept(tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", 4, 100)
    result = sort_table(table, "zorder", ["k", "x"], run=SmallParts(before=[partial(write, table, NEW)]))
    assert (result.snapshot_ids, result.files_before, result.dropped) == ((6,), 4, ())
    assert same(rows_of(table), [*given, *NEW])
    check_table(table.location)


def test_rows_that_are_deleted_concurrently_do_not_come_back(tmp_path: Path) -> None:
    """The vectors are others than those that were read: the partition is sorted again."""
    table, given = unordered(tmp_path / "t", 4, 100, VECTORS)
    run = SmallParts(after=[lambda: delete_rows(table, lambda row: row[0] is None)])
    result = sort_table(table, "order", ["k"], run=run)
    left = [row for row in given if row[0] is not None]
    assert (result.rows_after, result.dropped) == (len(left), ())
    assert same(rows_of(table), left)
    assert stored_files(table) >= live_names(table)
    check_table(table.location)


def test_a_partition_that_others_always_change_is_left_out(tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", 4, 100, {**VECTORS, "compaction.min.file-num": "1"})
    gone = sorted({k for k, _, _ in given if k is not None})[:3]
    numbers = iter(gone)

    def delete_one() -> None:
        number = next(numbers)
        delete_rows(table, lambda row: row[0] == number)

    run = SmallParts(after=[delete_one] * 3)
    before = live_names(table)
    result = sort_table(table, "order", ["k"], run=run)
    assert (result.snapshot_ids, [bucket.bucket for bucket in result.dropped]) == ((), [0])
    assert "deletion vectors" in result.dropped[0].reason
    assert live_names(table) == before == stored_files(table)
    assert same(rows_of(table), [row for row in given if row[0] not in gone])


def test_files_that_are_compacted_concurrently_are_sorted_again(tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", 6, 50, {**PLAIN, "compaction.min.file-num": "2"})
    result = sort_table(table, "order", ["k"], run=SmallParts(before=[lambda: compact(table)]))
    assert (result.snapshot_ids, result.files_before) == ((8,), 1)
    assert same(rows_of(table), given)
    assert stored_files(table) >= live_names(table)


def test_whatever_fails_the_table_is_as_it_was_or_sorted(tmp_path: Path) -> None:
    log = FaultyFileIO(LocalFileIO())
    table, given = unordered(tmp_path / "clean", 3, 30)
    sort_table(replace(table, file_io=log), "order", ["k"], run=SmallParts(1000, 1000))
    for number, (at, when) in enumerate(fault_points(log.log, 4)):
        table, given = unordered(tmp_path / f"t{number}", 3, 30)
        before = live_names(table)
        io = FaultyFileIO(LocalFileIO(), at, when)
        try:
            sort_table(replace(table, file_io=io), "order", ["k"], run=SmallParts(1000, 1000))
        except CommitStateUnknown:
            assert same(rows_of(table), given)
            continue
        except (PaimonError, InjectedFault):
            assert live_names(table) == before, (log.log[at], at, when)
        assert same(rows_of(open_table(table.location)), given), (log.log[at], at, when)
        check_table(table.location)
