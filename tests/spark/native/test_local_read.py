"""Small tables, which the driver reads itself: rows and types are those of other reads. Large tables are not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.oracles.comparing import comparable
from support.tables.compacting import make, write
from support.tables.golden_tables import READ_BUT_FOR, GoldenTable, readable_tables

from paimon_spark import open_table
from paimon_spark.arrow.conform import conform_batch
from paimon_spark.errors import OptionError
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.native import local_read
from paimon_spark.spark.native.read_table import ReadExplanation, ReadRequest, read_table

LOCAL = {"read.local": "true"}
COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
TABLES = readable_tables()


@pytest.mark.parametrize("table", TABLES if LONG else draws().sample(TABLES, 20), ids=str)
def test_rows_read_here_are_those_of_our_reader(table: GoldenTable, spark: SparkSession, tmp_path: Path) -> None:
    path = str(table.unpack(tmp_path))
    names = tuple(f.name for f in open_table(path).schema.fields if f.name != READ_BUT_FOR.get(table.name))
    made = read_table(spark, ReadRequest(path, LOCAL, names))
    by_source = read_table(spark, ReadRequest(path, {}, names, native=False))
    assert made.frame.schema == by_source.frame.schema
    as_shown = spark_arrow_schema(made.frame.schema)
    mine = [conform_batch(batch, as_shown) for batch in open_table(path).scan(names).to_batches()]
    assert comparable(made.frame.toArrow()) == comparable(pa.Table.from_batches(mine, as_shown))


def told(spark: SparkSession, path: str, options: dict[str, str], native: bool | None = None) -> ReadExplanation:
    made = read_table(spark, ReadRequest(path, options, native=native))
    assert made.frame.count() == open_table(path).scan().count()
    return made.told


def test_the_option_the_setting_and_the_argument(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(number, "x") for number in range(9)])
    path = table.location
    assert told(spark, path, LOCAL).local_rows
    assert not told(spark, path, {"read.local": "false"}).local_rows
    assert not told(spark, path, {}).local_rows  # the setting of the tests
    assert not told(spark, path, LOCAL, native=True).local_rows
    assert not told(spark, path, LOCAL, native=False).local_rows
    for bad, options in (("maybe", {"read.local": "maybe"}), ("perhaps", {})):
        spark.conf.set("spark.paimon.read.local", bad)
        with pytest.raises(OptionError, match=r"read\.local"):
            read_table(spark, ReadRequest(path, options))
        spark.conf.set("spark.paimon.read.local", "true")
        assert told(spark, path, {}).local_rows
    spark.conf.set("spark.paimon.read.local", "false")


def test_what_is_not_small(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(number, "x" * 1000) for number in range(100)])
    write(table, [(1000, "y")])
    assert told(spark, table.location, LOCAL).local_rows
    for limit, below in (("SMALL_FILES", 1), ("MOST_ROWS", 100), ("SMALL_BYTES", 50_000)):  # 100 kB in memory
        with monkeypatch.context() as changed:
            changed.setattr(local_read, limit, below)
            assert not told(spark, table.location, LOCAL).local_rows, limit
    assert read_table(spark, ReadRequest(table.location, LOCAL, where="k = 1000")).told.local_rows
