"""File indexes through Spark: made by df.write, used by reads of both kinds, made anew by Spark tasks."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from paimon_spark import PaimonTable, catalog
from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.tables.open import open_table


def test_written_read_and_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    cat = catalog(spark, str(tmp_path))
    path = str(tmp_path / "db.db" / "t")
    made = PaimonTable.create(spark).location(path).addColumn("id", "BIGINT").addColumn("s", "STRING")
    made.property("metadata.stats-mode", "none").execute()
    for first in (0, 100):
        rows = spark.range(first, first + 10).selectExpr("id", "concat('s', id) s").coalesce(1)
        rows.write.format("paimon").mode("append").save(path)
    table = PaimonTable.forPath(spark, path)
    with table.update_schema() as update:
        update.set_options({"file-index.bitmap.columns": "s", "file-index.in-manifest-threshold": "0 b"})
    rows = spark.range(200, 210).selectExpr("id", "concat('s', id) s").coalesce(1)
    rows.write.format("paimon").mode("append").save(path)
    assert open_table(path).scan(where="s = 's5'").plan().skipped_by_index == 1
    assert cat.sql("call sys.rewrite_file_index(table => 'db.t')").collect() == [(1, 2)]
    assert PaimonTable.forPath(spark, path).rewrite_file_index().written_indexes == 0
    assert open_table(path).scan(where="s = 's5'").plan().skipped_by_index == 2
    shown = PaimonTable.forPath(spark, path).toDF(where="s = 's105'")
    assert len(shown.inputFiles()) == 1
    assert shown.collect() == [(105, "s105")]
    told = cat.explain("select id from paimon.db.t where s = 's105'")
    assert "left out by file indexes: 2 files" in told


def test_deleted_and_updated_rows_of_indexed_files(spark: SparkSession, tmp_path: Path) -> None:
    """Only the reads leave rows out by an index: what copies a file, or counts the places of rows, takes all."""
    options = {"deletion-vectors.enabled": "true", "file-index.bitmap.columns": "s", "write-only": "true"}
    path = str(tmp_path / "t")
    for first in (0, 100):
        rows = spark.range(first, first + 10).selectExpr("id", "concat('s', id) s").coalesce(1)
        rows.write.format("paimon").mode("append").options(**options).save(path)
    table = PaimonTable.forPath(spark, path)
    assert table.delete("s = 's5'").rows_deleted == 1
    assert table.update("s = 's107'", {"s": "'new'"}).rows_updated == 1
    found = open_table(path)
    assert found.scan().count() == 19
    for s, ids in {"new": [107], "s107": [], "s5": [], "s6": [6], "s108": [108]}.items():
        assert found.scan(where=f"s = '{s}'").to_arrow()["id"].to_pylist() == ids
    assert table.check().is_good


def test_an_index_of_the_whole_table(spark: SparkSession, tmp_path: Path) -> None:
    """Made by Spark tasks, and used by each way to read: SQL, the data source, Spark's own scan, without Spark."""
    cat, path = catalog(spark, str(tmp_path)), str(tmp_path / "db.db" / "t")
    cat.sql("create database if not exists paimon.db")
    cat.sql(
        "create table paimon.db.t (id bigint, s string, p int) partitioned by (p) tblproperties ('bucket' = '-1', "
        "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'metadata.stats-mode' = 'none')"
    )
    for first in (0, 1000):
        rows = spark.range(first, first + 1000).selectExpr("id", "concat('s', id % 500) s", "cast(id % 2 as int) p")
        rows.write.format("paimon").mode("append").save(path)
    named = "table => 'db.t', index_column => 's', index_type => 'btree'"
    shown = cat.sql(f"call sys.create_global_index({named}, partitions => 'p=1')")
    assert (shown.columns, shown.collect()) == (["result"], [(True,)])
    assert PaimonTable.forPath(spark, path).create_global_index("s", "btree").rows == 1000
    rows = spark.range(5000, 5003).selectExpr("id", "'s7' s", "cast(7 as int) p").coalesce(1)
    rows.write.format("paimon").mode("append").save(path)
    wanted = [7, 507, 1007, 1507, 5000, 5001, 5002]
    table = PaimonTable.forPath(spark, path)
    for found in (
        cat.sql("select id from paimon.db.t where s = 's7'"),
        spark.read.format("paimon").load(path).where("s = 's7'").select("id"),
        table.toDF(where="s = 's7'").select("id"),
        table.toDF().where("s = 's7'").select("id"),
        PaimonTable.forPath(spark, path, {"read.native": "true"}).toDF(where="s = 's7'").select("id"),
    ):
        assert sorted(row.id for row in found.collect()) == wanted
    scan = open_table(path).scan(["id"], where="s = 's7'")
    assert sorted(scan.to_arrow()["id"].to_pylist()) == wanted
    assert scan.plan().skipped_by_index + sum(len(split.selections) for split in scan.plan().splits) > 0
    assert cat.sql("update paimon.db.t set id = -1 where s = 's7' and p = 7").collect()
    dropped = cat.sql(f"call sys.drop_global_index({named}, dry_run => true)")
    assert dropped.columns == ["result", "dropped_file_count"]
    assert cat.sql(f"call sys.drop_global_index({named})").collect() == dropped.collect()
    assert table.check().is_good


