"""Conditions in text where the session is not in UTC: each door that takes one, and what it says of an unknown zone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.tables.compacting import make, write

from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import OptionError, PredicateError
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.store.open import find_system_table
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.spark
ZONE_CONF = "spark.sql.session.timeZone"
SINCE_NOVEMBER = "ts >= '2026-11-01 00:00:00'"
ROWS = (  # in Berlin 00:30 on 1 November, and 23:30 on 31 October
    (1, dt.datetime(2026, 10, 31, 23, 30, tzinfo=dt.UTC)),
    (2, dt.datetime(2026, 10, 31, 22, 30, tzinfo=dt.UTC)),
)
SCHEMA = pa.schema([("id", pa.int32()), ("ts", pa.timestamp("us", "UTC"))])


@pytest.fixture
def berlin(spark: SparkSession) -> Iterator[SparkSession]:
    spark.conf.set(ZONE_CONF, "Europe/Berlin")
    yield spark
    spark.conf.set(ZONE_CONF, "UTC")


@pytest.fixture
def plain(tmp_path: Path) -> str:
    table = make(tmp_path / "shop.db" / "plain", SCHEMA, ("id",), {})
    write(table, ROWS)
    return table.location


@pytest.fixture
def by_time(tmp_path: Path) -> str:
    """A table with a partition for each row."""
    table = make(tmp_path / "by_time", SCHEMA, ("id", "ts"), {}, ("ts",))
    write(table, ROWS)
    return table.location


def ids(frame: DataFrame) -> Sequence[int]:
    return sorted(row.id for row in frame.select("id").collect())


def left(path: str) -> Sequence[int]:
    return sorted(open_table(path).scan(["id"]).to_arrow()["id"].to_pylist())


def test_reads(berlin: SparkSession, plain: str) -> None:
    read, table = berlin.read.format("paimon"), PaimonTable.forPath(berlin, plain)
    assert ids(read.load(plain).where(SINCE_NOVEMBER)) == [1]
    assert ids(table.toDF(where=SINCE_NOVEMBER)) == [1]
    assert ids(table.toDF(options={"filter": SINCE_NOVEMBER})) == [1]
    assert ids(table.toDF(where=sf.col("ts") >= sf.lit("2026-11-01 00:00:00"))) == [1]
    assert ids(table.system_table("audit_log", where=SINCE_NOVEMBER)) == [1]
    assert ids(read.option("filter", SINCE_NOVEMBER).option("time-zone", "Europe/Berlin").load(plain)) == [1]
    tokyo = PaimonTable.forPath(berlin, plain, {"Time-Zone": "Asia/Tokyo"})
    assert ids(tokyo.toDF(where=SINCE_NOVEMBER)) == [1, 2]
    assert ids(table.toDF(where=SINCE_NOVEMBER, options={"time-zone": "UTC"})) == []


def test_a_read_that_does_not_know_the_zone(berlin: SparkSession, plain: str) -> None:
    read = berlin.read.format("paimon")
    words = r"ts \(TIMESTAMP\(6\) WITH LOCAL TIME ZONE\) with '2026-11-01 00:00:00' depends on a time zone.*'time-zone'"
    with pytest.raises(PySparkException, match=words):
        read.option("filter", SINCE_NOVEMBER).load(plain).collect()
    assert ids(read.option("filter", f"{SINCE_NOVEMBER[:-1]}+01:00'").load(plain)) == [1]
    with pytest.raises(PySparkException, match="no time zone 'Berlin'"):
        berlin.read.format("paimon").option("filter", "id = 1").option("time-zone", "Berlin").load(plain).collect()


@pytest.mark.parametrize(("condition", "found"), [(SINCE_NOVEMBER, [1]), ("ts in ('2026-10-31 23:30:00')", [2])])
def test_filters_that_spark_pushes_down(berlin: SparkSession, plain: str, condition: str, found: list[int]) -> None:
    """Spark has made instants of them."""
    berlin.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        assert ids(berlin.read.format("paimon").option("push-filters", "true").load(plain).where(condition)) == found
    finally:
        berlin.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_system_tables_and_tables_without_spark(plain: str) -> None:
    with pytest.raises(PredicateError, match="time_zone="):
        open_table(plain).scan(where=SINCE_NOVEMBER)
    with pytest.raises(PredicateError, match="time_zone="):
        open_table(plain).system_table("audit_log", where=SINCE_NOVEMBER)
    scan = open_table(plain, time_zone="Europe/Berlin").scan(["id"], SINCE_NOVEMBER)
    assert scan.to_arrow()["id"].to_pylist() == [1]
    log = open_table(plain, time_zone=dt.timezone(dt.timedelta(hours=1))).system_table(
        "audit_log", ["id"], SINCE_NOVEMBER
    )
    assert log.to_arrow()["id"].to_pylist() == [1]
    for find in (open_table, find_system_table, find_warehouse_table):
        path = {find_system_table: f"{plain}$files", find_warehouse_table: f"{Path(plain).parents[1]}/sys.db/tables"}
        with pytest.raises(OptionError, match="no time zone 'Berlin'"):
            find(path.get(find, plain), time_zone="Berlin")


def test_overwrites(berlin: SparkSession, by_time: str) -> None:
    table = PaimonTable.forPath(berlin, by_time)
    new = berlin.createDataFrame([(9,)], "id int").withColumn("ts", sf.expr("timestamp'2026-11-01 00:30:00'"))
    name = "ts = '2026-11-01 00:30:00'"
    with pytest.raises(PySparkException, match=r"'2026-11-01 00:30:00' depends on a time zone"):
        new.write.format("paimon").mode("overwrite").option("overwrite-where", name).save(by_time)
    assert left(by_time) == [1, 2]
    assert table.overwrite(new, where=name).rows == 1
    assert left(by_time) == [2, 9]
    writer = new.selectExpr("8 as id", "ts").write.format("paimon").mode("overwrite").option("time-zone", "+01:00")
    writer.option("overwrite-where", name).save(by_time)
    assert left(by_time) == [2, 8]


def test_maintenance(berlin: SparkSession, by_time: str, tmp_path: Path) -> None:
    table = PaimonTable.forPath(berlin, by_time)
    write(open_table(by_time), ROWS)  # a second run in each bucket
    assert table.optimize().where(SINCE_NOVEMBER).compact().buckets == 1
    assert len(table.rescale(2, where=SINCE_NOVEMBER).partitions) == 1
    table.copy(f"{tmp_path}/copy", where=SINCE_NOVEMBER)
    assert left(f"{tmp_path}/copy") == [1]
    table.drop_partitions(SINCE_NOVEMBER)
    assert left(by_time) == [2]
