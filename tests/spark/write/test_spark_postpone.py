"""Postponed buckets and rescale through Spark: both write roads, and moves by Spark tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError
from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite

pytestmark = pytest.mark.spark
COLUMNS = "id bigint, dt string, v bigint"
WAITING = {"postpone.batch-write-fixed-bucket": "false"}


def made(spark: SparkSession, path: Path, columns: str = COLUMNS, **properties: str) -> PaimonTable:
    builder = PaimonTable.create(spark).location(str(path)).addColumns(st.StructType.fromDDL(columns))
    for key, value in properties.items():
        builder.property(key.replace("__", ".").replace("_", "-"), value)
    return builder.execute()


def buckets_of(path: Path) -> dict[int, int]:
    """The number of buckets that files name -> how many files."""
    table = open_table(str(path))
    found: dict[int, int] = {}
    for entry in table_state(table, table.snapshots.latest()).live_entries(None):
        found[entry.total_buckets] = found.get(entry.total_buckets, 0) + 1
    return found


@pytest.mark.parametrize("road", ["PaimonTable", "df.write"])
def test_a_write_is_visible_in_buckets_at_once(spark: SparkSession, tmp_path: Path, road: str) -> None:
    path = tmp_path / "t"
    number = "postpone.target-row-num-per-bucket"
    table = made(spark, path, primary_key="dt,id", partition="dt", bucket="-2")
    frame = spark.range(4000, numPartitions=5).selectExpr("id % 1000 id", "concat('d', id % 2) dt", "id v")
    for value in (0, 10_000):
        rows = frame.withColumn("v", sf.col("v") + value)
        if road == "PaimonTable":
            table.append(rows, {number: "500"})
        else:
            rows.write.format("paimon").option(number, "500").mode("append").save(str(path))
    assert set(buckets_of(path)) == {4}  # 2000 rows a partition were staged
    assert table.toDF().agg(sf.count("*"), sf.min("v"), sf.max("v")).collect() == [Row(1000, 13_000, 13_999)]
    assert not list(path.rglob("*-u-*"))
    check_table(str(path))


@pytest.mark.parametrize("road", ["PaimonTable", "df.write"])
def test_rows_wait_and_move_when_the_table_is_compacted(spark: SparkSession, tmp_path: Path, road: str) -> None:
    path = tmp_path / "t"
    table = made(spark, path, primary_key="id", bucket="-2", postpone__default_bucket_num="3")
    frame = spark.range(1200, numPartitions=3).selectExpr("id % 400 id", "'d' dt", "id v")
    if road == "PaimonTable":
        assert table.append(frame, WAITING).files == 3
    else:
        frame.write.format("paimon").options(**WAITING).mode("append").save(str(path))
    assert table.toDF().count() == 0
    table.optimize().compact()
    assert table.toDF().agg(sf.count("*"), sf.min("v"), sf.max("v")).collect() == [Row(400, 800, 1199)]
    assert buckets_of(path) == {3: 3}
    assert [r.commit_kind for r in table.history().collect()] == ["COMPACT", "COMPACT", "APPEND"]
    check_table(str(path))


def test_a_merged_read_shows_what_waits(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = made(spark, path, primary_key="id", bucket="-2", postpone__default_bucket_num="3")
    table.append(spark.range(100).selectExpr("id", "'d' dt", "id v"))
    table.append(spark.range(50, 150).selectExpr("id", "'d' dt", "-id v"), WAITING)
    options = {"postpone.merge-on-read": "true", "source.split.target-size": "1 b"}
    found = table.toDF(options=options)
    assert found.count() == 150
    assert found.where("v < 0").count() == 100
    assert table.toDF(["v"], "id = 60", options).collect() == [Row(-60)]
    assert table.toDF().count() == 100


def test_an_overwrite_chooses_the_number_anew_and_drops_what_waits(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    number = "postpone.target-row-num-per-bucket"
    table = made(spark, path, primary_key="id", bucket="-2")
    table.append(spark.range(10).selectExpr("id", "'d' dt", "id v"), {number: "100"})
    table.append(spark.range(10).selectExpr("id", "'d' dt", "-id v"), WAITING)
    table.overwrite(spark.range(900, numPartitions=2).selectExpr("id", "'d' dt", "id v"), options={number: "100"})
    assert set(buckets_of(path)) == {16}
    assert table.toDF().count() == 900


def test_rescale_and_the_error_that_proposes_it(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = made(spark, path, primary_key="dt,id", partition="dt", bucket="2")
    frame = spark.range(600, numPartitions=3).selectExpr("id % 200 id", "concat('d', id % 3) dt", "id v")
    table.append(frame)
    before = sorted(table.toDF().collect())
    done = table.rescale(5, "dt = 'd1'")
    assert done.partitions == {"partition dt=d1": 2}
    assert (done.rows, done.files) == (200, 5)
    assert sorted(table.toDF().collect()) == before
    with pytest.raises(OptionError, match=r"dt=d1 has 5 buckets.*rescale\(2\)"):
        table.append(frame)
    with pytest.raises(PySparkException, match=r"dt=d1 has 5 buckets.*rescale\(2\)"):
        frame.write.format("paimon").mode("append").save(str(path))
    table.append(frame.where("dt = 'd0'"))
    assert table.rescale(5).partitions == {"partition dt=d0": 2, "partition dt=d2": 2}
    table.append(frame.withColumn("v", sf.lit(-1)))
    assert table.toDF(where="v = -1").count() == 600
    assert table.rescale(5).snapshot_id is None
    with pytest.raises(OptionError, match="0 buckets"):
        table.rescale(0)
    check_table(str(path))


def test_rescale_keeps_values_that_no_spark_type_holds(spark: SparkSession, tmp_path: Path) -> None:
    """Rows travel as Arrow bytes, in blocks; a nanosecond more than Spark knows stays."""
    path = str(tmp_path / "t")
    columns = pa.schema([pa.field("id", pa.int64(), False), ("at", pa.timestamp("ns")), ("t", pa.time32("ms"))])
    create_table(path, new_schema(columns, ["id"], (), {"bucket": "2"}))
    table = open_table(path)
    write = TableWrite(table, "u")
    rows = [pa.array(range(500)), pa.array([10**18 + i for i in range(500)], pa.timestamp("ns"))]
    batch = pa.RecordBatch.from_arrays([*rows, pa.array(range(500), pa.int32()).cast(pa.time32("ms"))], schema=columns)
    write.write(batch)
    TableCommit(table, "u").append(write.finish())
    assert PaimonTable.forPath(spark, path).rescale(3).rows == 500
    found = open_table(path).scan().to_arrow().sort_by("id")
    assert found.combine_chunks().to_batches()[0].equals(batch)


def test_rows_of_append_tables_keep_their_order_over_many_blocks(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", bucket="2", bucket_key="id")
    table.append(spark.range(600_000, numPartitions=2).selectExpr("id % 5 id", "repeat('x', 20) dt", "id v"))
    assert table.rescale(3).rows == 600_000
    found = open_table(str(tmp_path / "t")).scan(["id", "v"]).to_arrow()
    for key in range(5):
        values = found.filter(pc.equal(found["id"], key))["v"].to_numpy()
        assert len(values) == 120_000
        assert (values[1:] > values[:-1]).all()
