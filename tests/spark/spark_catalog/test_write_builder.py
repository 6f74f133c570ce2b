"""Writes that Spark asks for: append, overwrites of each kind, tables made with their rows, streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from conftest import Lake
from paimon_spark import open_table


def partitioned(lake: Lake) -> None:
    lake.sql("CREATE TABLE p (id BIGINT, s STRING, dt STRING) PARTITIONED BY (dt)")
    lake.sql("INSERT INTO p VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'y')")


def test_rows_are_added_by_position_and_by_name(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id BIGINT NOT NULL, a STRING, v DOUBLE DEFAULT 1.5) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql("INSERT INTO t VALUES (1, 'a', DEFAULT), (2, 'b', 2.0)")
    lake.sql("INSERT INTO t (a, id) VALUES ('z', 2)")
    lake.sql("INSERT INTO t BY NAME SELECT 0.5D v, 3L id, 'n' a")
    lake.spark.range(10, 12).select("id", F.lit("w").alias("a"), F.lit(0.25).alias("v")).writeTo("lake.d.t").append()
    lake.sql("SELECT 20L id, 'i' a, 7.0D v").write.insertInto("lake.d.t")
    assert lake.rows("SELECT * FROM t") == [
        (1, "a", 1.5),
        (10, "w", 0.25),
        (11, "w", 0.25),
        (2, "z", 1.5),
        (20, "i", 7.0),
        (3, "n", 0.5),
    ]


def test_rows_replace_those_with_their_upsert_key(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id BIGINT, a STRING) TBLPROPERTIES ('upsert-key' = 'id')")
    frame = lake.spark.range(1, 4).select("id", F.lit("old").alias("a"))
    frame.writeTo("lake.d.t").append()
    frame.where("id > 1").withColumn("a", F.lit("new")).writeTo("lake.d.t").append()
    assert lake.rows("SELECT * FROM t") == [(1, "old"), (2, "new"), (3, "new")]


def test_overwrites_replace_what_they_name(lake: Lake) -> None:
    partitioned(lake)
    rows = "SELECT * FROM p"
    lake.sql("INSERT OVERWRITE p PARTITION (dt = 'y') SELECT 9L, 'n'")
    assert lake.rows(rows) == [(1, "a", "x"), (9, "n", "y")]
    new = lake.spark.createDataFrame([(7, "q", "x")], "id long, s string, dt string")
    new.writeTo("lake.d.p").overwritePartitions()
    assert lake.rows(rows) == [(7, "q", "x"), (9, "n", "y")]
    new.withColumn("id", F.lit(8)).writeTo("lake.d.p").overwrite(F.col("dt") == "x")
    assert lake.rows(rows) == [(8, "q", "x"), (9, "n", "y")]
    lake.sql("INSERT OVERWRITE p SELECT 1L, 'o', 'z'")
    assert lake.rows(rows) == [(1, "o", "z")]
    lake.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        lake.sql("INSERT OVERWRITE p SELECT 2L, 'd', 'w'")
    finally:
        lake.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert lake.rows(rows) == [(1, "o", "z"), (2, "d", "w")]
    lake.sql("TRUNCATE TABLE p PARTITION (dt = 'w')")
    assert lake.rows(rows) == [(1, "o", "z")]
    lake.sql("TRUNCATE TABLE p")
    assert lake.rows(rows) == []


@pytest.mark.parametrize(
    ("kind", "value", "other"),
    [
        ("DATE", "DATE'2026-11-01'", "DATE'2026-11-02'"),
        ("INT", "-7", "8"),
        ("STRING", "'it''s \\\\ ü'", "'b'"),
        ("BOOLEAN", "true", "false"),
        ("DECIMAL(5,2)", "1.50", "2.50"),
        ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2026-03-29 02:30:00.123456'", "TIMESTAMP_NTZ'2026-03-29 02:30:00'"),
        ("TIMESTAMP", "TIMESTAMP'2026-03-29 02:30:00.123456'", "TIMESTAMP'2026-03-29 02:30:00'"),
    ],
)
def test_an_overwrite_finds_the_partition_of_a_value(lake: Lake, kind: str, value: str, other: str) -> None:
    lake.sql(f"CREATE TABLE p (id INT, k {kind}) PARTITIONED BY (k)")
    lake.sql(f"INSERT INTO p VALUES (1, {value}), (2, {other}), (3, NULL)")
    lake.sql(f"INSERT OVERWRITE p PARTITION (k = {value}) SELECT 4")
    assert lake.rows("SELECT id FROM p") == [(2,), (3,), (4,)]


def test_an_overwrite_of_single_rows_is_refused(lake: Lake) -> None:
    partitioned(lake)
    with pytest.raises(PySparkException, match=r"partition columns alone \(dt\); to replace other rows write DELETE"):
        lake.spark.table("lake.d.p").writeTo("lake.d.p").overwrite(F.col("id") == 1)
    assert len(lake.rows("SELECT * FROM p")) == 3


@pytest.mark.parametrize("local", ["true", "false"])
def test_rows_of_a_table_whose_columns_hold_no_null_are_written_to_another(lake: Lake, local: str) -> None:
    for name in "ab":
        lake.sql(f"CREATE TABLE {name} (id INT NOT NULL, v ARRAY<INT> NOT NULL) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql("INSERT INTO a VALUES (1, ARRAY(2)), (4, ARRAY()), (7, ARRAY(NULL))")
    lake.spark.conf.set("spark.paimon.read.local", local)
    try:
        lake.spark.table("lake.d.a").where("id < 5").writeTo("lake.d.b").append()
        lake.spark.table("lake.d.a").where("id > 1").write.mode("overwrite").insertInto("lake.d.a")
    finally:
        lake.spark.conf.set("spark.paimon.read.local", "true")
    assert lake.rows("SELECT * FROM b") == [(1, [2]), (4, [])]
    assert lake.rows("SELECT * FROM a") == [(4, []), (7, [None])]
    with pytest.raises(Exception, match="NULL"):
        lake.sql("SELECT 9 AS id, CAST(NULL AS ARRAY<INT>) AS v").writeTo("lake.d.b").append()
    assert len(lake.rows("SELECT * FROM b")) == 2


def test_options_of_a_dataframe_are_those_of_the_table_that_it_makes(lake: Lake) -> None:
    rows = lake.sql("SELECT 1 AS id, 'x' AS dt UNION ALL SELECT 2, 'y'")
    keyed = {"primary-key": "dt,id", "bucket": "1"}
    rows.writeTo("lake.d.a").options(**keyed).partitionedBy(F.col("dt")).create()
    rows.write.format("paimon").options(**keyed).partitionBy("dt").saveAsTable("lake.d.b")
    for name in "ab":
        found = open_table(f"{lake.path}/d.db/{name}").schema
        assert (found.primary_keys, found.partition_keys, found.options["bucket"]) == (("dt", "id"), ("dt",), "1")
    with pytest.raises(PySparkException, match=r"'overwrite-where' of a write that makes d\.b anew"):
        rows.writeTo("lake.d.b").option("overwrite-where", "dt = 'x'").createOrReplace()
    assert lake.rows("SELECT * FROM b") == [(1, "x"), (2, "y")]
    assert lake.spark.read.option("versionAsOf", "1").table("lake.d.b").count() == 2


def test_save_as_table_replaces_the_rows_of_a_table_that_is_there(lake: Lake) -> None:
    """The official connector keeps the table, with its keys, options and history; expected rows follow its tests."""
    partitioned = "PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id,dt', 'bucket' = '2')"
    lake.sql(f"CREATE TABLE b (id INT, s STRING, dt STRING) {partitioned}")
    lake.sql("INSERT INTO b VALUES (1, 'old', 'p1'), (2, 'old', 'p2')")

    def write(row: str, **options: str) -> None:
        """By name, as saveAsTable does."""
        rows = lake.sql(f"SELECT dt, id, s FROM VALUES {row} AS t (id, s, dt)")
        rows.write.format("paimon").mode("overwrite").options(**options).saveAsTable("lake.d.b")

    write("(3, 'new', 'p3')")
    assert lake.rows("SELECT * FROM b") == [(3, "new", "p3")]
    assert lake.rows("SELECT * FROM b VERSION AS OF 1") == [(1, "old", "p1"), (2, "old", "p2")]
    lake.spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    write("(4, 'new', 'p4')")
    write("(5, 'one', 'p4')", **{"overwrite-where": "dt = 'p4'"})
    write("(6, 'all', 'p3')", **{"dynamic-partition-overwrite": "false", "primary-key": "id,dt", "bucket": "2"})
    lake.spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert lake.rows("SELECT * FROM b VERSION AS OF 4") == [(3, "new", "p3"), (5, "one", "p4")]
    write("(7, 'row', 'p5')", **{"overwrite-where": "dt = 'p5'"})
    lake.spark.table("lake.d.b").selectExpr("id + 1 AS id", "s", "dt").write.mode("overwrite").saveAsTable("lake.d.b")
    assert lake.rows("SELECT * FROM b") == [(7, "all", "p3"), (8, "row", "p5")]
    lake.sql("INSERT INTO b VALUES (8, 'upserted', 'p5')")
    assert lake.rows("SELECT * FROM b") == [(7, "all", "p3"), (8, "upserted", "p5")]
    found = open_table(f"{lake.path}/d.db/b").schema
    assert (found.id, found.primary_keys, found.partition_keys) == (0, ("id", "dt"), ("dt",))


def test_save_as_table_refuses_what_does_not_fit_the_table(lake: Lake) -> None:
    lake.sql("CREATE TABLE b (id INT NOT NULL, dt STRING) PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'id,dt')")
    lake.sql("INSERT INTO b VALUES (1, 'p1')")
    rows = lake.sql("SELECT 2 AS id, 'p2' AS dt")
    write = rows.write.mode("overwrite")
    for writer, message in (
        (write.partitionBy("id"), "its partition columns are dt, not id: leave partitionBy out"),
        (rows.write.mode("overwrite").option("replaceWhere", "dt = 'p1'"), "overwrite-where"),
        (rows.write.mode("overwrite").option("path", "/elsewhere"), "the table is at .*; leave it out"),
        (rows.write.mode("append").option("path", "/elsewhere"), "the table is at .*; leave it out"),
        (rows.select("id").write.mode("overwrite").option("overwrite-schema", "true"), "the rows lack the column 'dt'"),
        (rows.write.mode("overwrite").option("primarykey", "id"), "primary-key"),
        (rows.write.mode("overwrite").option("primary-key", "id"), "primary-key"),
        (rows.write.mode("overwrite").option("overwrite-where", "dt = 'p1'"), "p2"),
        (rows.selectExpr("id", "dt", "7 AS more").write.mode("overwrite"), "more"),
        (rows.selectExpr("'x' AS id", "dt").write.mode("overwrite"), "id"),
        (rows.selectExpr("CAST(NULL AS INT) AS id", "dt").write.mode("overwrite"), "NULL|null"),
    ):
        with pytest.raises(PySparkException, match=message):
            writer.saveAsTable("lake.d.b")
        assert lake.rows("SELECT * FROM b") == [(1, "p1")]
    rows.write.mode("overwrite").partitionBy("dt").option("path", f"{lake.path}/d.db/b").saveAsTable("lake.d.b")
    assert lake.rows("SELECT * FROM b") == [(2, "p2")]


def test_columns_of_char_are_read_and_written_by_streams(lake: Lake, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE n (id INT, c CHAR(3), s STRUCT<v: VARCHAR(2)>) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql("INSERT INTO n VALUES (1, 'a', struct('b'))")
    for name in ("lake.d.n", "lake.d.`n$audit_log`"):
        stream = lake.spark.readStream.table(name).select("id", "c", "s").writeStream.trigger(availableNow=True)
        target = f"lake.d.m{len(name)}"
        stream.option("checkpointLocation", f"{tmp_path}/{len(name)}").toTable(target).awaitTermination()
        assert lake.rows(f"SELECT id, c, s.v FROM {target}") == [(1, "a  ", "b")]
    assert [row[1] for row in lake.sql("DESCRIBE n").collect()[1:3]] == ["char(3)", "struct<v:varchar(2)>"]


def test_a_stream_replaces_all_rows_in_the_mode_complete(lake: Lake, tmp_path: Path) -> None:
    partitioned(lake)
    counts = lake.spark.readStream.table("lake.d.p").groupBy("dt").count()
    begun = counts.writeStream.outputMode("complete").trigger(availableNow=True)
    begun.option("checkpointLocation", str(tmp_path / "state")).toTable("lake.d.n").awaitTermination()
    assert lake.rows("SELECT * FROM n") == [("x", 1), ("y", 2)]


def test_a_table_is_made_with_its_rows_or_not_at_all(lake: Lake) -> None:
    lake.sql("CREATE TABLE c TBLPROPERTIES ('primary-key' = 'id') AS SELECT id, cast(id AS string) s FROM range(9)")
    assert lake.rows("SELECT count(*), max(s) FROM c") == [(9, "8")]
    lake.spark.range(3).writeTo("lake.d.w").tableProperty("primary-key", "id").create()
    lake.spark.range(4).withColumn("k", F.lit(1)).writeTo("lake.d.w").createOrReplace()
    assert lake.rows("SELECT count(*), sum(k) FROM w") == [(4, 4)]
    lake.spark.range(5).write.format("paimon").saveAsTable("lake.d.s")
    lake.spark.range(5).write.mode("append").saveAsTable("lake.d.s")
    assert lake.rows("SELECT count(*) FROM s") == [(10,)]
    with pytest.raises(Exception, match="stop here"):
        lake.sql("CREATE TABLE bad AS SELECT CAST(raise_error('stop here') AS INT) x")
    assert not lake.spark.catalog.tableExists("lake.d.bad")
    with pytest.raises(Exception, match="stop here"):
        lake.sql("CREATE OR REPLACE TABLE c AS SELECT CAST(raise_error('stop here') AS INT) x")
    assert lake.rows("SELECT count(*), max(s) FROM c") == [(9, "8")]
    lake.sql("REPLACE TABLE w AS SELECT count(*) n FROM w")
    assert lake.rows("SELECT * FROM w") == [(4,)]


def test_rows_that_do_not_fit_change_nothing(lake: Lake) -> None:
    lake.sql("CREATE TABLE t (id INT NOT NULL, v VARCHAR(3)) TBLPROPERTIES ('primary-key' = 'id')")
    lake.sql("INSERT INTO t VALUES (1, 'a')")
    for statement, message in {
        "INSERT INTO t VALUES (NULL, 'b')": "NULL",
        "INSERT INTO t VALUES (2, 'longer')": "does not fit into VARCHAR",
        "INSERT INTO t SELECT 1": "the query has 1 columns",
        "INSERT INTO t VALUES ('x', 'b')": "does not fit as int",
    }.items():
        with pytest.raises(Exception, match=message):
            lake.sql(statement)
    assert lake.rows("SELECT * FROM t") == [(1, "a")]
    assert len(open_table(str(lake.path / "d.db/t")).history()) == 1


def test_streams_read_and_write_by_name(lake: Lake) -> None:
    lake.sql("CREATE TABLE c AS SELECT id, cast(id AS string) s FROM range(20)")
    stream = lake.spark.readStream.table("lake.d.c").writeStream.trigger(availableNow=True)
    stream.option("checkpointLocation", str(lake.path / "_ck")).toTable("lake.d.copy").awaitTermination()
    assert lake.rows("SELECT * FROM copy") == lake.rows("SELECT * FROM c")
    seen = []

    def count(batch: object, number: int) -> None:
        seen.append(batch.sparkSession.sql("SELECT count(*) FROM lake.d.c").collect()[0][0])  # type: ignore[attr-defined]  # a DataFrame

    query = lake.spark.readStream.table("lake.d.c").writeStream.foreachBatch(count).trigger(availableNow=True)  # type: ignore[arg-type]  # see above
    query.option("checkpointLocation", str(lake.path / "_ck2")).start().awaitTermination()
    assert seen == [20]
