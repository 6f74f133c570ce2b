"""Numbers of rows and bounds of columns from metadata: equal to those of a read, on random tables of all kinds."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from functools import cmp_to_key
from pathlib import Path
from random import Random
from typing import Any, cast

import pyarrow as pa
import pytest
from support.draws.counted_tables import CountedRead, draw_reads
from support.faults.counting_store import CountingStore
from support.long_runs import tries
from support.tables.compacting import compact, make, write

from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.arrow.types import from_internal, to_internal
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.file_io import FileIO
from paimon_spark.format.table_statistics import ANALYZED
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.metadata_aggregates import has_exact_bounds
from paimon_spark.tables.open import open_table

TABLES = tries("PAIMON_COUNTED_TABLES", ci=12, long=500)
SEED = tries("PAIMON_COUNTED_SEED", ci=0)


def real_ends(values: pa.ChunkedArray) -> tuple[Any, Any]:
    """The least and the greatest value, NaN as the greatest."""
    found = sorted((to_internal(v) for v in values if v.is_valid), key=cmp_to_key(compare_values))
    return (found[0], found[-1]) if found else (None, None)


def same(one: Any, other: Any) -> bool:
    return one == other or (one != one and other != other)


def test_metadata_and_rows_say_the_same(tmp_path: Path) -> None:
    roads: Counter[str] = Counter()
    for number in range(SEED, SEED + TABLES):
        random = Random(number)
        for read in draw_reads(random, tmp_path):
            try:
                check(read, random, roads)
            except Exception as error:
                raise AssertionError(f"table {number}, {read}") from error
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    print(dict(roads))
    assert min(roads["count"], roads["bounds"], roads["rest"]) > TABLES / 10


def check(read: CountedRead, random: Random, roads: Counter[str]) -> None:
    """Compares the number of rows, and an end of two columns."""
    table = open_table(read.path, read.options)
    scan = table.scan(where=read.where)
    rows = scan.to_arrow()
    assert scan.count() == rows.num_rows
    roads["rest" if scan.metadata_aggregates().rest else "count"] += 1
    ordered = [field for field in table.schema.fields if field.type.root in ANALYZED]
    for field in random.sample(ordered, min(2, len(ordered))):
        least, greatest = from_internal(real_ends(rows.column(field.name)), field.type).to_pylist()
        end, found = random.choice([(least, scan.min), (greatest, scan.max)])
        assert same(found(field.name), end), field
        roads["bounds"] += not scan.metadata_aggregates([field.name]).rest


# ------------------------------------------------------------------------------------------------------ what is opened

COLUMNS = pa.schema([("p", pa.string()), ("n", pa.int64()), ("s", pa.string()), ("x", pa.float64())])
ROWS = [("a", 1, "one", 1.5), ("a", 5, "five", -2.0), ("b", 3, "three", None)]


@pytest.fixture
def append(tmp_path: Path) -> Table:
    table = make(tmp_path / "t", COLUMNS, [], {"bucket": "-1"}, ["p"])
    write(table, ROWS)
    write(table, [("b", None, None, float("nan"))])
    return table


def counted(table: Table) -> tuple[ReadableTable, CountingStore]:
    """The table as it is now, and who notes what is opened of it."""
    store = CountingStore(table.file_io)
    return replace(open_table(table.location), file_io=cast(FileIO, store)), store


def test_no_data_file_is_opened_where_metadata_are_exact(append: Table) -> None:
    table, store = counted(append)
    assert (table.scan().count(), table.scan(where="p = 'b'").count(), table.scan(where="p is null").count()) == (
        4,
        2,
        0,
    )
    assert (table.scan().min("N"), table.scan().max("n")) == (1, 5)
    assert (table.scan(where="p = 'b'").max("n"), table.scan(where="p > 'b'").max("n")) == (3, None)
    assert (table.scan().min("p"), table.scan().max("p")) == ("a", "b")
    assert store.names(".parquet") == []


def test_other_files_are_read(append: Table) -> None:
    table, store = counted(append)
    assert (table.scan().max("s"), len(store.names(".parquet"))) == ("three", 2)  # one file has no text
    assert table.scan(where="n > 2").count() == 2
    assert str(table.scan().max("x")) == "nan"
    known = table.scan(where="n > 2").metadata_aggregates()
    assert (known.rows, known.files, known.why) == (
        0,
        0,
        ("the condition is not on partition columns alone (2 files)",),
    )


def test_of_a_table_with_keys_only_what_must_be_merged_is_read(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("p", pa.string(), False), pa.field("k", pa.int32(), False), ("v", pa.int32())])
    made = make(tmp_path / "t", columns, ["p", "k"], {}, ["p"])
    write(made, [("a", 1, 10), ("b", 1, 30)])
    compact(made)
    write(made, [("b", 1, 20)])
    table, store = counted(made)
    assert (table.scan().count(), len(store.names(".parquet"))) == (2, 2)
    assert table.scan().max("v") == 20
    told = table.scan().explain()
    assert told is not None
    assert str(told).splitlines()[-2:] == [
        "count: reads 2 files, metadata tell the rows of 1",
        "  because rows of several files must be merged (2 files)",
    ]
    assert str(table.scan(where="p = 'a'").explain()).endswith("\ncount: from metadata alone")


def test_what_has_no_order_has_no_least_value(append: Table, tmp_path: Path) -> None:
    made = make(tmp_path / "m", pa.schema([("m", pa.map_(pa.string(), pa.int32()))]), [], {"bucket": "-1"})
    with pytest.raises(UnsupportedFeature, match="values of the type MAP have no order"):
        open_table(made.location).scan().min("m")
    with pytest.raises(OptionError, match="'q'"):
        open_table(append.location).scan().min("q")
    with pytest.raises(OptionError, match="_row_kind"):
        open_table(append.location).scan().max("_row_kind")


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (pa.timestamp("us"), -62_167_219_200_000_000, "0000-01-01 00:00:00.000000"),
        (pa.date32(), -719_528, "0000-01-01"),
    ],
    ids=["timestamp", "date"],
)
def test_a_bound_that_python_has_no_value_for_is_named(
    tmp_path: Path, kind: pa.DataType, value: int, shown: str
) -> None:
    made = make(tmp_path / "t", pa.schema([("v", kind)]), [], {"bucket": "-1"})
    write(made, [(value,)])
    with pytest.raises(UnsupportedFeature, match=f"column 'v': {shown} or {shown} is outside of the years 1 to 9999"):
        open_table(made.location).scan().min("v")
    if pa.types.is_date(kind):  # pandas has such timestamps
        with pytest.raises(UnsupportedFeature, match=r"to_pandas\(\): year 0 is out of range; Python and pandas have"):
            open_table(made.location).scan().to_pandas()


@pytest.mark.parametrize(
    ("text", "parquet", "orc"),
    [
        ("INT", True, True), ("DATE", True, True), ("TIMESTAMP(3)", True, False), ("TIMESTAMP(6)", True, False),
        ("TIMESTAMP(7)", False, False), ("TIMESTAMP(9)", False, False), ("TIMESTAMP_LTZ(9)", False, False),
        ("DECIMAL(18, 2)", True, True), ("DECIMAL(19, 2)", False, False), ("STRING", False, False),
    ],
)  # fmt: skip
def test_whose_bounds_are_values(text: str, parquet: bool, orc: bool) -> None:
    column = DataField(0, "v", parse_type(text))
    assert (has_exact_bounds(column, "parquet"), has_exact_bounds(column, "orc")) == (parquet, orc)


def test_a_timestamp_without_a_precision_has_microseconds() -> None:
    assert has_exact_bounds(DataField(0, "v", DataType(Root.TIMESTAMP)), "parquet")
