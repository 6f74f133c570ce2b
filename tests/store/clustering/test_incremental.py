"""Incremental clustering: which files are sorted when, the levels of new files, other partitions that are idle."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.compacting import live_files, make, rows_of, write
from support.tables.sorting import COLUMNS, PLAIN, SmallParts, delete_rows, same, unordered

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.procedures.local_engine import LocalEngine
from paimon_spark.procedures.rewrites import Compact
from paimon_spark.store.clustering.incremental import cluster_incrementally
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

INCREMENTAL = {**PLAIN, "clustering.incremental": "true", "clustering.columns": "k,x"}
PARTS = pa.schema([("p", pa.string()), ("k", pa.int32())])


def levels(table: Table) -> list[int]:
    return sorted(file.level for file in live_files(table))


def test_new_files_wait_until_there_are_enough(tmp_path: Path) -> None:
    """Five runs start a compaction; sorted files are read again only when the new ones are large beside them."""
    table, given = unordered(tmp_path / "t", 4, 200, INCREMENTAL)
    table = open_table(table.location)
    assert cluster_incrementally(table).snapshot_ids == ()
    write(table, given[:200])
    assert Compact().run(table, LocalEngine()).files_before == 5
    assert set(levels(table)) == {5}
    for _ in range(4):
        write(table, given[:50])
    result = cluster_incrementally(open_table(table.location))
    assert (result.files_before, levels(table)) == (4, [4, 5])
    assert same(rows_of(table), [*given, *given[:200], *given[:50] * 4])
    check_table(table.location)


def test_a_full_clustering_and_one_with_nothing_to_do(tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", 2, 200, {**INCREMENTAL, "num-levels": "3"})
    run = SmallParts()
    assert cluster_incrementally(table, full=True, run=run).files_before == 2
    assert set(levels(table)) == {2}
    assert cluster_incrementally(open_table(table.location), full=True).snapshot_ids == ()
    set_option(open_table(table.location), "clustering.columns", "v")
    again = SmallParts()
    assert cluster_incrementally(open_table(table.location), full=True, run=again).rows_after == 400
    texts = [(v is not None, v or "") for _, v, _ in again.rows()]
    assert texts == sorted(texts)
    assert same(rows_of(table), given)
    check_table(table.location)


def test_rows_sorted_locally_stay_with_those_of_their_files(tmp_path: Path) -> None:
    options = {**INCREMENTAL, "clustering.columns": "v", "clustering.incremental.mode": "local-sort"}
    table, given = unordered(tmp_path / "t", 3, 100, options)
    run = SmallParts(1, 1)
    assert cluster_incrementally(table, full=True, run=run).files_after == 3
    found = [v or "" for _, v, _ in run.rows()]
    assert [found[at : at + 100] == sorted(found[at : at + 100]) for at in (0, 100, 200)] == [True] * 3
    assert found != sorted(found)
    assert same(rows_of(table), given)


def test_rows_that_are_deleted_are_left_out(tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", 3, 50, {**INCREMENTAL, "deletion-vectors.enabled": "true"})
    delete_rows(table, lambda row: row[0] is None)
    cluster_incrementally(open_table(table.location), full=True)
    assert same(rows_of(table), [row for row in given if row[0] is not None])
    check_table(table.location)


def test_rows_that_are_appended_concurrently_stay_on_level_0(tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", 3, 50, INCREMENTAL)
    run = SmallParts(before=[partial(write, table, given[:9])])
    assert cluster_incrementally(table, full=True, run=run).files_before == 3
    assert levels(table) == [0, *[5] * (len(levels(table)) - 1)]
    assert same(rows_of(table), [*given, *given[:9]])


def partitions_of(table: Table) -> dict[str, set[int]]:
    """The levels of the files of each partition."""
    found: dict[str, set[int]] = {}
    for split in open_table(table.location).scan().plan().splits:
        for file in split.files:
            found.setdefault(split.partition[12:].rstrip(b"\0").decode()[:1] or "?", set()).add(file.level)
    return found


def test_partitions_that_are_idle_are_sorted_as_a_whole(tmp_path: Path) -> None:
    options = {**PLAIN, "clustering.incremental": "true", "clustering.columns": "k"}
    table = make(tmp_path / "t", PARTS, [], options, ["p"])
    for p in "abcd":
        write(table, [(p, 1), (p, 2)])
    idle = {"clustering.history-partition.idle-to-full-sort": "1 ms", "clustering.history-partition.limit": "2"}
    assert cluster_incrementally(open_table(table.location, idle)).buckets == 0
    waits = {**idle, "clustering.history-partition.idle-to-full-sort": "1 d"}
    assert cluster_incrementally(open_table(table.location, waits), where="p = 'd'").buckets == 0
    result = cluster_incrementally(open_table(table.location, idle), where="p = 'd'")
    assert (result.buckets, levels(table)) == (2, [0, 0, 5, 5])
    result = cluster_incrementally(open_table(table.location, idle), where="p = 'd'")
    assert (result.buckets, levels(table)) == (1, [0, 5, 5, 5])
    assert rows_of(table) == [(p, k) for p in "abcd" for k in (1, 2)]


def test_what_cannot_be_clustered_is_refused(tmp_path: Path) -> None:
    table, _ = unordered(tmp_path / "t", 1, 3, INCREMENTAL)
    without = open_table(table.location, {"clustering.columns": ""})
    with pytest.raises(OptionError, match="names no column to sort by"):
        cluster_incrementally(without)
    with pytest.raises(OptionError, match="'nope', which is no column"):
        cluster_incrementally(open_table(table.location, {"clustering.columns": "nope"}))
    with pytest.raises(UnsupportedFeature, match="is clustered incrementally"):
        Compact(order_strategy="order", order_by="k").run(table, LocalEngine())
    buckets = {**INCREMENTAL, "bucket": "2", "bucket-key": "k", "bucket-append-ordered": "false"}
    with pytest.raises(UnsupportedFeature, match="without a primary key and without buckets"):
        Compact().run(make(tmp_path / "b", COLUMNS, [], buckets), LocalEngine())


def test_a_table_of_keys_is_not_clustered(tmp_path: Path) -> None:
    keyed = make(tmp_path / "t", COLUMNS, ["k"], {})
    with pytest.raises(UnsupportedFeature, match="without a primary key"):
        cluster_incrementally(replace(keyed, settings=keyed.settings))