def test_searches_by_indexes(spark: SparkSession, tmp_path: Path) -> None:
    """Made by Spark tasks, and asked by the table-valued functions of SQL."""
    pytest.importorskip("paimon_vindex")
    pytest.importorskip("paimon_ftindex")
    cat = catalog(spark, str(tmp_path))
    cat.sql("create database if not exists paimon.db")
    cat.sql(
        "create table paimon.db.t (id bigint, e array<float>, s string) tblproperties ('bucket' = '-1', "
        "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'fields.e.distance.metric' = 'l2')"
    )
    rows = "select id, array(cast(id as float), cast(id % 7 as float)) e, concat('word', id % 10, ' lake') s from range"
    cat.sql(f"insert into paimon.db.t {rows}(1000)")
    named = "table => 'db.t', options => 'global-index.row-count-per-shard=300'"
    for column, kind in (("e", "ivf-flat"), ("s", "full-text")):
        cat.sql(f"call sys.create_global_index({named}, index_column => '{column}', index_type => '{kind}')")
    shown = cat.sql(
        "select index_type, row_count from paimon.db.`t$table_indexes` order by row_range_start, index_type"
    )
    assert [tuple(row) for row in shown.collect()] == [
        (kind, count) for count in (300, 300, 300, 100) for kind in ("full-text", "ivf-flat")
    ]
    cat.sql(f"insert into paimon.db.t {rows}(1000, 1010)")
    near = "vector_search('db.t', 'e', array(999.4f, 5.0f), 3, map('ivf.nprobe', '1000'))"
    found = cat.sql(f"select id, __paimon_search_score s from {near} order by s desc").collect()
    assert [row.id for row in found] == [999, 1000, 998]
    assert [row.id for row in cat.sql(f"select id from {near} where id < 500").collect()] == [499, 498, 497]
    query = """full_text_search('db.t', 's', '{"match": {"query": "word3 lake", "operator": "And"}}', 200)"""
    found = cat.sql(f"select id, __paimon_search_score s from {query} x where id >= 500").collect()
    assert sorted(row.id for row in found) == list(range(503, 1010, 10))
    assert all(row.s > 0 for row in found)
    assert "__paimon_search_score" not in cat.sql(f"select * from {query}").columns
    dropped = cat.sql("call sys.drop_global_index(table => 'db.t', index_column => 's', index_type => 'full-text')")
    assert dropped.collect() == [(True, 4)]
    assert cat.sql(f"select count(*) from {query}").collect() == [(101,)]
    assert PaimonTable.forPath(spark, str(tmp_path / "db.db" / "t")).check().is_good


def test_searches_within_statements(spark: SparkSession, tmp_path: Path) -> None:
    """A search in a sub-query finds its rows alone, and a name in it is that of a table."""
    cat = catalog(spark, str(tmp_path))
    cat.sql("create database if not exists paimon.db")
    cat.sql("create table paimon.db.t (id bigint, e array<float>)")
    cat.sql("insert into paimon.db.t select id, array(cast(id as float)) from range(9)")
    cat.sql("create table paimon.db.u (id bigint, n bigint)")
    cat.sql("insert into paimon.db.u select id, 0 from range(9)")
    near = "vector_search('t', 'e', array(0.0f), 2)"
    cat.sql("use paimon.db")
    spark.range(100, 103).createOrReplaceTempView("t")
    try:
        assert [row.id for row in cat.sql(f"select id from {near}").collect()] == [0, 1]
        cat.sql(f"update u set n = 1 where id in (select id from {near} where id > 2)")
        cat.sql(f"delete from u where id in (select id from {near})")
        assert [tuple(row) for row in cat.sql("select id, n from u where id < 6 order by id").collect()] == [
            (2, 0), (3, 1), (4, 1), (5, 0)
        ]  # fmt: skip
        cat.sql(
            f"merge into u using (select 8 as id) s on u.id = s.id and u.id not in (select id from {near}) "
            "when matched then delete"
        )
        assert cat.sql("select max(id) from u").collect() == [(7,)]
    finally:
        spark.catalog.dropTempView("t")
    cat.sql("create temporary view found as select id from vector_search('t', 'e', array(0.0f), 2)")
    assert [row.id for row in cat.sql("select id from found").collect()] == [0, 1]
    spark.catalog.dropTempView("found")


def test_parameters_of_what_is_searched(spark: SparkSession, tmp_path: Path) -> None:
    """A condition that was tested on the rows that are found would leave fewer than there are."""
    cat = catalog(spark, str(tmp_path))
    cat.sql("create database if not exists paimon.db")
    cat.sql("create table paimon.db.t (id bigint, e array<float>, x double)")
    cat.sql("insert into paimon.db.t select id, array(cast(id as float)), id / 2 from range(9)")
    near = "select id from vector_search('db.t', 'e', array(0.0f), 2) where"
    for condition, value in (("id > :k", 3), ("x > :k", 1.5), ("id in (:k, 5)", 4)):
        found = cat.sql(f"{near} {condition}", args={"k": value}).collect()
        assert [row.id for row in found] == [4, 5]
    with pytest.raises(UnsupportedFeature, match=r"id > \? on a search in db.t has a parameter without a name"):
        cat.sql(f"{near} id > ?", args=[3])
    with pytest.raises(SqlError, match="the parameter :k has no value"):
        cat.sql(f"{near} id > :k")
