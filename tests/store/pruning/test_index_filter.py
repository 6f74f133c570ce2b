"""Reads leave out files, and rows in them, by file indexes: which files they open, and what they must not leave out."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from support.faults.counting_store import CountingStore
from support.tables.compacting import compact, live_files, make, rows_of, write
from support.tables.golden_tables import GoldenTable

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CorruptFile, MissingFile, UnsupportedFeature
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read import splits
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.storage import parallel
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("k", pa.int64()), ("s", pa.string()), ("n", pa.int32())])
NO_STATS = {"metadata.stats-mode": "none"}
BESIDE = {"file-index.in-manifest-threshold": "0 b"}
BLOOM = {"file-index.bloom-filter.columns": "s", "file-index.bloom-filter.s.items": "100"}
BITMAP = {"file-index.bitmap.columns": "s,n"}
RANGES = {"file-index.range-bitmap.columns": "n"}


def rows(first: int, count: int = 10, step: int = 1) -> list[tuple[int, str, int]]:
    return [(key, f"s{key}", key * step) for key in range(first, first + count)]


def counted(path: Path, **options: str) -> tuple[ReadableTable, CountingStore]:
    """The table, and the store that notes what is opened from now on."""
    table = open_table(str(path), options)
    store = CountingStore(table.file_io)
    return replace(table, file_io=store), store  # type: ignore[arg-type]  # it passes everything on


def skipped(scan: Scan) -> int:
    return scan.plan().skipped_by_index


def change(path: Path, update: SchemaUpdate) -> None:
    alter_table(open_table(str(path)), update.changes)


def append_table(path: Path, options: dict[str, str], *parts: Sequence[Any]) -> None:
    table = make(path, COLUMNS, (), {"bucket": "-1", **NO_STATS, **options})
    for part in parts:
        write(table, part)


@pytest.mark.parametrize("options", [BLOOM, BITMAP, RANGES], ids=["bloom-filter", "bitmap", "range-bitmap"])
@pytest.mark.parametrize("place", [{}, BESIDE], ids=["embedded", "beside"])
def test_only_files_that_may_match_are_opened(tmp_path: Path, options: dict[str, str], place: dict[str, str]) -> None:
    embedded = {"file-index.in-manifest-threshold": "1 mb"}
    append_table(tmp_path, options | (place or embedded), rows(0), rows(100), rows(200))
    table, store = counted(tmp_path)
    scan = table.scan(where="n = 105" if options is RANGES else "s = 's105'")
    plan = scan.plan()
    assert plan.skipped_by_index == 2
    assert len(store.names(".index")) == (3 if place else 0)
    store.opened.clear()
    assert scan.to_arrow().to_pylist() == [{"k": 105, "s": "s105", "n": 105}]
    assert len(store.names(".parquet")) == 1


def test_index_files_are_opened_only_of_files_that_statistics_leave(tmp_path: Path) -> None:
    append_table(tmp_path, BLOOM | BESIDE | {"metadata.stats-mode": "full"}, rows(0), rows(100), rows(200))
    table, store = counted(tmp_path)
    assert table.scan(where="k > 50 and s = 's105x'").to_arrow().num_rows == 0
    assert len(store.names(".index")) == 1
    store.opened.clear()
    assert table.scan(where="k > 150").to_arrow().num_rows == 10
    assert table.scan().to_arrow().num_rows == 30
    assert len(store.names(".index")) == 1  # the scan without a condition looks at none


@pytest.mark.parametrize("ending", [".index", ".parquet"])
def test_indexes_and_files_of_one_split_are_read_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """A barrier opens for two threads only. Indexes are read by this thread until three of them took long."""
    pair, numbers = threading.Barrier(2), itertools.count()

    class Store(CountingStore):
        def open_input(self, path: str, size: int | None = None) -> Any:
            if path.endswith(ending) and next(numbers) >= 3:
                pair.wait(30)
            return super().open_input(path, size)

    firsts = (0, 100, 200, 300, 400)
    append_table(tmp_path, RANGES | BESIDE, *map(rows, firsts))
    table = open_table(str(tmp_path))
    monkeypatch.setattr(parallel, "LONG_WAIT", -1)
    monkeypatch.setattr(splits, "_LEAST_PIECE", 1)
    scan = replace(table, file_io=Store(table.file_io)).scan("k", where="n >= 0")  # type: ignore[arg-type]  # it passes everything on
    assert len(open_table(str(tmp_path)).scan(where="n >= 0").plan().splits) == 1
    assert scan.to_arrow().column("k").to_pylist() == [key for first in firsts for key, *_ in rows(first)]


def test_remote_indexes_are_read_at_the_same_time_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    location = f"memory://{uuid4().hex}/t"
    create_table(location, new_schema(COLUMNS, (), (), {"bucket": "-1", **NO_STATS, **RANGES, **BESIDE}))
    table = open_table(location)
    for first in (0, 100):
        write(table, rows(first))
    pair = threading.Barrier(2)

    class Store(CountingStore):
        def open_input(self, path: str, size: int | None = None) -> Any:
            if path.endswith(".index"):
                pair.wait(30)
            return super().open_input(path, size)

    monkeypatch.setattr(parallel, "LONG_WAIT", 60)
    scan = replace(table, file_io=Store(table.file_io)).scan(where="n = 105")  # type: ignore[arg-type]  # it passes everything on
    assert scan.to_arrow().to_pylist() == [{"k": 105, "s": "s105", "n": 105}]


def test_near_indexes_are_read_without_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_table(tmp_path, RANGES | BESIDE, rows(0), rows(100), rows(200))
    monkeypatch.setattr(parallel, "LONG_WAIT", 60)
    by: list[threading.Thread] = []

    class Store(CountingStore):
        def open_input(self, path: str, size: int | None = None) -> Any:
            by.append(threading.current_thread())
            return super().open_input(path, size)

    table = open_table(str(tmp_path))
    replace(table, file_io=Store(table.file_io)).scan(where="n >= 0").plan()  # type: ignore[arg-type]  # it passes everything on
    assert by == [threading.current_thread()] * 3


def test_reads_do_without_where_the_option_says_so(tmp_path: Path) -> None:
    append_table(tmp_path, BLOOM | BESIDE, rows(0), rows(100))
    table, store = counted(tmp_path, **{"file-index.read.enabled": "false"})
    scan = table.scan(where="s = 's5'")
    assert (skipped(scan), scan.count()) == (0, 1)
    assert store.names(".index") == []
    assert len(store.names(".parquet")) == 2


@pytest.mark.parametrize(
    ("where", "left_out"),
    [
        ("s in ('s5', 's500')", 2),
        ("s = 's5' and n = 7", 3),
        ("s = 's5' or n = 105", 1),
        ("not (s = 's5')", 0),
        ("not (s <> 's5')", 2),
        ("not (s <> 's5' or n = 5)", 3),
        ("s is null", 3),
        ("s is not null", 0),
        ("n < 0", 3),
        ("n >= 205", 2),
        ("n between 20 and 99", 3),
        ("s <=> 's5'", 2),
        ("s <=> null", 3),
        ("s like 's10%'", 0),  # a bitmap knows no prefixes
        ("n <> 5 or s = 's5'", 0),
    ],
)
def test_conditions_of_all_forms(tmp_path: Path, where: str, left_out: int) -> None:
    append_table(tmp_path, {"file-index.bitmap.columns": "s"} | RANGES, rows(0), rows(100), rows(200))
    scan = open_table(str(tmp_path)).scan(where=where)
    assert skipped(scan) == left_out
    plain = open_table(str(tmp_path), {"file-index.read.enabled": "false"}).scan(where=where)
    assert scan.to_arrow().equals(plain.to_arrow())


def test_prefixes_are_ranges(tmp_path: Path) -> None:
    append_table(tmp_path, {"file-index.range-bitmap.columns": "s"}, rows(0), rows(100), rows(200))
    table = open_table(str(tmp_path))
    assert [skipped(table.scan(where=where)) for where in ("s like 's10%'", "startswith(s, 's3')", "s like '%5'")] == [
        2, 2, 0,
    ]  # fmt: skip
    assert table.scan(where="s like 's10_'").count() == 10


def test_rows_that_cannot_match_are_not_decoded(tmp_path: Path) -> None:
    append_table(tmp_path, RANGES, rows(0, 1000, step=7))
    scan = open_table(str(tmp_path)).scan(where="n = 700")
    (split,) = scan.plan().splits
    assert isinstance(split, Split)
    assert len(split.selections) == 1
    assert scan.to_arrow().to_pylist() == [{"k": 100, "s": "s100", "n": 700}]
    (many,) = open_table(str(tmp_path)).scan(where="n > 700").plan().splits
    assert isinstance(many, Split)
    assert many.selections == {}  # it would leave out little


def test_a_selection_and_a_deletion_vector_are_both_heeded(tmp_path: Path) -> None:
    """Rows of a table with deletion vectors are not merged, so that conditions on values are used."""
    options = {"deletion-vectors.enabled": "true", **NO_STATS, **RANGES}
    table = make(tmp_path, COLUMNS, ("k",), options)
    write(table, rows(0, 500))
    compact(table)
    write(table, [(7, "new", 7), (8, "gone", -1)])
    compact(table, full=False)
    for where in ("n = 7", "n = 8", "n in (7, 8, 9)", "n = -1"):
        scan = open_table(str(tmp_path)).scan(where=where)
        plain = open_table(str(tmp_path), {"file-index.read.enabled": "false"}).scan(where=where)
        assert sorted(map(repr, scan.to_arrow().to_pylist())) == sorted(map(repr, plain.to_arrow().to_pylist()))
    assert open_table(str(tmp_path)).scan(where="n = 8").count() == 0


def test_below_a_merge_only_conditions_on_keys_are_used(tmp_path: Path) -> None:
    """The file of the newer row holds no row with the old value, and must be read all the same."""
    indexes = {"file-index.bitmap.columns": "k,s"}
    table = make(tmp_path, COLUMNS, ("k",), NO_STATS | indexes | BESIDE)
    write(table, [(1, "old", 1), (9, "x", 1)])
    write(table, [(1, "new", 2), (9, "y", 1)])
    read = open_table(str(tmp_path))
    assert read.scan(where="s = 'old'").to_arrow().num_rows == 0
    assert read.scan(where="s = 'new'").to_arrow().num_rows == 1
    assert skipped(read.scan(where="s = 'old'")) == 0
    assert skipped(read.scan(where="k = 5")) == 2  # between the least and the greatest key
    assert skipped(read.scan(where="s = 'none'")) == 2  # no file of the section holds it
    assert read.scan(where="k = 1").to_arrow().to_pylist() == [{"k": 1, "s": "new", "n": 2}]


def test_a_merged_row_may_have_a_value_that_no_file_holds(tmp_path: Path) -> None:
    options = {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "file-index.bitmap.columns": "n"}
    table = make(tmp_path, COLUMNS, ("k",), NO_STATS | options)
    write(table, [(1, "a", 1)])
    write(table, [(1, "b", 2)])
    assert open_table(str(tmp_path)).scan(where="n = 3").to_arrow().num_rows == 1


def test_a_file_that_overlaps_no_other_is_left_out_by_values(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, ("k",), NO_STATS | {"file-index.bitmap.columns": "s"})
    write(table, rows(0))
    write(table, rows(100))
    assert skipped(open_table(str(tmp_path)).scan(where="s = 's101'")) == 1


def test_an_index_is_of_a_field_not_of_a_name(tmp_path: Path) -> None:
    append_table(tmp_path, {"file-index.bitmap.columns": "s,n"}, rows(0))
    change(tmp_path, SchemaUpdate().rename_column("s", "old").add_column("s", "string"))
    write(open_table(str(tmp_path)), [(50, "s5", 50, "s9")])
    table = open_table(str(tmp_path))
    assert table.schema.names == ("k", "old", "n", "s")
    assert table.settings["file-index.bitmap.columns"] == "old,n"
    assert [skipped(table.scan(where=w)) for w in ("old = 's5'", "old = 's9'", "old = 'x'")] == [0, 1, 2]
    assert table.scan("k", where="old = 's5'").to_arrow().column("k").to_pylist() == [5, 50]
    assert table.scan("k", where="s = 's9'").to_arrow().column("k").to_pylist() == [50]
    assert table.scan("k", where="s = 's5'").to_arrow().num_rows == 0


def test_an_index_of_another_type_is_not_used(tmp_path: Path) -> None:
    """A hash of an INT says nothing of the same text; '5' must be found in the file that has the number 5."""
    append_table(tmp_path, {"file-index.bitmap.columns": "n", "file-index.bloom-filter.columns": "n"}, rows(0))
    change(tmp_path, SchemaUpdate().update_type("n", "string"))
    scan = open_table(str(tmp_path)).scan(where="n = '5'")
    assert (skipped(scan), scan.count()) == (0, 1)


def test_zeros_and_nans(tmp_path: Path) -> None:
    """The zeros are equal, and NaN equals itself, while an index has keys and hashes of the bits."""
    columns = pa.schema([("x", pa.float64())])
    for kind in ("bloom-filter", "bitmap", "range-bitmap"):
        path = tmp_path / kind
        table = make(path, columns, (), {"bucket": "-1", **NO_STATS, f"file-index.{kind}.columns": "x"})
        for value in (-0.0, 0.0, float("nan"), 1.0):
            write(table, [(value,)])
        read = open_table(str(path))
        assert read.scan(where="x = 0.0D").count() == 2
        assert read.scan(where="x = -0.0D").count() == 2
        assert read.scan(where="isnan(x)").count() == 1
        assert read.scan(where="x > 0.0D").count() == 2  # NaN is greater than all numbers
        assert skipped(read.scan(where="x = 0.0D")) == 2


@pytest.mark.parametrize("name", ["file_index_embedded", "file_index_external", "file_index_21"])
def test_files_of_the_official_system(tmp_path: Path, name: str) -> None:
    path = str(GoldenTable("java-2.1", name).unpack(tmp_path))
    table = open_table(path)
    for where, left_out in (("id = 1", 1), ("id = 3", 0), ("cat = 'cat1x'", 1), ("n = -174", 1), ("n = -168", 0)):
        scan = table.scan(where=where)
        assert skipped(scan) == left_out
        plain = open_table(path, {"file-index.read.enabled": "false"}).scan(where=where)
        assert scan.to_arrow().equals(plain.to_arrow())


def test_a_lost_or_damaged_index_is_named(tmp_path: Path) -> None:
    append_table(tmp_path, BLOOM | BESIDE, rows(0))
    (index,) = tmp_path.glob("bucket-0/*.index")
    data = index.read_bytes()
    index.write_bytes(data[:100])
    with pytest.raises(CorruptFile, match=rf"{index.name}.*file-index\.read\.enabled=false"):
        open_table(str(tmp_path)).scan(where="s = 's5'").plan()
    index.unlink()
    with pytest.raises(MissingFile, match=rf"{index.name}: it does not exist"):
        open_table(str(tmp_path)).scan(where="s = 's5'").plan()
    without = open_table(str(tmp_path), {"file-index.read.enabled": "false"})
    assert without.scan(where="s = 's5'").count() == 1
    assert len(rows_of(open_table(str(tmp_path)))) == 10


def test_the_numbers_of_an_explanation_are_those_of_the_files_that_are_opened(tmp_path: Path) -> None:
    parts = {"bucket": "-1", "metadata.stats-mode": "none", "fields.n.stats-mode": "full"}
    table = make(tmp_path, COLUMNS, (), parts | BITMAP | BESIDE)
    for first in (0, 100, 200, 300):
        write(table, rows(first))
    for where, statistics, indexes, selected in (
        ("n >= 100 and s = 's105'", 3, 1, 1),
        ("n >= 100", 3, 3, 0),
        ("s = 's105x'", 4, 0, 0),
        ("k >= 0", 4, 4, 0),
    ):
        read, store = counted(tmp_path)
        told = read.scan(where=where).explain()
        assert told is not None
        assert (told.snapshot_id, told.files, told.rows, told.after_buckets) == (4, 4, 40, 4)
        assert (told.after_statistics, told.after_indexes, told.selected_files) == (statistics, indexes, selected)
        assert (told.rows_left, told.merged_files) == (indexes * 10, 0)
        assert len(store.names(".parquet")) == indexes  # for the row groups in their footers
        store.opened.clear()
        read.scan(where=where).to_arrow()
        assert len(store.names(".index")) == statistics
        assert len(store.names(".parquet")) == indexes
        assert f"left by file indexes: {indexes}" in str(told)


def test_an_explanation_of_partitions_buckets_and_merged_files(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, ("k", "s"), {"bucket": "4", "bucket-key": "k"}, ("s",))
    for number in (1, 2):
        write(table, [(key, part, number) for key in range(8) for part in ("a", "b")])
    every, one = (open_table(str(tmp_path)).scan(where=where).explain() for where in ("s = 'a'", "s = 'a' and k = 3"))
    assert every is not None
    assert one is not None
    assert every.files == one.files == len(live_files(open_table(str(tmp_path))))
    assert every.after_buckets == every.after_indexes == every.merged_files == every.files / 2
    assert (one.after_buckets, one.after_indexes, one.splits) == (2, 2, 1)
    for where, told in (("s = 'a'", every), ("s = 'a' and k = 3", one)):
        read, store = counted(tmp_path)
        names = {file.file_name: file.row_count for file in live_files(open_table(str(tmp_path)))}
        read.scan(where=where).to_arrow()
        assert told.after_indexes == len(store.names(".parquet"))
        assert told.rows_left == sum(names[name] for name in store.names(".parquet"))
        assert told.rows == sum(names.values())


def test_only_reads_of_states_are_explained(tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS, (), {"bucket": "-1"})
    assert open_table(str(tmp_path)).scan().explain() is None
    write(table, rows(0))
    with pytest.raises(UnsupportedFeature, match="only reads of a state are explained"):
        open_table(str(tmp_path), {"incremental-between": "0,1"}).scan().explain()


def test_files_that_are_merged_are_left_out_by_the_indexes_of_their_keys(tmp_path: Path) -> None:
    """Of a condition on another column a file may have the newest row, which does not satisfy it."""
    options = {"bucket": "1", "file-index.bitmap.columns": "k,n"}
    table = make(tmp_path / "t", COLUMNS, ("k",), options)
    write(table, rows(0, 5, 2))
    write(table, [(key + 1, s, n) for key, s, n in rows(0, 9, 2)])
    write(table, [(key * 20, s, n) for key, s, n in rows(0, 3, 2)])
    found = open_table(table.location)
    assert skipped(found.scan(where="k = 7")) == 1
    assert found.scan(where="k = 7").to_arrow().num_rows == 1
    assert skipped(found.scan(where="n = 16")) == 0
    assert skipped(found.scan(where="k = 7 and n = 12")) == 1
