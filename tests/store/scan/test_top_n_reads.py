"""Reads of the rows that come first in an order: equal to those of a sorted read of all rows, on random tables."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cmp_to_key
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.draws.counted_tables import CountedRead, draw_reads
from support.faults.counting_store import CountingStore
from support.long_runs import tries
from support.tables.compacting import compact, make, write
from support.tables.golden_tables import GoldenTable, readable_tables

from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.arrow.types import to_internal
from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.table_statistics import ANALYZED
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.commit.vector_files import find_vector_files
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.pruning.top_n import TopN
from paimon_spark.store.read.splits import ReadUnit, Split
from paimon_spark.store.rows.live_files import BucketPlace, delete_rows
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.tables.open import open_table

TABLES = tries("PAIMON_TOP_TABLES", ci=15, long=1000)
SEED = tries("PAIMON_TOP_SEED", ci=0)


def in_order(values: Sequence[Any], first: TopN) -> list[Any]:
    """Internal values in the order of Spark, whichever way the rows are found: NaN is the greatest."""
    present = sorted((v for v in values if v is not None), key=cmp_to_key(compare_values), reverse=first.descending)
    nulls = [None] * (len(values) - len(present))
    return [*nulls, *present] if first.nulls_first else [*present, *nulls]


def internal(column: pa.ChunkedArray) -> list[Any]:
    return [to_internal(value) if value.is_valid else None for value in column]


def alike(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    return compare_values(one, other) == 0


def test_the_first_rows_are_those_of_a_sorted_read(tmp_path: Path) -> None:
    roads: Counter[str] = Counter()
    for number in range(SEED, SEED + TABLES):
        random = Random(number)
        for read in draw_reads(random, tmp_path, indexed=True):
            for _ in range(3):
                try:
                    check(read, random, roads)
                except Exception as error:
                    raise AssertionError(f"table {number}, {read}") from error
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    print(dict(roads))
    assert min(roads["files"], roads["rows"]) > TABLES / 20


def check(read: CountedRead, random: Random, roads: Counter[str]) -> None:
    """Compares the values of the first rows; and that all rows of the last value are there where they are wanted."""
    table = open_table(read.path, read.options)
    scan = table.scan(where=read.where)
    field = random.choice([field for field in table.schema.fields if field.type.root in ANALYZED])
    first = TopN(
        field.name,
        random.choice([1, 1, 2, 3, 5, 9, 40]),
        descending=random.random() < 0.5,
        nulls_first=random.random() < 0.5,
        with_ties=random.random() < 0.5,
    )
    every = in_order(internal(scan.to_arrow().column(field.name)), first)
    wanted = every[: first.count]
    if not first.with_ties:
        top = scan.top(field.name, first.count, first.descending, first.nulls_first)
        found = internal(top.column(field.name))
    else:
        rows = in_order(internal(scan.with_top_n(first).to_arrow().column(field.name)), first)
        wanted = every[: max((i + 1 for i, v in enumerate(every) if wanted and alike(v, wanted[-1])), default=0)]
        found = rows[: len(wanted)]
    assert len(found) == len(wanted), first
    assert all(map(alike, found, wanted)), (first, found, wanted)
    if not reads_increment(table.settings):
        plan = scan.with_top_n(first).plan()
        roads["files"] += plan.skipped_by_order > 0
        roads["rows"] += any(getattr(split, "selections", None) for split in plan.splits)
        roads["all"] += not plan.skipped_by_order


@pytest.mark.parametrize("golden", readable_tables(), ids=str)
def test_the_first_rows_of_genuine_tables(golden: GoldenTable, tmp_path: Path) -> None:
    """Statistics and indexes of every writer leave out rows, and never too many."""
    table = open_table(str(golden.unpack(tmp_path)))
    scan = table.scan()
    rows = scan.to_arrow()
    for number, field in enumerate(field for field in table.schema.fields if field.type.root in ANALYZED):
        first = TopN(field.name, 1 + number % 3, descending=number % 2 == 1, nulls_first=number % 4 < 2)
        wanted = in_order(internal(rows.column(field.name)), first)[: first.count]
        top = scan.top(field.name, first.count, first.descending, first.nulls_first)
        found = internal(top.column(field.name))
        assert len(found) == len(wanted), first
        assert all(map(alike, found, wanted)), (first, found, wanted)


# ------------------------------------------------------------------------------------------------------ what is opened

COLUMNS = pa.schema([("p", pa.string()), ("n", pa.int64()), ("s", pa.string()), ("x", pa.float64())])
INDEXED = {"file-index.range-bitmap.columns": "n,x", "file-index.in-manifest-threshold": "0 b"}


def append_table(path: Path, *parts: Sequence[Any], **options: str) -> None:
    table = make(path, COLUMNS, (), {"bucket": "-1", **options}, ("p",))
    for part in parts:
        write(table, part)


def rows(first: int, count: int = 10, partition: str = "a") -> list[Any]:
    return [(partition, n, f"s{n:04}", n / 2) for n in range(first, first + count)]


def counted(path: Path, **options: str) -> tuple[ReadableTable, CountingStore]:
    """The table, and the store that notes what is opened from now on."""
    table = open_table(str(path), options)
    store = CountingStore(table.file_io)
    return replace(table, file_io=store), store  # type: ignore[arg-type]  # it passes everything on


@pytest.mark.parametrize(("descending", "expected"), [(False, [0, 1, 2]), (True, [209, 208, 207])])
def test_statistics_leave_one_file(tmp_path: Path, descending: bool, expected: list[int]) -> None:
    append_table(tmp_path, rows(0), rows(100), rows(200))
    table, store = counted(tmp_path)
    assert table.scan().top("N", 3, descending).column("n").to_pylist() == expected
    assert len(store.names(".parquet")) == 1


def test_texts_are_left_out_by_bounds_that_may_be_cut(tmp_path: Path) -> None:
    long = "x" * 40
    parts = [[("a", 1, long + "b", None)] * 2, [("a", 2, long + "a", None)] * 2, [("a", 3, "y" * 40, None)] * 2]
    append_table(tmp_path, *parts)
    table, store = counted(tmp_path)
    assert table.scan().top("s", 2).column("n").to_pylist() == [2, 2]
    assert len(store.names(".parquet")) == 2  # of the first two the bounds are the same
    assert table.scan().top("s", 1, descending=True).column("n").to_pylist() == [3]


def test_partition_columns_need_no_statistics(tmp_path: Path) -> None:
    parts = (rows(0, partition="2026-11-01"), rows(0, partition="2026-11-02"), rows(0, partition="2026-11-03"))
    append_table(tmp_path, *parts, **{"metadata.stats-mode": "none"})
    table, store = counted(tmp_path)
    assert set(table.scan().top("p", 10, descending=True).column("p").to_pylist()) == {"2026-11-03"}
    assert len(store.names(".parquet")) == 1


def test_conditions_on_partitions_alone(tmp_path: Path) -> None:
    """Rows that come first may not satisfy another condition, so nothing is left out because of the order."""
    append_table(tmp_path, rows(0), rows(100), rows(200), rows(300, partition="b"))
    table, store = counted(tmp_path)
    assert table.scan(where="p = 'a'").top("n", 1, descending=True).column("n").to_pylist() == [209]
    assert len(store.names(".parquet")) == 1
    assert table.scan(where="s < 's0105'").top("n", 1, descending=True).column("n").to_pylist() == [104]
    assert table.scan(where="s < 's0105'").with_top_n(TopN("n", 1)).plan().skipped_by_order == 0


def test_an_index_leaves_the_first_rows_of_a_file(tmp_path: Path) -> None:
    append_table(tmp_path, rows(0, 1000), **{**INDEXED, "metadata.stats-mode": "none"})
    table, store = counted(tmp_path)
    plan = table.scan().with_top_n(TopN("x", 5, descending=True)).plan()
    assert [list(split.selections) for split in plan.splits if hasattr(split, "selections")] == [
        [file.file_name for split in plan.splits for file in split.files]
    ]
    assert len(store.names(".index")) == 1
    read = table.scan().with_top_n(TopN("x", 5, descending=True)).to_arrow()
    assert sorted(read.column("n").to_pylist()) == [995, 996, 997, 998, 999]
    off = open_table(str(tmp_path), {"file-index.read.enabled": "false"})
    assert off.scan().with_top_n(TopN("x", 5, descending=True)).to_arrow().num_rows == 1000


def interleaved(files: int, rows: int) -> list[list[Any]]:
    """Rows of files whose bounds overlap: the n of a file are its number, and then every so many."""
    return [[("a", i * files + file, None, float(-i)) for i in range(rows)] for file in range(files)]


@pytest.mark.parametrize(("descending", "expected"), [(False, [0, 1, 2]), (True, [799, 798, 797])])
def test_indexes_of_all_files_leave_the_files_of_the_first_rows(
    tmp_path: Path, descending: bool, expected: list[int]
) -> None:
    append_table(tmp_path, *interleaved(8, 100), **{**INDEXED, "metadata.stats-mode": "none"})
    table, store = counted(tmp_path)
    assert table.scan().top("n", 3, descending).column("n").to_pylist() == expected
    assert len(store.names(".parquet")) == 3
    plan = table.scan().with_top_n(TopN("n", 3, descending)).plan()
    assert plan.skipped_by_order == 5
    ties = table.scan().with_top_n(TopN("x", 3, with_ties=False, descending=True)).to_arrow()
    assert set(ties.column("x").to_pylist()) == {0.0}, "each file has a row of the greatest value"
    assert ties.num_rows == 8


def test_files_of_nulls_are_read_where_nulls_come_first(tmp_path: Path) -> None:
    parts = interleaved(4, 50)
    parts[3][7] = ("a", None, "null", 0.0)
    append_table(tmp_path, *parts, **{**INDEXED, "metadata.stats-mode": "none"})
    table, store = counted(tmp_path)
    assert table.scan().top("n", 2).column("n").to_pylist() == [None, 0]
    assert len(store.names(".parquet")) == 2, "that with NULL, which leaves one value; and that with 0"
    assert table.scan().top("n", 2, nulls_first=False).column("n").to_pylist() == [0, 1]
    assert table.scan().top("n", 200, nulls_first=False).column("n").to_pylist()[-1] is None


def test_deleted_rows_are_no_values(tmp_path: Path) -> None:
    """A file whose first rows are deleted does not leave out others."""
    options = {**INDEXED, "metadata.stats-mode": "none", "deletion-vectors.enabled": "true"}
    append_table(tmp_path, *interleaved(2, 50), **options)
    table = open_table(str(tmp_path))
    live, (split, *_) = find_vector_files(table, table.snapshots.latest()), table.scan().plan().splits
    hidden = {next(iter(split.files)).file_name: np.arange(45)}
    place = BucketPlace(split.partition, split.bucket, -1)
    TableCommit(table, "d").append([delete_rows(table, live, place, hidden)])
    scan = open_table(str(tmp_path)).scan()
    assert sorted(scan.to_arrow().column("n").to_pylist()) == [*range(1, 90, 2), *range(90, 100)]
    assert scan.top("n", 3).column("n").to_pylist() == [1, 3, 5]
    assert scan.top("n", 3, descending=True).column("n").to_pylist() == [99, 98, 97]


def test_rows_of_one_value_are_cut_unless_others_decide(tmp_path: Path) -> None:
    append_table(tmp_path, [("a", 7, f"s{i}", None) for i in range(100)], **INDEXED)
    scan = open_table(str(tmp_path)).scan()
    assert scan.with_top_n(TopN("n", 5)).to_arrow().num_rows == 5
    assert scan.with_top_n(TopN("n", 5, with_ties=True)).to_arrow().num_rows == 100
    assert scan.with_top_n(TopN("x", 5)).to_arrow().num_rows == 5, "NULL comes first"
    assert scan.with_top_n(TopN("x", 5, nulls_first=False)).to_arrow().num_rows == 5, "there is nothing else"


def test_an_index_of_another_file_is_damaged(tmp_path: Path) -> None:
    append_table(tmp_path, rows(0, 50), rows(0, 1000), **{**INDEXED, "metadata.stats-mode": "none"})
    small, large = sorted(tmp_path.rglob("*.index"), key=lambda path: path.stat().st_size)
    small.write_bytes(large.read_bytes())
    with pytest.raises(CorruptFile, match="the index is of another file"):
        open_table(str(tmp_path)).scan().top("n", 3, descending=True)


def test_rows_that_must_be_merged_are_read(tmp_path: Path) -> None:
    """A file whose rows others replace does not tell which come first."""
    table = make(tmp_path / "t", COLUMNS, ("n",), {"bucket": "1", "write-only": "true"})
    write(table, [(None, n, "old", float(n)) for n in range(10)])
    write(table, [(None, n, "new", float(100 + n)) for n in range(5)])
    write(table, [(None, n, "far", float(n)) for n in range(50, 60)])
    scan = open_table(str(tmp_path / "t")).scan()
    assert scan.top("x", 2).column("x").to_pylist() == [5.0, 6.0]
    assert scan.top("n", 2, descending=True).column("n").to_pylist() == [59, 58]
    assert scan.with_top_n(TopN("n", 2)).plan().skipped_by_order == 0, "of these rows one may be the first"
    write(table, [(None, n, "farther", float(n)) for n in range(70, 80)])
    assert scan.with_top_n(TopN("n", 2)).plan().skipped_by_order == 1
    compact(open_table(str(tmp_path / "t")))
    assert open_table(str(tmp_path / "t")).scan().top("x", 2).column("x").to_pylist() == [5.0, 6.0]


def test_the_explanation_tells_what_the_order_leaves(tmp_path: Path) -> None:
    append_table(tmp_path, rows(0), rows(100), rows(200))
    told = str(open_table(str(tmp_path)).scan().with_top_n(TopN("n", 3)).explain())
    assert "left by the order and its limit: 1" in told
    assert "read: 1 files with 10 rows" in told
    assert "left by the order" not in str(open_table(str(tmp_path)).scan().explain())


def test_what_is_refused(tmp_path: Path) -> None:
    append_table(tmp_path / "t", rows(0))
    table = open_table(str(tmp_path / "t"))
    with pytest.raises(OptionError, match="no column 'm'"):
        table.scan().top("m", 1)
    with pytest.raises(OptionError, match="'n' of the order is not among the columns"):
        table.scan("s").top("n", 1)
    with pytest.raises(OptionError, match="-1 rows are asked for"):
        table.scan().top("n", -1)
    assert table.scan().top("n", 0).num_rows == 0
    kinds = table.scan(row_kinds=True)
    with pytest.raises(OptionError, match="the table has no such column"):
        kinds.top("_row_kind", 1)
    binary = make(tmp_path / "b", pa.schema([("l", pa.list_(pa.int32()))]), (), {"bucket": "-1"})
    with pytest.raises(UnsupportedFeature, match="have no order"):
        open_table(binary.location).scan().top("l", 1)


@pytest.mark.parametrize("keys", [("n",), ("n", "s"), ("p", "n")], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_reading_ends_with_the_first_keys(tmp_path: Path, keys: tuple[str, ...], seed: int) -> None:
    """Files with a key are sorted by it, and so are the rows that are merged: no more are read than are wanted."""
    random = Random(f"{keys} {seed}")
    table = make(tmp_path / "t", COLUMNS, keys, {"bucket": "2"}, keys[:-1] if keys[0] == "p" else ())
    for _ in range(6):
        some = [(random.choice("ab"), random.randrange(300), f"s{random.randrange(3)}", 0.5) for _ in range(60)]
        write(table, some, random.choices(["+I", "-D"], [3, 1], k=60))
        if random.random() < 0.3:
            compact(table, full=random.random() < 0.5)
    scan = open_table(str(tmp_path / "t")).scan()
    numbers = sorted(scan.to_arrow().column("n").to_pylist())
    parts = sum(len(split.raw_files) + len(split.sections) for split in map(as_split, scan.plan().splits))
    for count, with_ties in ((1, False), (5, False), (5, True), (40, False), (1000, True)):
        found = sorted(scan.with_top_n(TopN("n", count, with_ties=with_ties)).to_arrow().column("n").to_pylist())
        last = numbers[:count][-1]
        wanted = [n for n in numbers if n <= last] if with_ties else numbers[:count]
        assert found[: len(wanted)] == wanted, (count, with_ties)
        assert len(found) <= count * parts or (with_ties and keys == ("n", "s")), (count, with_ties)


def as_split(unit: ReadUnit) -> Split:
    assert isinstance(unit, Split)
    return unit


def test_other_orders_are_read_whole(tmp_path: Path) -> None:
    """The order of a key does not tell which rows come first by another column, or last by its own."""
    table = make(tmp_path / "t", COLUMNS, ("n", "s"), {"bucket": "1"})
    for value in ("old", "new"):
        write(table, [("a", n, value, float(-n)) for n in range(100)])
    scan = open_table(str(tmp_path / "t")).scan()
    for first in (TopN("s", 2), TopN("x", 2), TopN("n", 2, descending=True), TopN("n", 2, with_ties=True)):
        assert scan.with_top_n(first).to_arrow().num_rows == 200, first
    assert scan.with_top_n(TopN("n", 2)).to_arrow().num_rows == 2
    waiting = make(tmp_path / "w", COLUMNS, ("n",), {"bucket": "-2"})
    write(waiting, [("a", n, "s", None) for n in (5, 3, 1)])
    read = open_table(str(tmp_path / "w")).scan()
    every = replace(read, spec=replace(read.spec, unmerged_postponed=True))
    assert sorted(every.with_top_n(TopN("n", 1)).to_arrow().column("n").to_pylist()) == [1, 3, 5]
