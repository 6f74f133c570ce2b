"""Rows of Arrow, pandas and scans that a table is given: all of them are stored, and times as Spark stores them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as hs
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_type
from support.tables.compacting import make

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.spark.adapters.batches import spark_arrow_type
from paimon_spark.spark.adapters.dataframes import arrow_dataframe, as_dataframe, held_rows, spark_table

pytestmark = pytest.mark.spark
ZONE = "spark.sql.session.timeZone"
LTZ = "TIMESTAMP(6) WITH LOCAL TIME ZONE"
MOMENTS = (
    dt.datetime(2026, 7, 1, 12),
    dt.datetime(2026, 3, 29, 2, 30),  # Berlin's clocks leave it out
    dt.datetime(2026, 10, 25, 2, 30),  # and have it twice
    dt.datetime(1890, 1, 1, 0, 0, 0, 1),
    dt.datetime(1, 1, 2),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    None,
)


@pytest.fixture(params=["Europe/Berlin", "UTC"])
def zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    spark.conf.set(ZONE, request.param)
    yield request.param
    spark.conf.set(ZONE, "UTC")


@pytest.fixture(params=["true", "false"], ids=["in the driver", "in tasks"])
def road(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    spark.conf.set("spark.paimon.write.local", request.param)
    yield
    spark.conf.set("spark.paimon.write.local", "false")


def made(spark: SparkSession, path: Path, **columns: str) -> PaimonTable:
    table = PaimonTable.create(spark).location(str(path))
    for name, kind in columns.items():
        table = table.addColumn(name, kind)
    return table.execute()


def held(path: Path) -> pa.Table:
    return open_table(str(path)).scan().to_arrow()


def instants(zone: str) -> Sequence[dt.datetime | None]:
    """The moments on a clock of the zone: before a gap, and the first of two, as Python's `fold` = 0 has them."""
    return [m and m.replace(tzinfo=ZoneInfo(zone)).astimezone(dt.UTC) for m in MOMENTS]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    chunks=hs.lists(hs.lists(hs.integers(0, 99), max_size=3), max_size=5),
    nested=hs.booleans(),
)
def test_rows_behind_an_empty_chunk_are_read(spark: SparkSession, chunks: list[list[int]], nested: bool) -> None:
    column = pa.chunked_array([pa.array(chunk, pa.int32()) for chunk in chunks], pa.int32())
    rows = pa.table({"x": column})
    if nested:
        parts = [pa.array([[n] for n in chunk], pa.list_(pa.int32())) for chunk in chunks]
        rows = rows.append_column("l", pa.chunked_array(parts, pa.list_(pa.int32())))
    expected = [n for chunk in chunks for n in chunk]
    doors: list[Callable[[pa.Table], Any]] = [
        lambda table: as_dataframe(spark, table),
        lambda table: arrow_dataframe(spark, table),
    ]
    for door in doors:
        found = door(rows).toArrow()
        assert found["x"].to_pylist() == expected
        assert not nested or found["l"].to_pylist() == [[n] for n in expected]


def test_all_chunks_of_rows_are_stored(spark: SparkSession, tmp_path: Path, road: None) -> None:
    table = made(spark, tmp_path / "t", x="INT")
    column = pa.chunked_array([pa.array(part, pa.int32()) for part in ([1], [], [2])])
    of_pandas = pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(column))})
    for rows in (pa.table({"x": column}), pa.table({"x": column}).to_reader(), of_pandas):
        assert table.overwrite(rows).rows == 2
        assert sorted(held(tmp_path / "t")["x"].to_pylist()) == [1, 2]


