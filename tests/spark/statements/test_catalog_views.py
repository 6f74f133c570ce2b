"""SQL over a JDBC catalog: views that it stores, and everything else that its tables can do."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark import PaimonTable
from paimon_spark.errors import (
    OptionError,
    SqlError,
    TableAlreadyExists,
    TableNotFound,
    UnsupportedFeature,
    ViewAlreadyExists,
    ViewNotFound,
)
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("jdbc")


@pytest.fixture(scope="module")
def cat(spark: SparkSession, place: Path) -> SessionCatalog:
    """The tables shop.orders and shop.customers."""
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{place}/c.db", "warehouse": f"{place}/lake"}
    made = paimon_spark.catalog(spark, {**options, "lock.enabled": "true"})
    made.sql("CREATE DATABASE paimon.shop COMMENT 'the shop' WITH DBPROPERTIES ('owner' = 'us')")
    made.sql("CREATE TABLE paimon.shop.orders (id BIGINT, customer INT, total DOUBLE)")
    made.sql("CREATE TABLE paimon.shop.customers (id INT, name STRING) TBLPROPERTIES ('primary-key' = 'id')")
    made.sql("INSERT INTO paimon.shop.orders VALUES (1, 1, 50.0), (2, 1, 150.0), (3, 2, 250.0)")
    made.sql("INSERT INTO paimon.shop.customers VALUES (1, 'ann'), (2, 'bob')")
    return made


def rows(cat: SessionCatalog, text: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in cat.sql(text).collect()]


def test_the_life_of_a_view(cat: SessionCatalog) -> None:
    cat.sql("CREATE VIEW paimon.shop.big AS SELECT id, total FROM orders WHERE total > 100")
    cat.sql(
        "CREATE OR REPLACE VIEW paimon.shop.named (who COMMENT 'it''s a name', total) COMMENT 'big ones' "
        "TBLPROPERTIES ('a' = 'b') AS SELECT c.name, o.total FROM paimon.shop.big o JOIN shop.customers c USING (id)"
    )
    assert rows(cat, "SELECT who, sum(total) FROM paimon.shop.named GROUP BY who") == [("bob", 150.0)]
    assert rows(cat, "SELECT n.who FROM paimon.shop.named n, paimon.shop.big b WHERE b.id = 3") == [("bob",)]
    assert cat.table("shop.big").columns == ["id", "total"]
    assert rows(cat, "SHOW VIEWS IN paimon.shop LIKE 'b*'") == [("shop", "big", False)]
    assert [row[1] for row in rows(cat, "SHOW TABLES IN paimon.shop")] == ["customers", "orders"]
    ((made,),) = rows(cat, "SHOW CREATE TABLE paimon.shop.named")
    assert made.startswith(
        "CREATE VIEW paimon.shop.named (\n  who COMMENT 'it\\'s a name',\n  total)\nCOMMENT 'big ones'\n"
        "TBLPROPERTIES (\n  'a' = 'b')\nAS\nSELECT c.name"
    )
    assert rows(cat, "DESCRIBE paimon.shop.named") == [("who", "string", "it's a name"), ("total", "double", None)]
    assert ("View Properties", "[a=b]", "") in rows(cat, "DESCRIBE EXTENDED paimon.shop.named")
    assert rows(cat, "SHOW COLUMNS IN paimon.shop.named") == [("who",), ("total",)]
    cat.sql("ALTER VIEW paimon.shop.named SET TBLPROPERTIES ('c' = 'd')")
    cat.sql("ALTER VIEW paimon.shop.named UNSET TBLPROPERTIES ('a')")
    cat.sql("ALTER VIEW paimon.shop.named RENAME TO who")
    assert ("View Properties", "[c=d]", "") in rows(cat, "DESCRIBE TABLE EXTENDED paimon.shop.who")
    cat.sql(made)  # what is shown can be run
    cat.sql("ALTER VIEW paimon.shop.big AS SELECT id, total FROM orders WHERE total > 200")
    assert rows(cat, "SELECT * FROM paimon.shop.big") == [(3, 250.0)]
    with pytest.raises(SqlError, match="other columns"):
        cat.sql("ALTER VIEW paimon.shop.big AS SELECT id FROM orders")
    for name in ("named", "who", "big"):
        cat.sql(f"DROP VIEW paimon.shop.{name}")
    cat.sql("DROP VIEW IF EXISTS paimon.shop.big")
    assert rows(cat, "SHOW VIEWS IN paimon.shop") == []


def test_dialects(cat: SessionCatalog) -> None:
    cat.sql("CREATE VIEW paimon.shop.v AS SELECT id FROM orders WHERE id = 1")
    assert rows(
        cat, "CALL sys.alter_view_dialect('shop.v', 'update', 'spark', 'SELECT id FROM orders WHERE id = 2')"
    ) == [(True,)]
    assert rows(cat, "SELECT * FROM paimon.shop.v") == [(2,)]
    cat.sql("CALL sys.alter_view_dialect(`view` => 'shop.v', `action` => 'add', `engine` => 'flink', `query` => 'x')")
    cat.sql("CALL sys.alter_view_dialect('shop.v', 'drop', 'spark')")
    assert rows(cat, "SELECT * FROM paimon.shop.v") == [(1,)], "the query for engines without a dialect"
    with pytest.raises(OptionError, match="needs 'query'"):
        cat.sql("CALL sys.alter_view_dialect('shop.v', 'add')")
    with pytest.raises(OptionError, match="no query for the dialect 'trino'"):
        cat.sql("CALL sys.alter_view_dialect('shop.v', 'drop', 'trino')")
    cat.sql("DROP VIEW paimon.shop.v")


def test_what_views_refuse(cat: SessionCatalog) -> None:
    cat.sql("CREATE VIEW paimon.shop.v AS SELECT id, total FROM orders")
    cat.sql("CREATE VIEW IF NOT EXISTS paimon.shop.v AS SELECT 1 AS one")
    for text, error, words in (
        ("CREATE VIEW paimon.shop.v AS SELECT 1 AS x", ViewAlreadyExists, "already"),
        ("CREATE VIEW paimon.shop.orders AS SELECT 1 AS x", ViewAlreadyExists, "a view or a table"),
        ("CREATE TABLE paimon.shop.v (id INT)", TableAlreadyExists, "a view"),
        ("CREATE VIEW paimon.shop.w (a) AS SELECT 1, 2", SqlError, "1 columns are named, the query has 2"),
        ("CREATE VIEW paimon.shop.w AS SELECT 1 AS x, 2 AS X", SqlError, "the column x twice"),
        ("CREATE VIEW paimon.shop.w AS SELECT * FROM nothing", TableNotFound, r"shop\.nothing"),
        ("INSERT INTO paimon.shop.v VALUES (1, 1.0)", TableNotFound, "is a view and no table"),
        ("DELETE FROM paimon.shop.v", TableNotFound, "is a view and no table"),
        ("DROP TABLE paimon.shop.v", TableNotFound, "is a view and no table"),
        ("DROP VIEW paimon.shop.orders", ViewNotFound, "no view shop.orders"),
        ("SELECT * FROM paimon.shop.v VERSION AS OF 1", UnsupportedFeature, "is a view"),
        ("CREATE VIEW spark_catalog.default.w AS SELECT * FROM paimon.shop.orders", UnsupportedFeature, "permanent"),
    ):
        with pytest.raises(error, match=words):
            cat.sql(text)
    with pytest.raises(OptionError, match="it is a view"):
        cat.table("shop.v", columns="id")
    cat.sql("CREATE VIEW paimon.shop.w AS SELECT * FROM v")
    cat.sql("CREATE OR REPLACE VIEW paimon.shop.v AS SELECT id, total FROM orders WHERE id > 1")
    cat.sql("CALL sys.alter_view_dialect('shop.v', 'update', 'spark', 'SELECT * FROM w')")
    with pytest.raises(SqlError, match="or of itself"):
        cat.sql("SELECT * FROM paimon.shop.v")
    cat.sql("CALL sys.alter_view_dialect('shop.v', 'update', 'spark', 'SELECT id, name FROM customers')")
    with pytest.raises(SqlError, match=r"the column total of the view .* as double, and its query has string now"):
        cat.sql("SELECT * FROM paimon.shop.v")
    for name in ("v", "w"):
        cat.sql(f"DROP VIEW paimon.shop.{name}")


def test_every_other_statement(cat: SessionCatalog, spark: SparkSession, place: Path) -> None:
    """The catalog reaches whatever is done with its tables, and its database holds what it should."""
    assert ("Comment", "the shop") in rows(cat, "DESCRIBE DATABASE EXTENDED paimon.shop")
    cat.sql("ALTER DATABASE paimon.shop SET DBPROPERTIES ('owner' = 'them')")
    assert ("Properties", "((owner,them))") in rows(cat, "DESCRIBE DATABASE EXTENDED paimon.shop")
    cat.sql("CREATE TABLE paimon.shop.copy AS SELECT * FROM paimon.shop.orders")
    cat.sql("ALTER TABLE paimon.shop.copy SET TBLPROPERTIES ('snapshot.num-retained.max' = '70')")
    cat.sql("ALTER TABLE paimon.shop.copy ADD COLUMNS (note STRING)")
    cat.sql("ALTER TABLE paimon.shop.copy RENAME TO paimon.shop.moved")
    cat.sql("UPDATE paimon.shop.moved SET note = 'x' WHERE id = 1")
    session = spark.newSession()
    paimon_spark.catalog(session, cat.catalog.options)  # type: ignore[attr-defined]  # of the catalogs of this package
    assert PaimonTable.forName(session, "shop.moved").toDF("note").where("note IS NOT NULL").count() == 1
    cat["shop.moved"].append(cat.sql("SELECT 9L AS id, 9 AS customer, 9.0D AS total, 'y' AS note"))
    assert rows(cat, "SELECT count(*) FROM paimon.shop.moved") == [(4,)]
    connection = sqlite3.connect(place / "c.db")
    stored = connection.execute("SELECT * FROM paimon_table_properties WHERE table_name = 'moved'").fetchall()
    assert ("jdbc", "shop", "moved", "snapshot.num-retained.max", "70") in stored
    connection.execute("DELETE FROM paimon_tables WHERE table_name = 'moved'")
    connection.commit()
    with pytest.raises(TableNotFound, match=r"no table shop\.moved"):
        cat.sql("SELECT * FROM paimon.shop.moved")
    assert rows(cat, "CALL sys.repair('shop.moved')") == [(True,)]
    assert rows(cat, "SELECT max(id) FROM paimon.shop.moved") == [(9,)]
    cat.sql("DROP TABLE paimon.shop.moved")
    assert connection.execute("SELECT * FROM paimon_distributed_locks").fetchall() == []
    assert "password" not in cat.explain("SELECT * FROM paimon.shop.orders")
