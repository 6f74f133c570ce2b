"""ANALYZE through Spark: what is counted, and where it is kept."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.table_statistics import ColumnStatistics
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField

pytestmark = pytest.mark.spark

TYPES = {
    "id": "INT NOT NULL",
    "name.`x": "STRING",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "big": "BIGINT",
    "f": "FLOAT",
    "d": "DOUBLE",
    "dec": "DECIMAL(10, 5)",
    "wide": "DECIMAL(30, 2)",
    "flag": "BOOLEAN",
    "day": "DATE",
    "tod": "TIME(3)",
    "ts": "TIMESTAMP(6)",
    "ltz": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "bin": "VARBINARY(50)",
    "c": "CHAR(20)",
}


def made(spark: SparkSession, path: Path, types: dict[str, str], keys: tuple[str, ...] = ("id",)) -> PaimonTable:
    fields = tuple(DataField(number, name, parse_type(text)) for number, (name, text) in enumerate(types.items()))
    create_table(str(path), TableSchema(0, fields, len(fields), (), keys, {"bucket": "1"} if keys else {}))
    return PaimonTable.forPath(spark, str(path))


def stored(table: PaimonTable) -> dict[str, Any]:
    row = table.system_table("statistics").first()
    assert row is not None
    return {**row.asDict(), "colstat": json.loads(row["colstat"])}


def test_every_type(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", TYPES)
    utc = dt.UTC
    rows: list[tuple[Any, ...]] = [
        (1, "a", 1, 1, 1, 1.0, 1.0, Decimal("12.12345"), Decimal("-1.50"), True, dt.date(2020, 1, 1), 5,
         dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=utc), bytearray(b"example 1"), "a"),
        (2, "äää", 1, None, 1, 1.0, float("nan"), Decimal("12.12345"), None, True, dt.date(2020, 1, 2), 86_399_999,
         dt.datetime(1969, 12, 31, 23, 59, 59, 999_999), None, bytearray(b"example 1"), "aaa"),
        (3, "", -2, 1, 1, -0.25, 1e10, Decimal("22.12345"), Decimal(10**20), None, dt.date(1969, 12, 31), None,
         None, dt.datetime(2020, 1, 2, 0, 0, 0, 120_000, tzinfo=utc), None, "bbbb"),
        (4, None, 2, 2, 2**40, 2.0, 2.0, Decimal("22.12345"), None, False, None, 0,
         dt.datetime(2020, 1, 2, 3, 4, 5, 600_000), None, bytearray(b""), None),
    ]  # fmt: skip
    table.append(spark.createDataFrame(rows, table.toDF().schema))
    done = table.analyze("all")
    assert done.statistics is not None
    assert (done.snapshot_id, done.statistics.snapshot_id, done.statistics.merged_record_count) == (2, 1, 4)
    assert done.statistics.columns == {
        "id": ColumnStatistics(0, 4, "1", "4", 0, 4, 4),
        "name.`x": ColumnStatistics(1, 3, None, None, 1, 2, 3),
        "tiny": ColumnStatistics(2, 3, "-2", "2", 0, 1, 1),
        "small": ColumnStatistics(3, 2, "1", "2", 1, 2, 2),
        "big": ColumnStatistics(4, 2, "1", str(2**40), 0, 8, 8),
        "f": ColumnStatistics(5, 3, "-0.25", "2.0", 0, 4, 4),
        "d": ColumnStatistics(6, 4, "1.0", "NaN", 0, 8, 8),
        "dec": ColumnStatistics(7, 2, "12.12345", "22.12345", 0, 8, 8),
        "wide": ColumnStatistics(8, 2, "-1.50", "100000000000000000000.00", 2, 16, 16),
        "flag": ColumnStatistics(9, 2, "false", "true", 1, 1, 1),
        "day": ColumnStatistics(10, 3, "-1", "18263", 1, 4, 4),
        "tod": ColumnStatistics(11, 3, "0", "86399999", 1, 4, 4),
        "ts": ColumnStatistics(12, 3, "1969-12-31 23:59:59.999999", "2020-01-02 03:04:05.600000", 1, 8, 8),
        "ltz": ColumnStatistics(13, 2, "2020-01-01 00:00:00.000", "2020-01-02 00:00:00.120", 2, 8, 8),
        "bin": ColumnStatistics(14, 2, None, None, 1, 6, 9),
        "c": ColumnStatistics(15, 3, None, None, 1, 20, 20),  # CHAR(20) is padded
    }
    shown = stored(table)
    assert (shown["snapshot_id"], shown["schema_id"], shown["mergedRecordCount"]) == (1, 0, 4)
    assert shown["colstat"]["bin"] == {"colId": 14, "distinctCount": 2, "nullCount": 1, "avgLen": 6, "maxLen": 9}
    assert shown["mergedRecordSize"] == sum(p.stat().st_size for p in (tmp_path / "t").rglob("data-*"))
    check_table(str(tmp_path / "t"))


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_times_do_not_depend_on_the_zone_of_the_session(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    table = made(spark, tmp_path / "t", {"id": "INT NOT NULL", "ts": "TIMESTAMP(6)", "ltz": TYPES["ltz"]})
    spark.sql("select 1 id, timestamp_ntz'2026-03-08 02:30:00' ts, timestamp'2026-03-08 02:30:00Z' ltz").createTempView(
        "shifted"
    )
    table.append(spark.table("shifted"))
    spark.catalog.dropTempView("shifted")
    before = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        found = table.analyze(["ts", "LTZ"]).statistics
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert found is not None
    assert [c.min for c in found.columns.values()] == ["2026-03-08 02:30:00.000000", "2026-03-08 02:30:00.000"]


def test_merged_rows_count_and_without_columns_nothing_else_is_looked_at(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", {"id": "INT NOT NULL", "v": "STRING", "m": "MAP<INT, STRING>"})
    frame = spark.range(100).selectExpr("cast(id as int) id", "'x' v", "map(1, 'y') m")
    table.append(frame, {"write-only": "true"})
    table.append(frame, {"write-only": "true"})
    files = sum(p.stat().st_size for p in tmp_path.rglob("data-*"))
    found = table.analyze().statistics
    assert found is not None
    assert (found.merged_record_count, found.merged_record_size, found.columns) == (100, files // 2, {})


def test_a_table_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", {"id": "INT NOT NULL", "v": "STRING", "n": "BIGINT"})
    assert table.analyze("all").snapshot_id is None
    table.append(spark.range(3).selectExpr("cast(id as int) id", "'x' v", "id n"))
    table.truncate()
    found = table.analyze(["v", "n"]).statistics
    assert found is not None
    assert (found.merged_record_count, found.merged_record_size) == (0, 0)
    assert found.columns == {
        "v": ColumnStatistics(1, 0, None, None, 0, 20, 20),
        "n": ColumnStatistics(2, 0, None, None, 0, 8, 8),
    }


def test_an_append_table_of_which_no_column_can_be_shown_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", {"m": "MAP<INT, STRING>", "v": "INT"}, keys=())
    table.append(spark.range(5).selectExpr("map(1, 'y') m", "cast(id as int) v"))
    found = table.analyze().statistics
    assert found is not None
    assert found.merged_record_count == 5


def test_refusals_say_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", {"id": "INT NOT NULL", "m": "MAP<INT, STRING>", "a": "ARRAY<INT>"})
    with pytest.raises(
        UnsupportedFeature, match=r"'m' \(MAP\), 'a' \(ARRAY\); leave these.*Columns with statistics: id"
    ):
        table.analyze("all")
    with pytest.raises(OptionError, match="nope"):
        table.analyze(["id", "nope"])
    table.append(spark.sql("select 1 id, map(1, 'y') m, array(1) a"))
    pinned = PaimonTable.forPath(spark, str(tmp_path / "t"), {"scan.snapshot-id": "1"})
    with pytest.raises(OptionError, match=r"'scan\.snapshot-id' chooses what a read sees; the latest snapshot"):
        pinned.analyze()
    assert open_table(str(tmp_path / "t")).snapshots.ids() == [1]


@pytest.mark.parametrize("seed", [1, 2])
def test_random_rows_against_counting_one_by_one(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Merged rows of several writes; distinct values within twice the error that is allowed on average."""
    draw = random.Random(seed)
    table = made(spark, tmp_path / "t", {"id": "INT NOT NULL", "n": "BIGINT", "x": "DOUBLE", "s": "STRING"})
    rows: dict[int, tuple[Any, ...]] = {}
    for _ in range(3):
        some = {
            key: (
                draw.choice([None, draw.randint(-(2**63), 2**63 - 1), draw.randint(-3, 3)]),
                draw.choice([None, draw.uniform(-1e300, 1e300), float("inf"), 0.5]),
                draw.choice([None, "", "é" * draw.randint(0, 50), f"{draw.random()}"]),
            )
            for key in draw.sample(range(400), 250)
        }
        rows |= some
        values = [(key, *row) for key, row in some.items()]
        table.append(spark.createDataFrame(values, table.toDF().schema), {"write-only": "true"})
    found = table.analyze("all").statistics
    assert found is not None
    assert found.merged_record_count == len(rows)
    for place, name in enumerate(("n", "x", "s")):
        known = [row[place] for row in rows.values() if row[place] is not None]
        column = found.columns[name]
        assert column.null_count == len(rows) - len(known)
        assert column.distinct_count == pytest.approx(len(set(known)), rel=0.1)
        if name == "s":
            lengths = [len(text) for text in known]
            assert (column.avg_len, column.max_len) == (math.ceil(sum(lengths) / len(lengths)), max(lengths))
        else:
            assert column.min is not None
            assert column.max is not None
            kind = float if name == "x" else int
            assert (kind(column.min), kind(column.max)) == (min(known), max(known))
