"""``cat.sql`` starts in the catalog: names without one are its tables, after temporary views and before Spark's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import (
    DatabaseNotFound,
    PaimonError,
    SnapshotNotFound,
    SqlError,
    TableNotFound,
    UnsupportedFeature,
)
from paimon_spark.spark.catalog.session_catalog import SessionCatalog


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> Iterator[SessionCatalog]:
    """A table ``shop.t`` of ours and a table ``default.p`` of Spark."""
    quick_spark.sql("CREATE TABLE spark_catalog.default.p USING parquet AS SELECT 7 AS seven")
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.sql("CREATE DATABASE shop")
    made.sql("CREATE TABLE shop.t (id INT, total INT)")
    made.sql("INSERT INTO shop.t VALUES (1, 10), (2, 20)")
    yield made
    quick_spark.sql("USE spark_catalog.default")
    quick_spark.sql("DROP TABLE spark_catalog.default.p")
    for view in ("v", "cached"):
        quick_spark.catalog.dropTempView(view)


def rows(cat: SessionCatalog, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in cat.sql(text).collect()]


def test_a_session_starts_in_the_default_database_which_need_not_be_there(cat: SessionCatalog) -> None:
    assert rows(cat, "SHOW DATABASES") == [("shop",)]
    with pytest.raises(DatabaseNotFound, match="there is no database 'default' in the catalog 'paimon': it has shop"):
        cat.sql("SHOW TABLES")
    assert rows(cat, "SHOW CURRENT NAMESPACE") == [("paimon", "default")]
    assert rows(cat, "SHOW CATALOGS") == [("paimon",), ("spark_catalog",)]
    assert rows(cat, "SHOW TABLES IN shop") == [("shop", "t", False)]
    assert rows(cat, "SELECT sum(total) FROM shop.t") == [(30,)]
    cat.sql("CREATE TABLE t AS SELECT current_catalog() AS c, current_database() AS d")
    assert cat.catalog.list_databases() == ["default", "shop"]
    assert rows(cat, "SELECT * FROM t") == [("paimon", "default")]


def test_a_warehouse_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    """All doors say it, until the first database makes it."""
    cat = paimon_spark.catalog(spark, f"{tmp_path}/lkae")
    for use in (cat.databases, lambda: cat.sql("SHOW DATABASES"), lambda: cat.sql("CALL sys.compact_database()")):
        with pytest.raises(DatabaseNotFound, match=f"the warehouse {tmp_path}/lkae .* does not exist: check the path"):
            use()
    assert not (tmp_path / "lkae").exists()
    cat.sql("CREATE DATABASE shop")
    assert rows(cat, "SHOW DATABASES") == [("shop",)]


def test_use_and_set_catalog(cat: SessionCatalog) -> None:
    """The results are those of the official connector (paimon-spark-4.1_2.13-2.0.0)."""
    told = "SELECT current_catalog(), current_database(), current_schema()"
    for statement, names in {
        "USE shop": ("paimon", "shop"),
        "USE spark_catalog": ("spark_catalog", "default"),
        "USE paimon.shop": ("paimon", "shop"),
        "SET CATALOG spark_catalog": ("spark_catalog", "default"),
        "SET CATALOG 'paimon'": ("paimon", "default"),
    }.items():
        cat.sql(statement)
        frame = cat.sql(told)
        assert frame.columns == ["current_catalog()", "current_schema()", "current_schema()"]
        assert [tuple(row) for row in frame.collect()] == [(*names, names[1])], statement
        assert rows(cat, "SHOW CURRENT NAMESPACE") == [names], statement
    for statement in ("USE nosuch", "USE nosuch.d", "SET CATALOG nosuch"):
        with pytest.raises(PaimonError, match="nosuch"):
            cat.sql(statement)
    assert rows(cat, "SHOW CURRENT NAMESPACE") == [("paimon", "default")]


def test_spark_has_its_own_tables_and_what_names_none(cat: SessionCatalog) -> None:
    assert rows(cat, "SELECT seven FROM spark_catalog.default.p") == [(7,)]
    assert rows(cat, "SELECT id FROM shop.t JOIN spark_catalog.default.p ON id + 5 = seven") == [(2,)]
    assert rows(cat, "SELECT a FROM VALUES (1) AS v(a)") == [(1,)]
    assert rows(cat, "WITH q AS (SELECT id FROM range(2)) SELECT max(id) FROM q") == [(1,)]
    cat.sql("USE spark_catalog")
    assert rows(cat, "SELECT seven FROM p") == [(7,)]
    with pytest.raises(TableNotFound, match=r"the catalog 'paimon' has it: write paimon\.shop\.t, or USE paimon"):
        cat.sql("SELECT * FROM shop.t")
    assert rows(cat, "SELECT count(*) FROM paimon.shop.t") == [(2,)]


def test_a_table_that_only_spark_has_is_reported_and_not_read(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    said = r"Spark's own catalog has that table: write spark_catalog\.default\.p$"
    for text in ("SELECT * FROM p", "SELECT * FROM default.p", "INSERT INTO p VALUES (1)", "DROP TABLE default.p"):
        with pytest.raises(TableNotFound, match=said):
            cat.sql(text)
    quick_spark.sql("CREATE DATABASE IF NOT EXISTS of_spark")
    try:
        with pytest.raises(DatabaseNotFound, match=r"Spark's own catalog has it: write spark_catalog\.of_spark$"):
            cat.sql("USE of_spark")
    finally:
        quick_spark.sql("DROP DATABASE of_spark")


def test_a_temporary_view_comes_first_in_every_statement(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    cat.sql("USE shop")
    cat.sql("CREATE TABLE v (a INT)")
    cat.sql("CREATE TEMPORARY VIEW v AS SELECT 5 AS five")
    assert rows(cat, "SELECT * FROM v") == [(5,)]
    assert rows(cat, "SHOW COLUMNS IN v") == [("five",)]
    assert rows(cat, "DESCRIBE v") == [("five", "int", None)]
    assert rows(cat, "SELECT five FROM v |> WHERE five = 5 |> EXTEND 1 AS one") == [(5, 1)]
    for text in ("INSERT INTO v SELECT id FROM t", "TRUNCATE TABLE v", "SHOW CREATE TABLE v"):
        with pytest.raises(AnalysisException, match=r"EXPECT_\w+_NOT"):
            cat.sql(text)
    with pytest.raises(SqlError, match=r"v is a temporary view, whose rows stay; write paimon\.shop\.v for the table"):
        cat.sql("DELETE FROM v")
    cat.sql("DROP TABLE v")  # as Spark does: the view goes
    assert rows(cat, "SELECT * FROM v") == []
    assert cat.tables("shop") == ["t", "v"]


def test_names_of_no_catalog(cat: SessionCatalog) -> None:
    with pytest.raises(
        SqlError, match=r"paimn\.shop\.t begins with paimn, which is no catalog: did you mean paimon\.s"
    ):
        cat.sql("SELECT * FROM paimn.shop.t")
    with pytest.raises(SqlError, match="x is no catalog: there are paimon, spark_catalog"):
        cat.sql("SET CATALOG x")


def test_a_variable_takes_its_value_of_a_table(cat: SessionCatalog) -> None:
    cat.sql("DECLARE OR REPLACE VARIABLE top INT")
    cat.sql("SET VAR top = (SELECT max(id) FROM shop.t)")
    assert rows(cat, "SELECT top") == [(2,)]
    cat.sql("DROP TEMPORARY VARIABLE top")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("SELECT totl FROM shop.t", "`total`"),
        ("SELECT id FROM shop.t WHERE t.totl = 1", "`total`"),
        ("SELECT count(*) FROM shop.t GROUP BY totl", "`total`"),
        ("EXPLAIN SELECT totl FROM shop.t", "`total`"),
        ("CREATE TABLE x AS SELECT totl FROM shop.t", "`total`"),
        ("INSERT INTO shop.t SELECT id, totl FROM shop.t", "`total`"),
    ],
)
def test_a_column_that_is_not_there_is_reported_with_its_like(cat: SessionCatalog, text: str, near: str) -> None:
    with pytest.raises(AnalysisException) as caught:
        cat.sql(text)
    said = str(caught.value)
    assert (near in said, "_pyspark_" in said, "\n" in said) == (True, False, False), said
    assert (caught.value.getCondition() or "").startswith("UNRESOLVED_COLUMN")


def test_a_text_that_spark_does_not_read_is_reported_without_our_names(cat: SessionCatalog) -> None:
    with pytest.raises(AnalysisException) as caught:
        cat.sql("SELECT * FROM (DESCRIBE shop.t)")
    assert "_pyspark_" not in str(caught.value)


def test_a_system_table_has_no_point(cat: SessionCatalog) -> None:
    cat.sql("USE shop")
    with pytest.raises(TableNotFound, match=r"a system table is written t\$snapshots$"):
        cat.sql("SELECT * FROM t.snapshots")
    with pytest.raises(SqlError, match=r"a system table is written paimon\.shop\.t\$files$"):
        cat.sql("SELECT * FROM paimon.shop.t.files")
    with pytest.raises(SqlError, match=r"write paimon\.sys\.compact$"):
        cat.sql("CALL paimon.system.compact('t')")
    for text in ("DESCRIBE HISTORY shop.t", "DESCRIBE DETAIL t"):
        with pytest.raises(UnsupportedFeature, match=r"is of another system: .*SELECT \* FROM (shop\.)?`t\$"):
            cat.sql(text)
    for text in ("DELETE FROM t WHERE id = 1", "UPDATE t SET id = 1"):
        with pytest.raises(SqlError, match=r"explain the query of the same rows: SELECT \* FROM t WHERE <condition>$"):
            cat.explain(text)


def test_a_time_may_be_an_expression_that_spark_computes(cat: SessionCatalog) -> None:
    """Which expressions are possible is that of the official connector (paimon-spark-4.1_2.13-2.0.0)."""
    for time in (
        "current_timestamp()",
        "now() + INTERVAL 2 DAYS",
        "date_sub(current_date(), -1)",
        "1 + 4000000000",
        "CAST('2999-01-01' AS TIMESTAMP_NTZ)",
        "(SELECT now())",
        "to_timestamp(:day)",
    ):
        found = cat.sql(f"SELECT sum(total) FROM shop.t TIMESTAMP AS OF {time} AS x", {"day": "2999-01-01"})
        assert found.first()[0] == 30, time
    with pytest.raises(SnapshotNotFound, match="no snapshot is that old"):
        cat.sql("SELECT * FROM shop.t TIMESTAMP AS OF current_timestamp() - INTERVAL 10 DAYS")


def test_spark_caches_a_query(cat: SessionCatalog) -> None:
    with pytest.raises(UnsupportedFeature, match=r"write CACHE TABLE <a new name> AS SELECT \* FROM shop\.t, and read"):
        cat.sql("CACHE TABLE shop.t")
    cat.sql("UNCACHE TABLE shop.t")
    cat.sql("CACHE LAZY TABLE cached OPTIONS ('storageLevel' = 'MEMORY_ONLY') AS SELECT sum(total) AS s FROM shop.t")
    assert rows(cat, "SELECT * FROM cached") == [(30,)]
    cat.sql("UNCACHE TABLE cached")


def test_an_insert_behind_from(cat: SessionCatalog) -> None:
    cat.sql("FROM shop.t INSERT INTO shop.t SELECT id + 10, total WHERE id = 2")
    assert sorted(rows(cat, "SELECT * FROM shop.t")) == [(1, 10), (2, 20), (12, 20)]
    with pytest.raises(UnsupportedFeature, match="this table is Spark's, and another INSERT behind FROM is ours"):
        cat.sql("FROM shop.t INSERT INTO shop.t SELECT * INSERT INTO spark_catalog.default.p SELECT id")


def test_a_statement_without_a_result_starts_no_job(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    context = quick_spark.sparkContext
    context.setJobGroup("of the results", "", interruptOnCancel=False)
    try:
        for text in ("USE shop", "CREATE TABLE x (a INT)", "DROP TABLE x", "USE spark_catalog", "USE paimon"):
            frame = cat.sql(text)
            assert (frame.columns, frame.collect()) == ([], []), text
            assert list(context.statusTracker().getJobIdsForGroup("of the results")) == [], text
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None takes it away


def test_a_column_may_be_called_outer(cat: SessionCatalog) -> None:
    cat.sql("CREATE TABLE o AS SELECT named_struct('a', array(named_struct('label', 'x'))) AS outer")
    assert rows(cat, "SELECT outer.a[0].label FROM o WHERE outer IS NOT NULL") == [("x",)]
