"""Chain tables in Spark: made, written and compacted by SQL as the official documentation does, and read every way."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import UnsupportedFeature

pytestmark = pytest.mark.spark


def shown(frame: DataFrame) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def test_every_road(spark: SparkSession, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    cat = paimon_spark.catalog(spark, lake)
    run = cat.sql
    run("CREATE DATABASE paimon.c")
    run(
        "CREATE TABLE paimon.c.t (k INT NOT NULL, s INT, dt STRING NOT NULL) PARTITIONED BY (dt) TBLPROPERTIES ("
        "'primary-key' = 'dt,k', 'bucket' = '1', 'sequence.field' = 's', 'chain-table.enabled' = 'true', "
        "'partition.timestamp-pattern' = '$dt', 'partition.timestamp-formatter' = 'yyyyMMdd')"
    )
    for branch in ("snapshot", "delta"):
        run(f"CALL paimon.sys.create_branch('c.t', '{branch}')")
    for suffix in ("", "$branch_snapshot", "$branch_delta"):
        run(
            f"ALTER TABLE paimon.c.`t{suffix}` SET TBLPROPERTIES ('scan.fallback-snapshot-branch' = 'snapshot', "
            "'scan.fallback-delta-branch' = 'delta')"
        )
    run("INSERT INTO paimon.c.`t$branch_snapshot` VALUES (1, 1, '20260101'), (2, 1, '20260101')")
    run("INSERT INTO paimon.c.`t$branch_delta` VALUES (2, 2, '20260102'), (3, 2, '20260102'), (1, 3, '20260103')")
    expected: list[tuple[object, ...]] = [
        (1, 1, "20260101"), (1, 1, "20260102"), (1, 3, "20260103"), (2, 1, "20260101"), (2, 2, "20260102"),
        (2, 2, "20260103"), (3, 2, "20260102"), (3, 2, "20260103"),
    ]  # fmt: skip
    path = f"{lake}/c.db/t"
    assert shown(spark.read.format("paimon").load(path)) == expected
    assert shown(cat.table("c.t")) == shown(PaimonTable.forPath(spark, path).toDF()) == expected
    assert shown(run("SELECT dt, count(*), max(s) FROM paimon.c.t GROUP BY dt")) == [
        ("20260101", 2, 1),
        ("20260102", 3, 2),
        ("20260103", 3, 3),
    ]
    assert shown(run("SELECT k FROM paimon.c.t WHERE dt = '20260102' AND s = 1")) == [(1,)]
    log = run("SELECT k, rowkind FROM paimon.c.`t$audit_log` WHERE dt = '20260103' AND s = 3")
    assert shown(log) == [(1, "+I")]
    stream = spark.readStream.format("paimon").load(path).writeStream.format("memory").queryName("chain_stream")
    stream.trigger(availableNow=True).start().awaitTermination(60)
    assert shown(spark.table("chain_stream")) == [
        (1, 1, "20260101"), (1, 3, "20260103"), (2, 1, "20260101"), (2, 2, "20260102"), (3, 2, "20260102"),
    ]  # fmt: skip
    for statement in (
        "DELETE FROM paimon.c.t WHERE k = 1",
        "DELETE FROM paimon.c.t WHERE dt = '20260102'",
        "DELETE FROM paimon.c.t WHERE dt IN (SELECT '20260102')",
        "UPDATE paimon.c.t SET s = 9 WHERE k = 1",
        "MERGE INTO paimon.c.t t USING (SELECT 1 AS k) n ON t.k = n.k WHEN MATCHED THEN DELETE",
    ):
        with pytest.raises(UnsupportedFeature, match="would hide the other rows there"):
            run(statement)
    assert shown(cat.table("c.t")) == expected
    try:
        paimon_spark.register_catalog(spark, "chained", lake)
        assert shown(spark.sql("SELECT * FROM chained.c.t")) == expected
        assert shown(spark.sql("SELECT count(*), min(k) FROM chained.c.t WHERE dt > '20260101'")) == [(6, 1)]
        done = "CALL chained.sys.compact_chain_table(table => 'c.t', partition => 'dt=\"20260103\"')"
        assert shown(spark.sql(done)) == [(True,)]
        assert shown(spark.sql(done)) == [(False,)]
        assert shown(spark.table("chained.c.t")) == expected
    finally:
        forget_catalogs(spark)
    assert shown(run("SELECT k, s FROM paimon.c.`t$branch_snapshot` WHERE dt = '20260103'")) == [(1, 3), (2, 2), (3, 2)]
    run("INSERT OVERWRITE paimon.c.`t$branch_delta` PARTITION (dt = '20260103') VALUES (1, 9)")
    assert shown(run("SELECT * FROM paimon.c.`t$branch_snapshot` WHERE dt = '20260103'")) == []
    assert shown(run("SELECT k, s FROM paimon.c.t WHERE dt = '20260103'")) == [(1, 9), (2, 2), (3, 2)]
