"""Sorting the files of append tables: rows, their order, the ranges of files, partitions, deletion vectors."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.compacting import live_files, make, rows_of, write
from support.tables.sorting import COLUMNS, PLAIN, Rows, SmallParts, delete_rows, same, unordered

from paimon_spark.errors import OptionError, PaimonError, PredicateError, UnsupportedFeature
from paimon_spark.format.manifest import FileSource
from paimon_spark.format.snapshot import CommitKind
from paimon_spark.merge.clustering.sort_keys import sort_keys, sorted_rows
from paimon_spark.merge.clustering.strategy import new_clustering
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.compact_call import sort_on_call
from paimon_spark.tables.open import open_table


def batch_of(rows: Rows) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, COLUMNS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def are_in_order(table: Table, strategy: str, columns: list[str], rows: Rows) -> bool:
    keys = sort_keys(batch_of(rows), new_clustering(table.schema, table.settings, strategy, columns))
    return repr(keys.to_pylist()) == repr(keys.take(pa.array(sorted_rows(keys))).to_pylist())


@pytest.mark.parametrize("run", [SmallParts(10**9), SmallParts()], ids=["one range", "many"])
@pytest.mark.parametrize(
    ("strategy", "columns"),
    [("order", ["k"]), ("order", ["v", "x"]), ("zorder", ["k", "x"]), ("ZORDER", ["v"]), ("hilbert", ["k", "v", "x"])],
)
def test_rows_are_the_same_and_in_order(tmp_path: Path, run: SmallParts, strategy: str, columns: list[str]) -> None:
    table, given = unordered(tmp_path / "t")
    result = sort_table(table, strategy, columns, run=run)
    assert (result.snapshot_ids, result.files_before, result.rows_before, result.rows_after) == ((7,), 6, 2400, 2400)
    assert same(rows_of(table), given)
    assert are_in_order(table, strategy, columns, run.rows())
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    assert (snapshot.commit_kind, snapshot.total_record_count) == (CommitKind.COMPACT, 2400)
    assert {(file.level, file.file_source) for file in live_files(table)} == {(0, FileSource.COMPACT)}
    check_table(table.location)


def test_a_sort_makes_the_ranges_of_files_narrow(tmp_path: Path) -> None:
    """After a z-order few files may hold a value of either column; before, all."""
    table, _ = unordered(tmp_path / "t", files=8, rows=2000)

    def share(where: str) -> float:
        plan = open_table(table.location).scan(where=where).plan()
        return sum(len(list(split.files)) for split in plan.splits) / len(live_files(table))

    conditions = ["k between 70 and 80", "x between 0.5 and 0.51"]
    assert [share(where) for where in conditions] == [1, 1]
    sort_table(table, "zorder", ["k", "x"], run=SmallParts(6000, 6000))
    assert len(live_files(table)) > 16
    assert max(share(where) for where in conditions) < 0.75


def test_some_of_many_files_are_sampled(tmp_path: Path) -> None:
    """Of 70 files every second one; the ranges are of about the same size all the same."""
    table, given = unordered(tmp_path / "t", files=70, rows=30)
    run = SmallParts(12_000, 12_000)
    sort_table(table, "order", ["x", "k"], run=run)
    assert run.work is not None
    assert run.work.stride(0) == 2
    sizes = [result.rows for result in run.results]
    assert max(sizes) < 3 * 70 * 30 / len(sizes)
    assert same(rows_of(table), given)


def test_files_are_rolled_at_their_target_size(tmp_path: Path) -> None:
    """Ranges are smaller than files: a task goes on with a file when its next range begins."""
    table, _ = unordered(tmp_path / "t", files=8, rows=2000)
    small = open_table(table.location, {"target-file-size": "100 kb"})
    sort_table(small, "order", ["k"], run=SmallParts(4000, 10**9))
    sizes = [file.file_size for file in live_files(table)]
    assert sorted(sizes)[1] > 60_000


def test_each_partition_is_sorted_by_itself_in_one_snapshot(tmp_path: Path) -> None:
    table = make(tmp_path / "t", pa.schema([("p", pa.string()), ("k", pa.int32())]), [], PLAIN, ["p"])
    for start in (0, 5):
        write(table, [(p, k) for p in "abc" for k in range(start, start + 100, 7)])
    run = SmallParts(10)
    result = sort_table(table, "order", ["k"], where="p <> 'c'", run=run)
    assert (result.snapshot_ids, result.buckets, result.files_before) == ((3,), 2, 4)
    for unit in (0, 1):
        keys = [k for _, k in run.rows(unit)]
        assert keys == sorted(keys)
        assert len(keys) == 30
    check_table(table.location)


def test_rows_that_are_deleted_are_left_out(tmp_path: Path) -> None:
    options = {**PLAIN, "deletion-vectors.enabled": "true"}
    table, given = unordered(tmp_path / "t", options=options)
    delete_rows(table, lambda row: (row[0] or 0) > 100)
    result = sort_table(table, "zorder", ["k", "v"], run=SmallParts())
    left = [row for row in given if not (row[0] or 0) > 100]
    assert (result.rows_before, result.rows_after) == (2400, len(left))
    assert same(rows_of(table), left)
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    assert snapshot.total_record_count == len(left)
    check_table(table.location)


def test_all_rows_deleted(tmp_path: Path) -> None:
    table, _ = unordered(tmp_path / "t", 2, 5, {**PLAIN, "deletion-vectors.enabled": "true"})
    delete_rows(table, lambda row: True)
    assert sort_table(table, "order", ["k"]).files_after == 0
    assert rows_of(table) == []


def test_an_empty_table(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, [], PLAIN)
    assert sort_table(table, "zorder", ["k", "x"]).snapshot_ids == ()
    with pytest.raises(OptionError, match="'nope', which is no column; the columns are k, v, x"):
        sort_table(table, "zorder", ["nope"])


NESTED = pa.schema([("p", pa.string()), ("k", pa.int32()), ("l", pa.list_(pa.int32()))])


@pytest.mark.parametrize(
    ("options", "strategy", "columns", "kind", "message"),
    [
        (
            PLAIN,
            "spiral",
            ["k"],
            OptionError,
            "no order of rows is called 'spiral'; there are 'order', 'zorder', 'hilb",
        ),
        (PLAIN, "order", [], OptionError, "name the columns to order by"),
        (PLAIN, "order", ["k", "k"], OptionError, "k is there twice"),
        (PLAIN, "hilbert", ["k"], OptionError, "needs at least two columns, but only k is given"),
        (PLAIN, "zorder", ["k", "p"], OptionError, "'p': it is a partition column"),
        (PLAIN, "zorder", ["k", "l"], OptionError, "'l' of type ARRAY<INT>, which has no order"),
        ({"bucket": "2", "bucket-key": "k"}, "order", ["k"], UnsupportedFeature, "the table has buckets"),
        ({"bucket": "1", "primary-key": "p,k"}, "order", ["k"], UnsupportedFeature, "the table has a primary key"),
    ],
)
def test_what_cannot_be_sorted_is_refused(
    tmp_path: Path, options: dict[str, str], strategy: str, columns: list[str], kind: type[PaimonError], message: str
) -> None:
    given = {key: value for key, value in options.items() if key != "primary-key"}
    keys = ["p", "k"] if "primary-key" in options else []
    table = make(tmp_path / "t", NESTED, keys, given, ["p"])
    with pytest.raises(kind, match=message):
        sort_table(table, strategy, columns)


def test_only_partitions_can_be_chosen(tmp_path: Path) -> None:
    table, _ = unordered(tmp_path / "t", 1, 3)
    with pytest.raises(OptionError, match="k is no partition column"):
        sort_table(table, "order", ["k"], where="k = 1")
    with pytest.raises(PredicateError):
        sort_table(table, "order", ["k"], where="nope = 1")


def test_an_old_state_is_not_sorted(tmp_path: Path) -> None:
    table, _ = unordered(tmp_path / "t")
    with pytest.raises(OptionError, match=r"compacted.*scan\.snapshot-id|scan\.snapshot-id.*compacted"):
        sort_on_call(open_table(table.location, {"scan.snapshot-id": "1"}), "order", ["k"], None, SmallParts())
    assert sort_on_call(table, "order", ["k"], None, SmallParts()).rows_after == 2400
