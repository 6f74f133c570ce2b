"""``paimon_spark.catalog``: tables by name, in Python and in SQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import DataError, NameTaken, OptionError, SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.spark.adapters import open_catalogs
from paimon_spark.spark.catalog.session_catalog import SessionCatalog


@pytest.fixture(scope="module")
def cat(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCatalog]:
    """A table of two snapshots, partitioned by dt; the second snapshot replaces one row and adds one."""
    catalog = paimon_spark.catalog(spark, str(tmp_path_factory.mktemp("lake")))
    catalog.create_database("shop")
    catalog.sql("""
        CREATE TABLE paimon.shop.orders (id BIGINT, dt STRING, total DOUBLE, `odd {name}` STRING)
        PARTITIONED BY (dt) TBLPROPERTIES ('primary-key' = 'dt,id', 'bucket' = '1')
    """)
    catalog.sql("INSERT INTO paimon.shop.orders VALUES (1, '01', 1.0, '{a}'), (2, '02', 2.0, NULL)")
    catalog.sql("INSERT INTO paimon.shop.orders VALUES (1, '01', 10.0, '{b}'), (3, '01', 3.0, NULL)")
    yield catalog
    catalog.use(None)


def ids(frame: object) -> list[int]:
    return sorted(row[0] for row in frame.select("id").collect())  # type: ignore[attr-defined]  # classic and Connect


def test_what_is_there(cat: SessionCatalog) -> None:
    assert cat.databases() == ["shop"]
    assert cat.tables("shop") == ["orders"]
    assert (cat.exists("shop.orders"), cat.exists("shop.nope"), cat.exists("paimon.shop.orders")) == (True, False, True)


def test_a_table_as_dataframe(cat: SessionCatalog) -> None:
    assert ids(cat.table("shop.orders").where("dt = '01'")) == [1, 3]
    narrow = cat.table("paimon.shop.orders", columns="total, id", where="id = 1", version=1)
    assert (narrow.columns, [tuple(row) for row in narrow.collect()]) == (["total", "id"], [(1.0, 1)])
    with pytest.raises(OptionError, match="version and timestamp both choose a state"):
        cat.table("shop.orders", version=1, timestamp="2026-01-01")
    with pytest.raises(OptionError, match=r"call and the option 'scan.version' both choose what is read; leave one"):
        cat.table("shop.orders", version=1, options={"scan.version": "2"})


def test_a_table_as_stream(cat: SessionCatalog, tmp_path: Path) -> None:
    narrow = cat.stream("shop.orders", "id", where="total > 2", row_kinds=True)
    assert (narrow.isStreaming, narrow.columns) == (True, ["id", "_row_kind"])
    assert "rowkind" in cat.stream("paimon.shop.orders$audit_log").columns
    with pytest.raises(AnalysisException, match=r"of the system tables, .* can be streamed"):
        cat.stream("shop.orders$files")
    with pytest.raises(TableNotFound, match=r"no table shop\.order in"):
        cat.stream("shop.order")


def test_a_table_as_object(cat: SessionCatalog, spark: SparkSession) -> None:
    assert cat["shop.orders"].detail().first()["snapshot_id"] == 2
    session = spark.newSession()
    paimon_spark.catalog(session, cat.catalog.warehouse)
    assert PaimonTable.forName(session, "shop.orders").detail().first()["snapshot_id"] == 2
    with pytest.raises(TableNotFound, match=r"no table shop\.order in the catalog 'paimon'"):
        PaimonTable.forName(session, "shop.order")
    with pytest.raises(SqlError, match="is a system table"):
        cat["shop.orders$files"]


def test_a_session_of_a_batch_finds_the_tables_of_the_session_that_started_it(
    cat: SessionCatalog, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in foreachBatch: the session of the batch is another one, in which nobody has opened a catalog."""
    monkeypatch.setattr(open_catalogs, "_OPEN", WeakKeyDictionary())
    of_batch = spark.newSession()
    with pytest.raises(OptionError, match="this session has no catalog to look it up in"):
        PaimonTable.forName(of_batch, "shop.orders")
    paimon_spark.catalog(spark, cat.catalog.warehouse)
    assert PaimonTable.forName(of_batch, "shop.orders").toDF().count() == cat.table("shop.orders").count()


