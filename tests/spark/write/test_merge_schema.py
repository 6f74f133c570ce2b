"""Writes that change the schema, by df.write, PaimonTable and SQL (Java: DataFrameWriteTestBase, evolution part)."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import CommitConflict, DataError, OptionError, SchemaError
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.writes.commit_write import commit_job
from paimon_spark.writes.open_write import open_job

MERGE = {"write.merge-schema": "true"}
WIDEN = {**MERGE, "write.merge-schema.type-widening": "true"}
CAST = {**WIDEN, "write.merge-schema.explicit-cast": "true"}


def save(rows: DataFrame, path: Path, mode: str = "append", **options: str) -> None:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    rows.coalesce(1).write.format("paimon").mode(mode).options(**named).save(str(path))


def answer(spark: SparkSession, path: Path) -> list[tuple[object, ...]]:
    return sorted((tuple(row) for row in PaimonTable.forPath(spark, str(path)).toDF().collect()), key=repr)


def shape(spark: SparkSession, path: Path) -> str:
    return PaimonTable.forPath(spark, str(path)).toDF().schema.simpleString()


@pytest.mark.parametrize("keys", [{}, {"primary-key": "k", "bucket": "1"}])
def test_columns_are_added_and_types_widen(spark: SparkSession, tmp_path: Path, keys: dict[str, str]) -> None:
    """Schema evolution: write data into Paimon; some columns is absent in the coming data."""
    path = tmp_path / "t"
    save(spark.sql("select 1 as k, 1 as a, 'a' as b"), path, **keys)
    rows = spark.sql("select 2 as k, 2 as a, 'b' as b, 123L as c, map('k', 11.1D) as d")
    with pytest.raises(Exception, match="column 'c' is not in the table"):
        save(rows, path)
    save(rows, path, **MERGE)
    assert shape(spark, path) == "struct<k:int,a:int,b:string,c:bigint,d:map<string,double>>"
    save(spark.sql("select 3 as k, 3L as a, cast(4 as decimal(38,18)) as C"), path, **WIDEN)
    assert shape(spark, path) == "struct<k:int,a:bigint,b:string,c:decimal(38,18),d:map<string,double>>"
    save(spark.sql("select 4 as k, cast(5 as decimal(20,18)) as c"), path, **WIDEN)
    assert answer(spark, path) == [
        (1, 1, "a", None, None),
        (2, 2, "b", Decimal(123), {"k": 11.1}),
        (3, 3, None, Decimal(4), None),
        (4, None, None, Decimal(5), None),
    ]
    assert PaimonTable.forPath(spark, str(path)).check().is_good


def test_times_stay_times(spark: SparkSession, tmp_path: Path) -> None:
    """Spark shows a TIME as INT: rows that were read from the table can be written to it again."""
    declared = PaimonTable.create(spark).location(str(tmp_path / "t")).addColumn("at", "TIME(3)")
    table = declared.addColumn("all", "ROW<many ARRAY<TIME(3)>>").execute()
    rows = spark.sql("select 1000 as at, named_struct('many', array(1, 86399999)) as all")
    table.append(rows, WIDEN)
    table.append(table.toDF().selectExpr("*", "1 as new"), WIDEN)
    assert shape(spark, tmp_path / "t") == "struct<at:int,all:struct<many:array<int>>,new:int>"
    assert [field.type.root.value for field in table._open().schema.fields] == ["TIME", "ROW", "INT"]
    assert table.toDF().where("at = 1000 and all.many[1] = 86399999").count() == 2


def test_explicit_casts(spark: SparkSession, tmp_path: Path) -> None:
    """Schema evolution: write data into Paimon with allowExplicitCast = true."""
    path = tmp_path / "t"
    save(spark.sql("select 1 as a, '2023-08-01' as b, 12.3D as c"), path)
    table = PaimonTable.forPath(spark, str(path))
    rows = spark.sql("select 2L as a, date'2023-07-31' as b, 234 as c")
    with pytest.raises(SchemaError, match=r"column 'b' is STRING and cannot become DATE.*explicit-cast' = 'true'"):
        table.append(rows, WIDEN)
    assert table.append(rows, CAST).rows == 1
    assert answer(spark, path) == [(1, date(2023, 8, 1), 12), (2, date(2023, 7, 31), 234)]
    assert shape(spark, path) == "struct<a:bigint,b:date,c:int>"


def test_what_has_a_place_already_is_cast(spark: SparkSession, tmp_path: Path) -> None:
    """merge-schema conflict: deep nested array element; same-name column string vs bigint; struct widening."""
    path = tmp_path / "t"
    first = "named_struct('w', named_struct('p', array('p0'), 'n', 1L)) as data"
    save(spark.sql(f"select 'r0' as id, 1000L as value, {first}"), path)
    rows = spark.sql("select 'r1' as id, '2000' as value, named_struct('W', named_struct('p', array(10L))) as data")
    save(rows, path, **MERGE)
    found = PaimonTable.forPath(spark, str(path)).toDF().selectExpr("id", "value", "data.w.p", "data.w.n")
    assert sorted(tuple(row) for row in found.collect()) == [("r0", 1000, ["p0"], 1), ("r1", 2000, ["10"], None)]
    with pytest.raises(Exception, match="the text 'x' is no BIGINT"):
        save(spark.sql("select 'x' as value"), path, **MERGE)


def test_sql_by_name_adds_columns_and_by_position_does_not(spark: SparkSession, tmp_path: Path) -> None:
    cat = paimon_spark.catalog(spark, str(tmp_path))
    cat.sql("CREATE DATABASE paimon.shop")
    cat.sql("CREATE TABLE paimon.shop.t (id INT, v STRING DEFAULT 'd')")
    spark.conf.set("spark.paimon.write.merge-schema", "true")
    try:
        cat.sql("INSERT INTO paimon.shop.t BY NAME SELECT 1 AS id, 5 AS n")
        with pytest.raises(Exception, match="the query has 4 columns"):
            cat.sql("INSERT INTO paimon.shop.t SELECT 2, 'x', 6, 7")
        cat.sql("INSERT INTO paimon.shop.t SELECT 2, 'x', 6")
    finally:
        spark.conf.unset("spark.paimon.write.merge-schema")
    rows = cat.sql("SELECT * FROM paimon.shop.t ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "d", 5), (2, "x", 6)]
    with pytest.raises(Exception, match="z is no column of the table"):
        cat.sql("INSERT INTO paimon.shop.t BY NAME SELECT 1 AS id, 5 AS z")


def test_a_job_that_fails_leaves_no_schema(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1 as a"), path)
    rows = spark.sql("select 2 as a, if(id = 0, cast(raise_error('no') as int), 1) as b from range(1)")
    with pytest.raises(Exception, match="no"):
        PaimonTable.forPath(spark, str(path)).append(rows, MERGE)
    assert [file.name for file in (path / "schema").iterdir()] == ["schema-0"]


def test_jobs_that_add_columns_at_once(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1 as a"), path)
    wider = [spark.sql(f"select 2 as a, 3 as {name}").schema for name in ("b", "b", "c")]
    jobs = [
        open_job(write_options({"path": str(path), **MERGE}), FrameColumns(schema), overwrite=False) for schema in wider
    ]
    assert commit_job(jobs[0], []) is None
    assert commit_job(jobs[1], []) is None
    with pytest.raises(CommitConflict, match=r"another job has changed the schema meanwhile \(schema 1: \+ b INT\)"):
        commit_job(jobs[2], [])


def test_an_overwrite_keeps_the_definition_unless_it_is_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    """saveAsTable overwrite preserves table definition and snapshots."""
    path = tmp_path / "t"
    keys = {"primary-key": "a,pt", "partition": "pt", "bucket": "2"}
    save(spark.sql("select 1 as a, 'old' as b, 'p' as pt"), path, **keys)
    save(spark.sql("select 3 as a, 'new' as b, 'q' as pt"), path, "overwrite")
    table = PaimonTable.forPath(spark, str(path))
    found = table.detail().first()
    assert (found["schema_id"], found["primary_keys"], found["partition_keys"]) == (0, ["a", "pt"], ["pt"])
    assert found["options"]["bucket"] == "2"
    other = spark.sql("select 'x' as a, 4.5D as c, 'r' as pt")
    with pytest.raises(Exception, match="the rows do not fit the table"):
        save(other, path, "overwrite")
    save(other, path, "overwrite", **{"overwrite-schema": "true", "bucket": "1"})
    found = table.detail().first()
    assert (found["schema_id"], found["primary_keys"], found["partition_keys"]) == (1, ["a", "pt"], ["pt"])
    assert found["options"]["bucket"] == "1"
    assert shape(spark, path) == "struct<a:string,c:double,pt:string>"
    assert answer(spark, path) == [("x", 4.5, "r")]
    old = table.toDF(options={"scan.snapshot-id": "1"})
    assert [tuple(row) for row in old.collect()] == [(1, "old", "p")]
    with pytest.raises(SchemaError, match="cannot get or lose a primary key"):
        table.overwrite(other, options={"overwrite-schema": "true", "primary-key": ""})
    assert table.check().is_good


def test_options_that_contradict_each_other(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    save(spark.sql("select 1 as a"), path)
    table, rows = PaimonTable.forPath(spark, str(path)), spark.sql("select 1 as a, 2 as b")
    for options, words in (
        ({"write.merge-schema.type-widening": "true"}, "needs 'write.merge-schema' = 'true'"),
        ({**MERGE, "write.merge-schema.explicit-cast": "true"}, "needs 'write.merge-schema.type-widening' = 'true'"),
        ({**MERGE, "overwrite-schema": "true"}, "contradict each other"),
        ({"overwrite-schema": "true"}, "use it with mode"),
        ({"write.merge-schema": "yes"}, "expected true or false"),
    ):
        with pytest.raises(OptionError, match=words):
            table.append(rows, options)
    with pytest.raises(DataError, match="column 'b' is not in the table"):
        table.append(rows)
    with pytest.raises(SchemaError, match="column 'n' has no type"):
        table.append(spark.sql("select 1 as a, null as n"), MERGE)