def test_a_time_without_zone_is_the_same_time_in_every_session(
    spark: SparkSession, tmp_path: Path, zone: str, road: None
) -> None:
    table = made(spark, tmp_path / "t", n="INT", t="TIMESTAMP(6)", z=LTZ)
    rows = pa.table({"n": range(len(MOMENTS)), "t": pa.array(MOMENTS, pa.timestamp("us"))})
    rows = rows.append_column("z", rows["t"])
    table.append(rows)
    found = held(tmp_path / "t").sort_by("n")
    assert found["t"].to_pylist() == list(MOMENTS)
    assert found["z"].cast(pa.timestamp("us", "UTC")).to_pylist() == instants(zone)
    copy = made(spark, tmp_path / "copy", n="INT", t="TIMESTAMP(6)", z=LTZ)
    copy.append(open_table(str(tmp_path / "t")).scan())
    assert held(tmp_path / "copy").sort_by("n") == found


def test_a_time_with_zone_is_the_wall_time_of_the_session_in_a_column_without(
    spark: SparkSession, tmp_path: Path, zone: str, road: None
) -> None:
    """As `INSERT` of Spark into a table of its own."""
    table = made(spark, tmp_path / "t", t="TIMESTAMP(6)", z=LTZ, d="DATE", s="STRING")
    moment = dt.datetime(2026, 7, 1, 23, 30, tzinfo=dt.UTC)
    spark.sql("CREATE OR REPLACE TEMP VIEW given AS SELECT TIMESTAMP'2026-07-01 23:30:00Z' v")
    of_spark = spark.sql("SELECT CAST(v AS TIMESTAMP_NTZ) t, v z, CAST(v AS DATE) d, CAST(v AS STRING) s FROM given")
    for rows in (
        pa.table({name: [moment] for name in "tzds"}),
        pa.table({name: pa.array([moment], pa.timestamp("ns", "Asia/Tokyo")) for name in "tzds"}),
        pd.DataFrame({name: [pd.Timestamp(moment)] for name in "tzds"}),
        spark.sql("SELECT v t, v z, v d, v s FROM given"),
    ):
        table.overwrite(rows)
        wall = moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        found = held(tmp_path / "t")
        assert found["z"].to_pylist() == [moment]
        assert found.drop_columns("z").to_pylist() == [{"t": wall, "d": wall.date(), "s": str(wall)}]
        assert table.toDF().collect() == of_spark.collect()