def test_parameters_braces_and_odd_names(cat: SessionCatalog) -> None:
    text = """SELECT id, `odd {name}`, '{x}' AS brace, :v AS v FROM paimon.shop.orders o
              WHERE o.`odd {name}` = '{b}' AND id = :id"""
    assert [tuple(row) for row in cat.sql(text, {"id": 1, "v": "{"}).collect()] == [(1, "{b}", "{x}", "{")]
    assert "id = 1" in cat.explain(text, {"id": 1, "v": "{"})
    assert [tuple(row) for row in cat.sql("SELECT ? + id FROM paimon.shop.orders WHERE id = ?", [5, 2]).collect()] == [
        (7,)
    ]


def test_a_table_by_its_path_and_a_table_of_spark_in_one_query(cat: SessionCatalog, spark: SparkSession) -> None:
    spark.createDataFrame([(1, "one")], "id long, word string").createOrReplaceTempView("words")
    path = cat.catalog.table_location(cat._identifier("shop.orders"))
    rows = cat.sql(f"SELECT word, total FROM words JOIN paimon.`{path}` USING (id)").collect()
    assert [tuple(row) for row in rows] == [("one", 10.0)]


def test_a_temporary_view_comes_before_a_table_of_the_current_database(
    cat: SessionCatalog, spark: SparkSession
) -> None:
    cat.use("shop")
    assert cat.sql("SELECT count(*) FROM orders").first()[0] == 3
    spark.range(7).createOrReplaceTempView("orders")
    try:
        assert cat.sql("SELECT count(*) FROM orders").first()[0] == 7
        assert cat.sql("SELECT count(*) FROM shop.orders").first()[0] == 3
    finally:
        spark.catalog.dropTempView("orders")
        cat.use(None)


def test_explain_tells_how_each_table_is_read(cat: SessionCatalog) -> None:
    said = cat.explain("SELECT id FROM paimon.shop.orders WHERE dt = '01' AND total > 1")
    assert "snapshot: 2" in said
    assert "columns: id, dt, total" in said
    assert "condition: (dt = '01') AND (total > 1)" in said
    assert "read and merged by paimon_spark: 1 splits of 2 files" in said
    plan = cat.sql("EXPLAIN SELECT id FROM paimon.shop.orders").first()[0]
    assert "== Physical Plan ==" in plan
    with pytest.raises(SqlError, match="no table of the catalog paimon is read here"):
        cat.explain("SELECT 1")


def test_views_and_published_names(cat: SessionCatalog, spark: SparkSession) -> None:
    assert cat.create_views("shop", prefix="v_") == ["v_orders"]
    cat.publish("shop.orders", as_="default.published")
    before = spark.sql("SELECT count(*) FROM v_orders JOIN default.published USING (id)").first()[0]
    cat.sql("INSERT INTO paimon.shop.orders VALUES (9, '09', 9.0, NULL)")
    try:
        assert before == 3
        assert ids(spark.table("v_orders")) == [1, 2, 3]
        assert ids(spark.table("default.published")) == [1, 2, 3, 9]
        cat.publish("shop.orders", as_="default.published")  # again
        spark.sql("CREATE VIEW default.taken AS SELECT 1 AS one")
        with pytest.raises(NameTaken, match="another table or view"):
            cat.publish("shop.orders", as_="default.taken")
        with pytest.raises(SqlError, match="not one of Spark's"):
            cat.publish("shop.orders", as_="paimon.shop.x")
    finally:
        cat["shop.orders"].rollback(2)
        for name in ("published", "taken"):
            spark.sql(f"DROP VIEW IF EXISTS default.{name}")
        spark.sql("DROP TABLE IF EXISTS default.published__paimon_columns")
        spark.catalog.dropTempView("v_orders")


def test_an_insert_without_ansi_mode_loses_nothing(cat: SessionCatalog, spark: SparkSession) -> None:
    cat.sql("CREATE TABLE paimon.shop.n (i INT, a ARRAY<INT>, s STRUCT<x: INT, y: INT>)")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        cat.sql("INSERT INTO paimon.shop.n VALUES (CAST(7 AS BIGINT), array(1), named_struct('x', 1, 'y', 2))")
        with pytest.raises(Exception, match="a value does not fit into the column 'i' int: 3000000000"):
            cat.sql("INSERT INTO paimon.shop.n (i) VALUES (3000000000L)")
        with pytest.raises(DataError, match="values in the column 'a' may not fit"):
            cat.sql("INSERT INTO paimon.shop.n (a) VALUES (array(3000000000L))")
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert [tuple(row) for row in cat.table("shop.n", columns="i, a").collect()] == [(7, [1])]
    cat.drop_table("shop.n")


