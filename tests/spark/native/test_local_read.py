"""Small tables, which the driver reads itself: rows and types are those of other reads. Large tables are not."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.long_runs import LONG, draws
from support.oracles.comparing import comparable
from support.tables.compacting import make, write
from support.tables.golden_tables import GoldenTable, readable_tables

from paimon_spark import open_table
from paimon_spark.arrow.conform import conform_batch
from paimon_spark.errors import OptionError
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.native import local_read
from paimon_spark.spark.native.read_table import ReadExplanation, ReadRequest, TableFrame, read_table
from paimon_spark.store.pruning.top_n import TopN
from paimon_spark.store.read.splits import Split
from paimon_spark.store.system_tables.names import METADATA_NAMES

LOCAL = {"read.local": "true"}
COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.string())])
TABLES = [t for t in readable_tables() if t.name != "variant"]  # PySpark's toArrow fails on a NULL of that type


@pytest.mark.parametrize("table", TABLES if LONG else draws().sample(TABLES, 20), ids=str)
def test_rows_read_here_are_those_of_our_reader(table: GoldenTable, unpadded: SparkSession, tmp_path: Path) -> None:
    path = str(table.unpack(tmp_path))
    names = tuple(f.name for f in open_table(path).schema.fields)
    made = read_table(unpadded, ReadRequest(path, LOCAL, names))
    by_source = read_table(unpadded, ReadRequest(path, {}, names, native=False))
    assert made.frame.schema == by_source.frame.schema
    as_shown = spark_arrow_schema(made.frame.schema)
    mine = [conform_batch(batch, as_shown) for batch in open_table(path).scan(names).to_batches()]
    assert comparable(made.frame.toArrow()) == comparable(pa.Table.from_batches(mine, as_shown))


def told(spark: SparkSession, path: str, options: dict[str, str], native: bool | None = None) -> ReadExplanation:
    made = read_table(spark, ReadRequest(path, options, native=native))
    assert made.frame.count() == open_table(path).scan().count()
    return made.explanation


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


def test_system_tables_of_metadata_are_read_here(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {"bucket": "2"})
    write(table, [(number, "x") for number in range(9)])
    write(table, [(number, "y") for number in range(5)])

    def read(name: str, options: dict[str, str], where: str | None = None, native: bool | None = None) -> TableFrame:
        return read_table(spark, ReadRequest(f"{table.location}${name}", options, where=where, native=native))

    for name in METADATA_NAMES:
        here, there = read(name, LOCAL), read(name, {})
        assert here.explanation.local_rows == (name != "file_indexes"), name
        assert not there.explanation.local_rows
        assert here.frame.schema == there.frame.schema
        assert comparable(here.frame.toArrow()) == comparable(there.frame.toArrow())
    few = read("files", LOCAL, "bucket = 1")
    assert few.explanation.local_rows
    assert 0 < few.frame.count() < read("files", LOCAL).frame.count()
    assert read_table(spark, ReadRequest(f"{table.location}$snapshots", LOCAL, ())).frame.count() == 2
    assert [row[0] for row in read("snapshots", LOCAL).frame.select("snapshot_id").collect()] == [1, 2]
    for name in ("audit_log", "ro", "binlog"):
        assert not read(name, LOCAL).explanation.local_rows
    assert not read("files", LOCAL, native=False).explanation.local_rows
    for limit in (100, 2_500):  # of metadata, and of the rows of $files
        monkeypatch.setattr("paimon_spark.spark.native.read_table.SMALL_BYTES", limit)
        monkeypatch.setattr(local_read, "SMALL_BYTES", limit)
        large = read("files", LOCAL)
        assert not large.explanation.local_rows or limit > 100
        assert large.frame.count() == read("files", {}).frame.count()


def test_the_first_keys_are_read_here(spark: SparkSession, tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(number, "x") for number in range(900)])
    write(table, [(number, "y") for number in range(5)])

    def read(first: TopN, native: bool | None = None) -> TableFrame:
        return read_table(spark, ReadRequest(table.location, {}, native=native, first=first))

    here = read(TopN("k", 7))
    assert here.explanation.local_rows
    assert [tuple(row) for row in here.frame.orderBy("k").collect()] == [
        (number, "y" if number < 5 else "x") for number in range(7)
    ]
    others = (TopN("k", 7, descending=True), TopN("v", 7), TopN("k", 1001))
    assert not any(read(first).explanation.local_rows for first in others)
    assert not read(TopN("k", 7), native=False).explanation.local_rows


def test_a_large_file_is_not_searched_for_a_key_here(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(1, "x")])
    scan = open_table(table.location).scan(where="k = 1")
    (split,) = scan.plan().splits
    assert isinstance(split, Split)

    def grown(size: int) -> list[Split]:
        return [replace(split, raw_files=tuple(file._replace(file_size=size) for file in split.raw_files))]

    assert local_read.is_key_lookup(scan.table, scan.predicate, grown(local_read.MOST_BYTES))
    assert not local_read.is_key_lookup(scan.table, scan.predicate, grown(local_read.MOST_BYTES + 1))
    first = scan.with_top_n(TopN("k", 1))
    assert not local_read.wants_first_keys(first, grown(local_read.MOST_BYTES))  # the condition may leave none
    whole = open_table(table.location).scan().with_top_n(TopN("k", 1))
    assert local_read.wants_first_keys(whole, grown(local_read.MOST_BYTES + 1))


def test_what_is_not_small(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {})
    write(table, [(number, "x" * 1000) for number in range(100)])
    write(table, [(1000, "y")])
    assert told(spark, table.location, LOCAL).local_rows
    for limit, below in (("SMALL_FILES", 1), ("MOST_ROWS", 100), ("SMALL_BYTES", 50_000)):  # 100 kB in memory
        with monkeypatch.context() as changed:
            changed.setattr(local_read, limit, below)
            assert not told(spark, table.location, LOCAL).local_rows, limit
    assert read_table(spark, ReadRequest(table.location, LOCAL, where="k = 1000")).explanation.local_rows


def test_rows_that_the_driver_has_read_outlive_their_table(spark: SparkSession, tmp_path: Path) -> None:
    """As the guide to notebooks says of toDF; a DataFrame whose files Spark reads is an error then."""
    path = str(tmp_path / "gone")
    spark.range(2).write.format("paimon").mode("append").save(path)
    here = read_table(spark, ReadRequest(path, LOCAL)).frame
    there = read_table(spark, ReadRequest(path, {"read.local": "false"})).frame
    shutil.rmtree(path)
    assert sorted(row.id for row in here.collect()) == [0, 1]
    with pytest.raises((PySparkException, Py4JJavaError), match="FAILED_READ_FILE"):
        there.collect()
