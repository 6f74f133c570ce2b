"""Tables with dynamic buckets through Spark: both roads, and cross-partition tables."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import MissingFile, OptionError, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.store.buckets.hash_index_files import read_hash_files
from paimon_spark.store.metadata.table import BucketMode

pytestmark = pytest.mark.spark
COLUMNS = "id bigint, dt string, v bigint"


def made(spark: SparkSession, path: Path, columns: str = COLUMNS, **properties: str) -> PaimonTable:
    builder = PaimonTable.create(spark).location(str(path)).addColumns(st.StructType.fromDDL(columns))
    for key, value in {"bucket": "-1", "write_only": "true", **properties}.items():
        builder.property(key.replace("_", "-"), value)
    return builder.execute()


def save(frame: DataFrame, path: Path, mode: str = "append", **options: str) -> None:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    frame.write.format("paimon").mode(mode).options(**named).save(str(path))


def sizes(path: Path) -> dict[tuple[Any, int], int]:
    """(partition value, bucket) -> hashes in its index."""
    table = open_table(str(path))
    latest, types = table.snapshots.latest(), [f.type for f in table.schema.partition_fields]
    return {
        ((*decode_arity_row(partition, types), None)[0], bucket): entry.row_count
        for partition, entries in read_hash_files(table, latest and latest.index_manifest).items()
        for bucket, entry in entries.items()
    }


@pytest.fixture
def small_batches(spark: SparkSession) -> Iterator[None]:
    key = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(key)
    spark.conf.set(key, "7")
    yield
    spark.conf.set(key, before or "10000")


def test_the_table_api_fills_buckets_exactly(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    options = {"dynamic-bucket.target-row-num": "100", "dynamic-bucket.initial-buckets": "1"}
    table = made(spark, path, primary_key="id", **options)
    frame = spark.range(250, numPartitions=3).selectExpr("id", "'x' dt", "0L v")
    assert table.append(frame.unionAll(frame.withColumn("v", sf.lit(1).cast("bigint")))).files == 3
    assert sizes(path) == {(None, 0): 100, (None, 1): 100, (None, 2): 50}
    assert table.toDF().groupBy("v").count().collect() == [Row(v=1, count=250)]
    table.append(spark.range(200, 320).selectExpr("id", "'x' dt", "2L v"))
    assert sizes(path) == {(None, 0): 100, (None, 1): 100, (None, 2): 100, (None, 3): 20}
    assert sorted(table.toDF().groupBy("v").count().collect()) == [Row(v=1, count=200), Row(v=2, count=120)]
    check_table(str(path))


def test_both_roads_in_turn(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    target = {"dynamic-bucket.target-row-num": "20"}
    table = made(spark, path, "ID bigint, dt string, v bigint", primary_key="ID,dt", partition="dt", **target)
    draw, model = random.Random(4), dict[tuple[int, str], int]()
    schema = st.StructType.fromDDL(COLUMNS)
    for number in range(3):
        rows = [(draw.randint(0, 60 + 40 * number), draw.choice(["a", "b"]), number * 1000 + i) for i in range(90)]
        frame = spark.createDataFrame(rows, schema).repartitionByRange(3, "v")  # in order of v, in several tasks
        if number % 2:
            table.append(frame.select("v", "dt", "id"))
        else:
            save(frame, path)
        model |= {(k, p): v for k, p, v in rows}
        found = [tuple(row) for row in table.toDF().collect()]
        assert Counter(found) == Counter((k, p, v) for (k, p), v in model.items())
    check_table(str(path))
    assert sum(sizes(path).values()) == len(model)


def test_kinds_and_what_is_left_out(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(1, "a", 1, "+I"), (2, "a", 1, "-D"), (3, "a", 1, "+I"), (3, "a", 1, "-D"), (1, "a", 2, "-U")]
    frame = spark.createDataFrame(rows, st.StructType.fromDDL(COLUMNS + ", op string")).coalesce(1)
    for ignored, expected in (("false", {3: 0, 1: 0}), ("true", {1: 1, 3: 1})):
        path = tmp_path / ignored
        table = made(spark, path, primary_key="id", **{"ignore-delete": ignored})
        table.append(frame, {"row-kind-column": "op"})
        assert {row.id: row.v for row in table.toDF().collect()} == {k: v for k, v in expected.items() if v}
        save(spark.createDataFrame([(7, "a", 7)], COLUMNS), path)
        assert sum(sizes(path).values()) == (4 if ignored == "false" else 3)
        check_table(str(path))


def test_overwrites_of_both_roads(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = made(spark, path, primary_key="id,dt", partition="dt")
    frame = spark.range(30).selectExpr("id", "cast(id % 3 as string) dt", "0L v")
    table.append(frame)
    table.dynamic_partition_overwrite(frame.where("dt = '1' and id < 10"))
    assert sizes(path) == {("0", 0): 10, ("1", 0): 3, ("2", 0): 10}
    save(frame.where("dt = '2' and id < 6"), path, "overwrite", overwrite_where="dt = '2'")
    assert sizes(path) == {("0", 0): 10, ("1", 0): 3, ("2", 0): 2}
    table.overwrite(frame.where("id = 5"))
    assert sizes(path) == {("2", 0): 1}
    save(frame.where("id = 4"), path, "overwrite")
    assert sizes(path) == {("1", 0): 1}
    check_table(str(path))


def test_a_new_table_with_a_key_has_dynamic_buckets(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(100), tmp_path / "t", primary_key="id")
    assert open_table(str(tmp_path / "t")).bucket_mode is BucketMode.HASH_DYNAMIC
    assert set(sizes(tmp_path / "t")) == {(None, bucket) for bucket in range(4)}


def test_a_bad_option_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    table = made(spark, tmp_path / "t", primary_key="id")
    with pytest.raises(OptionError, match=r"dynamic-bucket\.target-row-num' is 0, expected at least 1"):
        table.append(spark.range(1).selectExpr("id", "'a' dt", "0L v"), {"dynamic-bucket.target-row-num": "0"})


def cross(spark: SparkSession, path: Path, **properties: str) -> PaimonTable:
    return made(spark, path, primary_key="id", partition="dt", **properties)


def rows_frame(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """In this order."""
    kinds = len(rows[0]) > 3
    return spark.createDataFrame(
        list(rows), st.StructType.fromDDL(COLUMNS + (", op string" if kinds else ""))
    ).coalesce(1)


def rows_of(table: PaimonTable) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in table.toDF().collect()), key=repr)


def test_keys_move_between_partitions(spark: SparkSession, tmp_path: Path) -> None:
    table = cross(spark, tmp_path / "t", **{"dynamic-bucket.target-row-num": "2"})
    table.append(rows_frame(spark, (1, "a", 1), (2, "a", 2), (3, None, 3), (1, "b", 4), (1, "c", 5)))
    assert rows_of(table) == [(1, "c", 5), (2, "a", 2), (3, None, 3)]
    table.append(rows_frame(spark, (2, "b", 6), (3, "a", 7), (4, "a", 8), (3, None, 9), (1, "c", 10)))
    assert rows_of(table) == [(1, "c", 10), (2, "b", 6), (3, None, 9), (4, "a", 8)]
    deletes = rows_frame(
        spark, (1, "x", 0, "-D"), (2, "b", 0, "-D"), (5, "a", 0, "-D"), (4, "y", 1, "+U"), (6, "a", 1, "+I")
    )
    table.append(deletes, {"row-kind-column": "op"})
    assert rows_of(table) == [(3, None, 9), (4, "y", 1), (6, "a", 1)]
    table.append(rows_frame(spark, (1, "a", 11), (2, "c", 12)))
    assert rows_of(table) == [(1, "a", 11), (2, "c", 12), (3, None, 9), (4, "y", 1), (6, "a", 1)]
    table.overwrite(rows_frame(spark, (1, "b", 13), (9, "b", 14), (9, "c", 15)))
    assert rows_of(table) == [(1, "b", 13), (9, "c", 15)]
    check_table(str(tmp_path / "t"))


@pytest.mark.parametrize(
    ("properties", "first", "second"),
    [
        ({"merge-engine": "partial-update"}, [(1, "a", 2), (2, "a", 5)], [(1, "a", 7), (2, "a", 5), (3, "d", 1)]),
        (
            {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
            [(1, "a", 3), (2, "a", 5)],
            [(1, "a", 10), (2, "a", 5), (3, "d", 1)],
        ),
        ({"merge-engine": "first-row", "write-only": "false"}, [(1, "a", 1), (2, "a", 5)], None),
    ],
)
def test_other_engines_keep_keys_in_their_partitions(
    spark: SparkSession,
    tmp_path: Path,
    properties: dict[str, str],
    first: list[tuple[Any, ...]],
    second: list[tuple[Any, ...]] | None,
) -> None:
    table = cross(spark, tmp_path / "t", **properties)
    table.append(rows_frame(spark, (1, "a", 1), (1, "b", 2), (2, "a", 5)))
    assert rows_of(table) == first
    table.append(rows_frame(spark, (1, "c", 7), (3, "d", 1), (2, "b", None)))
    assert rows_of(table) == (second or [(1, "a", 1), (2, "a", 5), (3, "d", 1)])
    check_table(str(tmp_path / "t"))


def test_many_keys_meet_their_table(spark: SparkSession, tmp_path: Path, small_batches: None) -> None:
    """Keys of several columns and types, one of them a partition column; more rows than fit into a batch."""
    columns = "a decimal(20, 2), b timestamp, part int, c string, v bigint"
    table = made(spark, tmp_path / "t", columns, primary_key="a,b,part", partition="part,c")

    def frame(seed: int) -> DataFrame:
        picked = spark.range(300, numPartitions=2).selectExpr(
            "id", f"pmod(hash(id, {seed}), 120) k", f"hash(id, {seed}) h"
        )
        return picked.selectExpr(
            "cast(k / 7 as decimal(20, 2)) a", "timestamp_micros(k * 1000000007L) b", "cast(k % 2 as int) part",
            "cast(pmod(h, 5) as string) c", f"id + {seed} * 1000 v",
        ).orderBy("v")  # fmt: skip

    model: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for seed in range(3):
        source = frame(seed)
        table.append(source)
        model |= {(row.a, row.b, row.part): tuple(row) for row in source.collect()}
        assert Counter(rows_of(table)) == Counter(model.values())
    check_table(str(tmp_path / "t"))


def test_keys_of_lost_files_are_not_new(spark: SparkSession, tmp_path: Path) -> None:
    table = cross(spark, tmp_path / "t", **{"scan.ignore-lost-files": "true"})
    table.append(rows_frame(spark, (1, "a", 1)))
    next(tmp_path.rglob("data-*")).unlink()
    assert rows_of(table) == []
    with pytest.raises(MissingFile, match="it does not exist"):
        table.append(rows_frame(spark, (1, "b", 2)))


def test_what_cross_partition_tables_refuse(spark: SparkSession, tmp_path: Path) -> None:
    table = cross(spark, tmp_path / "t")
    frame = rows_frame(spark, (1, "a", 1))
    with pytest.raises(PySparkException, match=r"use PaimonTable.forPath\(spark, path\).append\(df\)"):
        save(frame, tmp_path / "t")
    with pytest.raises(UnsupportedFeature, match="overwrite the whole table"):
        table.overwrite(frame, where="dt = 'a'")
    with pytest.raises(UnsupportedFeature, match="overwrite the whole table"):
        table.dynamic_partition_overwrite(frame)
    with pytest.raises(UnsupportedFeature, match="'ignore-delete' = 'true'"):
        table.append(frame, {"ignore-delete": "true"})
    assert rows_of(table) == []
