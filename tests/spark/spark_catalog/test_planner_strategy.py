"""Reads by our reader are planned as functions over Arrow, beside Spark's own reads of the files that it may read."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from conftest import Lake

OURS, SPARKS, SCAN = "MapInArrow", "FileScan parquet", "paimon lake.d.t, "
KINDS = {
    "keys": "(id INT NOT NULL, v INT, dt STRING NOT NULL) PARTITIONED BY (dt) TBLPROPERTIES "
    "('primary-key' = 'dt,id', 'bucket' = '1', 'write-only' = 'true')",
    "vectors": "(id INT, v INT, dt STRING) PARTITIONED BY (dt) TBLPROPERTIES ('deletion-vectors.enabled' = 'true')",
}
QUERIES = (
    "SELECT * FROM {}",
    "SELECT v, id FROM {} WHERE v > 30 AND id % 2 = 0",
    "SELECT dt, count(*), sum(v) FROM {} WHERE v <> 7 GROUP BY dt",
    "SELECT count(*) FROM {} WHERE dt = 'a' OR v = 3",
    "SELECT a.id, b.v FROM {} a JOIN {} b ON a.id = b.v WHERE a.dt = 'b'",
    "SELECT id FROM {} WHERE v = (SELECT max(v) FROM {}) UNION ALL SELECT v FROM {} WHERE id < 4",
    "SELECT id, row_number() OVER (PARTITION BY dt ORDER BY v) FROM {} WHERE id IN (SELECT v FROM {} WHERE v < 20)",
    "SELECT v FROM {} WHERE id + 0 IN (1, 2, 95) ORDER BY v DESC, id LIMIT 2",
)


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def make(lake: Lake, kind: str) -> None:
    """A table with rows of two partitions, of which one must be merged or has deleted rows; and a copy in Spark."""
    lake.spark.conf.set("spark.paimon.read.local", "false")
    lake.sql(f"CREATE TABLE t {KINDS[kind]}")
    lake.sql("INSERT INTO t SELECT int(id), int(id), if(id < 50, 'a', 'b') FROM range(100)")
    if kind == "keys":
        lake.sql("INSERT INTO t SELECT int(id), int(-id), 'a' FROM range(40, 50)")
        copied = "SELECT int(id) id, int(if(id BETWEEN 40 AND 49, -id, id)) v, if(id < 50, 'a', 'b') dt FROM range(100)"
    else:
        lake.sql("DELETE FROM t WHERE id BETWEEN 40 AND 44")
        copied = "SELECT int(id) id, int(id) v, if(id < 50, 'a', 'b') dt FROM range(100) WHERE NOT id BETWEEN 40 AND 44"
    lake.sql(copied).createOrReplaceTempView("copied")


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_are_read_each_as_it_may_be(lake: Lake, kind: str, adaptive: str) -> None:
    make(lake, kind)
    lake.spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        plan = plan_of(lake.sql("SELECT id, v FROM t WHERE v <> 5"))
        assert (SPARKS in plan, OURS in plan, SCAN in plan) == (True, kind == "keys", False), plan
        assert "ReadSchema: struct<id:int,v:int>" in plan
        assert "Not(EqualTo(v,5))" in plan
        for query in QUERIES:
            frame = lake.sql(query.replace("{}", "t"))
            assert lake.rows(frame) == lake.rows(query.replace("{}", "copied")), query
            assert lake.rows(frame) == lake.rows(frame)
            assert SCAN not in plan_of(frame) or "partial aggregates" in plan_of(frame), query
    finally:
        lake.spark.conf.unset("spark.sql.adaptive.enabled")


def test_who_reads_may_be_said(lake: Lake) -> None:
    make(lake, "keys")
    ours = lake.sql("SELECT id, v FROM t WITH (`read.native` = 'false') WHERE v > 5")
    assert (SPARKS in plan_of(ours), OURS in plan_of(ours)) == (False, True)
    assert lake.rows(ours) == lake.rows("SELECT id, v FROM copied WHERE v > 5")
    hidden = lake.sql("SELECT id FROM t WHERE __paimon_bucket = 0 AND v > 5")
    assert (SPARKS in plan_of(hidden), OURS in plan_of(hidden)) == (False, True)
    assert lake.rows(hidden) == lake.rows("SELECT id FROM copied WHERE v > 5")


def test_each_session_plans_so(lake: Lake) -> None:
    """Those that are made later too; a join that narrows the scan keeps it, and so do streams."""
    make(lake, "keys")
    later = lake.spark.newSession()
    later.conf.set("spark.paimon.read.local", "false")
    frame = later.table("lake.d.t").where("v > 5")
    assert OURS in plan_of(frame)
    assert frame.count() == lake.sql("SELECT * FROM copied WHERE v > 5").count()
    lake.sql("CREATE TABLE days AS SELECT 'a' dt, 1 w UNION ALL SELECT 'b', 2")
    narrowed = lake.sql("SELECT id, v FROM t JOIN days ON t.dt = days.dt WHERE w = 2")
    assert SCAN in plan_of(narrowed)
    assert lake.rows(narrowed) == lake.rows("SELECT id, v FROM copied WHERE dt = 'b'")
    session = lake.spark._jsparkSession
    assert session.experimental().extraStrategies().size() == 1


def test_a_cached_read_and_one_that_is_written(lake: Lake) -> None:
    make(lake, "keys")
    cached = lake.sql("SELECT * FROM t WHERE v <> 7").cache()
    assert lake.rows(cached) == lake.rows("SELECT * FROM copied WHERE v <> 7")
    lake.sql("CREATE TABLE other AS SELECT id, v FROM t WHERE v < 0")
    lake.sql("INSERT INTO other SELECT v, id FROM t WHERE dt = 'b'")
    expected = "SELECT id, v FROM copied WHERE v < 0 UNION ALL SELECT v, id FROM copied WHERE dt = 'b'"
    assert lake.rows("SELECT * FROM other") == lake.rows(expected)
    cached.unpersist()


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_query_reads_twice_is_read_once(lake: Lake, kind: str) -> None:
    """A scan of a later snapshot is another one."""
    make(lake, kind)
    half = "(SELECT v, count(*) AS c FROM {} GROUP BY v)"
    query = f"SELECT a.v, a.c, b.c FROM {half} a JOIN {half} b ON a.v = b.v"
    given = {"spark.sql.adaptive.enabled": "false", "spark.sql.autoBroadcastJoinThreshold": "-1"}
    for key, value in given.items():
        lake.spark.conf.set(key, value)
    try:
        frame = lake.sql(query.replace("{}", "t"))
        assert "ReusedExchange" in plan_of(frame), plan_of(frame)
        assert lake.rows(frame) == lake.rows(query.replace("{}", "copied"))
        lake.sql("INSERT INTO t VALUES (200, 200, 'a')")
        assert lake.rows(query.replace("{}", "t")) == sorted([*lake.rows(frame), (200, 1, 1)], key=repr)
    finally:
        for key in given:
            lake.spark.conf.unset(key)