def test_replacing_a_table_keeps_it_if_the_rows_cannot_be_written(cat: SessionCatalog) -> None:
    cat.sql("CREATE TABLE paimon.shop.r AS SELECT 1 AS a")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        cat.sql("CREATE OR REPLACE TABLE paimon.shop.r AS SELECT a / 0 AS b FROM paimon.shop.r")
    assert cat.table("shop.r").columns == ["a"]
    assert cat.table("shop.r").first()[0] == 1
    properties = "TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')"  # another kind of table: it begins anew
    cat.sql(f"CREATE OR REPLACE TABLE paimon.shop.r {properties} AS SELECT a AS k, 'x' AS v FROM paimon.shop.r")
    assert [tuple(row) for row in cat.table("shop.r").collect()] == [(1, "x")]
    assert cat.tables("shop") == ["orders", "r"]
    cat.drop_table("shop.r")


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("SELECT * FROM paimon.shop.order", TableNotFound, "shop.order"),
        ("SELECT * FROM paimon.shop", SqlError, "names no table"),
        ("SELECT * FROM paimon.shop.orders VERSION AS OF 1 + 1", SqlError, "takes a literal"),
        (
            "SELECT * FROM paimon.shop.orders TIMESTAMP AS OF concat('no', 'on')",
            SqlError,
            "concat('no', 'on') is no time",
        ),
        ("SELECT * FROM paimon.shop.orders TIMESTAMP AS OF 'noon'", SqlError, "names no time"),
        ("SELECT * FROM paimon.shop.orders VERSION AS OF 99", Exception, "99"),
        ("ALTER TABLE paimon.shop.orders ADD COLUMN x INT DEFAULT 1", UnsupportedFeature, "write ALTER COLUMN"),
        ("ALTER TABLE paimon.shop.orders SET TBLPROPERTIES ('bukcet' = '2')", OptionError, "'bukcet' is not known"),
        (
            "CREATE TABLE paimon.shop.x (a INT) USING csv",
            UnsupportedFeature,
            "a Hive or REST catalog has format tables",
        ),
        ("CREATE TABLE paimon.shop.x (a INT) LOCATION '/x'", UnsupportedFeature, "leave LOCATION out"),
        ("CREATE TABLE paimon.shop.x (a WRONG)", SqlError, "type WRONG, which Spark does not have"),
        (
            "CREATE TABLE paimon.shop.x (a INT, b BLOB)",
            SqlError,
            "write BINARY, and name the column in the option 'blob-field'",
        ),
        (
            "CREATE TABLE paimon.shop.x (a INT, b VECTOR<FLOAT, 3>)",
            SqlError,
            "write ARRAY, and name the column in the options 'vector-field'",
        ),
        ("CREATE TABLE paimon.shop.x (a INT, A INT)", SqlError, "a and A differ in letter case alone, and spark.sql."),
        ("CREATE TABLE paimon.shop.x (a INT, a INT)", SqlError, "the column 'a' stands there twice"),
        ("CREATE TABLE paimon.shop.x AS SELECT 1 AS a, 2 AS a", SqlError, "the column 'a' stands there twice"),
        ("INSERT INTO paimon.shop.orders VALUES (1)", SqlError, "the query has 1 columns"),
        ("INSERT INTO paimon.shop.orders$files VALUES (1)", Exception, "system table"),
        ("CALL paimon.sys.compat('shop.orders')", OptionError, "did you mean 'compact'"),
        ("CALL paimon.sys.compact(tabel => 'x')", OptionError, "did you mean 'table'"),
        ("CALL paimon.sys.migrate_table('hive', 'a.b')", UnsupportedFeature, "only a hive catalog has tables of Hive"),
        ("SELECT 1; SELECT * FROM paimon.shop.orders", SqlError, "one statement at a time"),
    ],
)
def test_wrong_texts_are_refused_in_one_sentence(
    cat: SessionCatalog, text: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as found:
        cat.sql(text).collect()
    assert said in str(found.value)


def test_a_catalog_from_the_settings_of_the_session(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"set spark\.sql\.catalog\.other\.warehouse"):
        paimon_spark.catalog(spark, name="other")
    spark.conf.set("spark.sql.catalog.other.warehouse", str(tmp_path))
    try:
        other = paimon_spark.catalog(spark, name="other")
        other.sql("CREATE DATABASE other.d")
        assert other.databases() == ["d"]
        assert "secret" not in repr(
            paimon_spark.catalog(spark, {"warehouse": str(tmp_path), "s3.secret-key": "secret"})
        )
    finally:
        spark.conf.unset("spark.sql.catalog.other.warehouse")
