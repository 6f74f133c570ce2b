"""DELETE by a condition with a sub-query over partitions alone: by metadata, without reading a data file."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.spark.rows.statements import decides_partitions

pytestmark = pytest.mark.spark
ROWS = "select * from values (1, 'a', 1), (2, 'a', 2), (3, 'b', 1), (4, null, 1), (5, 'c', 3) as v(id, dt, h)"


def made(spark: SparkSession, path: Path) -> PaimonTable:
    """A table whose data files cannot be read."""
    frame = spark.sql(ROWS).coalesce(1)
    frame.write.format("paimon").mode("append").option("partition", "dt,h").save(str(path))
    for file in path.rglob("bucket-*/*.parquet"):
        file.write_bytes(b"not read")
    return PaimonTable.forPath(spark, str(path))


def left(table: PaimonTable) -> list[str]:
    return sorted(row["partition"] for row in table.partitions().collect())


def test_sub_queries_over_partitions_delete_by_metadata(quick_spark: SparkSession, tmp_path: Path) -> None:
    spark = quick_spark
    spark.sql("select * from values ('a', 2), ('x', 9) as v(d, n)").createOrReplaceTempView("dates")
    table = made(spark, tmp_path / "t").alias("t")
    assert table.delete("dt in (select d from dates) and t.h = (select max(n) - 7 from dates)").rows_deleted == 1
    assert left(table) == ["dt=__DEFAULT_PARTITION__/h=1", "dt=a/h=1", "dt=b/h=1", "dt=c/h=3"]
    assert table.delete("dt in (select d from dates where n > 100)").snapshot_id is None
    done = table.delete("exists (select 1 from dates where t.dt = 'b') or dt is null and h in (table nine)"
                        .replace("table nine", "select 1"))  # fmt: skip
    assert (done.rows_deleted, done.files_rewritten) == (2, 2)
    assert left(table) == ["dt=a/h=1", "dt=c/h=3"]
    done = table.delete("dt not in (select d from dates)")
    assert (done.rows_deleted, left(table)) == (1, ["dt=a/h=1"])
    spark.catalog.dropTempView("dates")


def test_sql_takes_tables_of_ours_and_parameters(quick_spark: SparkSession, tmp_path: Path) -> None:
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    cat.create_database("d")
    cat.use("d")
    made(quick_spark, tmp_path / "d.db/t")
    cat.sql("CREATE TABLE s (id INT, dt STRING, day DATE)")
    cat.sql("INSERT INTO s VALUES (7, 'a', DATE '2026-11-01'), (8, 'c', DATE '2026-11-02')")
    cat.sql("DELETE FROM t WHERE dt IN (SELECT dt FROM s WHERE id > :id AND day < :day)",
            {"id": 5, "day": dt.date(2026, 11, 2)})  # fmt: skip
    found = cat.sql("SELECT `partition` FROM `t$partitions`").collect()
    assert sorted(row[0] for row in found) == ["dt=__DEFAULT_PARTITION__/h=1", "dt=b/h=1", "dt=c/h=3"]


def test_what_is_not_of_partitions_alone_reads_rows(quick_spark: SparkSession, tmp_path: Path) -> None:
    spark = quick_spark
    table = made(spark, tmp_path / "t")._open()

    def decides(condition: str) -> bool:
        return decides_partitions(spark, table, condition, "t")

    assert decides("dt in (select lower('A'))")
    assert decides("upper(t.dt) in (select upper('a'))")
    assert not decides("dt in (select lower('A')) and id = 1")
    assert not decides("dt in (select lower('A') where t.id = 1)")
    assert not decides("dt in (select lower('A')) and rand() < 0.5")
    assert not decides("dt = 'a'")
    spark.sql("declare or replace variable id int default 1")
    try:
        assert not decides("dt in (select lower('A')) and id = 1")
    finally:
        spark.sql("drop temporary variable id")
    spark.udf.register("any_of_mine", lambda value: True, "boolean")
    try:
        assert not decides("dt in (select lower('A')) and any_of_mine(dt)")
    finally:
        spark.sql("drop temporary function any_of_mine")