def test_times_in_nested_columns_and_of_pandas(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    kinds = {"s": "ROW<b {0}, a INT>", "l": "ARRAY<{0}>", "m": "MAP<STRING, {0}>"}
    plain = made(spark, tmp_path / "plain", **{name: kind.format("TIMESTAMP(6)") for name, kind in kinds.items()})
    zoned = made(spark, tmp_path / "zoned", **{name: kind.format(LTZ) for name, kind in kinds.items()})
    moments = [moment for moment in MOMENTS if moment is not None]
    us = pa.timestamp("us")
    rows = pa.table(
        {
            "s": pa.array([None, {"a": 1, "b": moments[1]}], pa.struct([("a", pa.int32()), ("b", us)])),
            "l": pa.array([[], moments], pa.list_(us)),
            "m": pa.array([None, [(str(m), m) for m in moments]], pa.map_(pa.string(), us)),
        }
    )
    for table, path, expected in ((plain, "plain", moments), (zoned, "zoned", instants(zone)[:-1])):
        table.append(rows.slice(1))
        found = held(tmp_path / path).to_pylist()
        names = [str(m) for m in moments]
        assert found == [
            {"s": {"b": expected[1], "a": 1}, "l": list(expected), "m": list(zip(names, expected, strict=True))}
        ]
        table.overwrite(rows)
        assert held(tmp_path / path).num_rows == 2
    given_pandas = made(spark, tmp_path / "pandas", t="TIMESTAMP(6)", l="ARRAY<TIMESTAMP(6)>")
    recent = moments[:3]
    for frame in (
        pd.DataFrame({"t": pd.Series(recent, dtype="datetime64[ns]"), "l": [recent] * 3}),
        pd.DataFrame({"t": pd.Series(recent, dtype="datetime64[ns]"), "l": [recent] * 3}).convert_dtypes(
            dtype_backend="pyarrow"
        ),
    ):
        given_pandas.overwrite(frame)
        assert sorted(held(tmp_path / "pandas")["t"].to_pylist()) == sorted(recent)
        assert held(tmp_path / "pandas")["l"].to_pylist() == [recent] * 3


def test_digits_that_spark_cuts_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", t="TIMESTAMP(9)", l="ARRAY<TIMESTAMP(9)>")
    ns = pa.timestamp("ns")
    whole, fine = pa.array([1_000], ns), pa.array([1_001], ns)
    lists = [pa.ListArray.from_arrays([0, 1], values) for values in (whole, fine)]
    assert table.append(pa.table({"t": whole, "l": lists[0]})).rows == 1
    for name, rows in (("t", [fine, lists[0]]), ("l", [whole, lists[1]])):
        for given_rows in (pa.table(rows, ["t", "l"]), pa.table(rows, ["t", "l"]).to_pandas()):
            with pytest.raises(DataError, match=f"column '{name}'.* would lose data: 1001; cast it to"):
                table.append(given_rows)
    assert held(tmp_path / "t")["t"].cast(pa.int64()).to_pylist() == [1_000]


@pytest.mark.parametrize(
    ("values", "kind", "column"),
    [
        ([0, 255, None], pa.uint8(), "SMALLINT"),
        ([65535], pa.uint16(), "INT"),
        ([2**32 - 1], pa.uint32(), "BIGINT"),
        ([2**64 - 1], pa.uint64(), "DECIMAL(20, 0)"),
        ([2**63 - 1], pa.uint64(), "BIGINT"),
        ([dt.date(2026, 7, 1)], pa.date64(), "DATE"),
        ([1.5], pa.float16(), "FLOAT"),
        ([Decimal("1.50")], pa.decimal256(38, 2), "DECIMAL(38, 2)"),
        ([[1, 255]], pa.large_list(pa.uint8()), "ARRAY<SMALLINT>"),
        ([{"x": 255}], pa.struct([("x", pa.uint8())]), "STRUCT<x: SMALLINT>"),
        (["a", "a", None], pa.dictionary(pa.int8(), pa.string()), "STRING"),
        (["a"], pa.string_view(), "STRING"),
    ],
    ids=str,
)
def test_types_that_spark_lacks_keep_their_values(
    spark: SparkSession, tmp_path: Path, values: list[object], kind: pa.DataType, column: str
) -> None:
    table = made(spark, tmp_path / "t", v=column)
    assert table.append(pa.table({"v": pa.array(values, kind)})).rows == len(values)
    assert held(tmp_path / "t")["v"].to_pylist() == values


@pytest.mark.parametrize(
    "kind", [pa.decimal256(50, 2), pa.list_view(pa.int32()), pa.month_day_nano_interval()], ids=str
)
def test_types_that_no_type_of_spark_holds_are_refused(kind: pa.DataType) -> None:
    with pytest.raises(DataError, match=r"column 'v'.* of Arrow, which Spark does not take; cast it to"):
        spark_table(pa.table({"v": pa.array([None], kind)}))


def test_a_bound_that_python_has_no_value_for_is_named(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", v="TIMESTAMP_NTZ", d="DATE")
    early = pa.array([-62_167_219_200_000_000], pa.timestamp("us"))
    table.append(pa.table({"v": early, "d": pa.array([2_932_897], pa.date32())}))
    for call, name in ((lambda: table.min("v"), "v"), (lambda: table.max("d"), "d")):
        with pytest.raises(UnsupportedFeature, match=f"value of the column '{name}' is outside of the years 1 to 9999"):
            call()
    shown = table.toDF().selectExpr("string(min(`v`)) AS v").first()
    assert shown is not None
    assert shown.v == "0000-01-01 00:00:00"


@pytest.mark.parametrize("nested", [False, True])
def test_a_text_that_is_no_utf_8_is_refused(nested: bool) -> None:
    buffers = [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]
    text = pa.Array.from_buffers(pa.string(), 1, buffers)
    column = pa.StructArray.from_arrays([text], ["s"]) if nested else text
    with pytest.raises(DataError, match=r"column 'v': its values are no .* of Arrow: .*UTF"):
        spark_table(pa.table({"v": column}))


def test_half_a_character_and_a_part_of_a_day_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", v="STRING")
    with pytest.raises(DataError, match=r"a text has '\\ud800', half of a character in UTF-16"):
        table.append(pd.DataFrame({"v": ["a\ud800b"]}))
    with pytest.raises(DataError, match=r"no date64\[ms\] of Arrow: .*; cast it to date32 first"):
        spark_table(pa.table({"v": pa.array([3_600_000], pa.date64())}))
    assert open_table(f"{tmp_path}/t").scan().count() == 0


def test_rows_in_another_form_are_answered_with_what_makes_a_table_of_them(tmp_path: Path) -> None:
    stored = make(tmp_path / "t", pa.schema([("v", pa.int32())]), ("v",), {})
    assert held_rows(open_table(stored.location)).schema.names == ["v"]  # it has Arrow's stream
    batch = pa.record_batch({"v": pa.array([1], pa.int32())})
    for rows in ({"v": [1]}, [{"v": 1}], [batch], iter([batch]), pyarrow.dataset.dataset(pa.table({"v": [1]}))):
        assert held_rows(rows).to_pylist() == [{"v": 1}]
    lazy = type("LazyFrame", (), {"collect": lambda self: None})()
    for refused, advice in (
        (lazy, "rows.collect() computes a LazyFrame"),
        ([(1,)], "pyarrow.Table.from_pylist([{'<column>': value}]) makes a Table of rows"),
        (1, "pyarrow.table({'<column>': values}) makes a Table of columns"),
        (pa.chunked_array([[1]]), "pyarrow.table({'<column>': rows}) makes a Table of a column"),
        (pa.array([1]), "pyarrow.table({'<column>': rows}) makes a Table of a column"),
        (pd.Series([1]), "rows.to_frame() makes a DataFrame of a Series"),
        (
            "/x.parquet",
            "pyarrow.parquet.read_table(path) reads files of parquet, with Spark spark.read.parquet(path)",
        ),
    ):
        with pytest.raises(DataError) as caught:
            held_rows(refused)
        assert str(caught.value).endswith(f"; {advice}")


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([1, 10**30], "'v': it has a whole number beyond 64 bits, .* write its numbers as decimal.Decimal"),
        (pd.arrays.SparseArray([0, 5]), r"'v': it is a sparse one of pandas, .* v\.sparse\.to_dense\(\)"),
        (
            [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1), pd.NaT],
            "'v': it has times with a zone and times without one; give all of them a zone, or none",
        ),
    ],
    ids=["whole numbers", "sparse", "zones"],
)
def test_a_column_of_pandas_that_nobody_reads_as_it_is_meant_is_named(
    spark: SparkSession, values: Any, refused: str
) -> None:
    column = values if isinstance(values, pd.arrays.SparseArray) else pd.Series(values, dtype=object)
    with pytest.raises(DataError, match=f"writing column {refused}"):
        as_dataframe(spark, pd.DataFrame({"i": range(len(column)), "v": column}))


def test_times_of_one_kind_with_nothing_between_them_are_taken(spark: SparkSession) -> None:
    for time in (dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2026, 1, 1)):
        column = pd.Series([time, None, pd.NaT], dtype=object)
        assert as_dataframe(spark, pd.DataFrame({"v": column})).toArrow().column("v").null_count == 2


@pytest.mark.usefixtures("road")
def test_lists_of_pandas_in_which_nothing_is_are_stored(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", v="ARRAY<INT>")
    table.append(pd.DataFrame({"v": [[], []]}))
    assert held(tmp_path / "t").column("v").to_pylist() == [[], []]


def test_a_time_of_spark_is_answered_with_what_a_column_takes() -> None:
    with pytest.raises(
        DataError, match=r"the Spark type time\(6\): a column TIME takes the milliseconds of the day, as INT"
    ):
        spark_arrow_type(from_arrow_type(pa.time64("us")))
