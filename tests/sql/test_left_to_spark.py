"""What goes to Spark while a database of ours is the current one, and what is refused instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import Untouched
from paimon_spark.sql.text.names import Names

IN_SHOP = Names(database="shop")


@pytest.mark.parametrize(
    "text",
    [
        "SET", "SET x = 1", "RESET", "SELECT * FROM range(3)", "SELECT a FROM VALUES (1) AS v(a)", "DROP VIEW v",
        "WITH q AS (SELECT 1) SELECT * FROM q", "DROP TABLE spark_catalog.d.t", "SELECT * FROM v", "CACHE TABLE v",
        "SET VAR x = (SELECT 1)", "SET VAR x = (SELECT a FROM v)", "BEGIN SELECT a FROM v; END", "SHOW COLUMNS IN v",
        "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN SELECT max(a) FROM spark_catalog.d.t",
        "INSERT INTO v SELECT 1", "LIST FILE x",
        "SELECT extract(YEAR FROM d), trim(BOTH 'x' FROM s), a IS DISTINCT FROM b FROM v",
        "CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN WITH q AS (SELECT 1) SELECT max(a) FROM q",
        "DROP TABLE IF EXISTS spark_catalog.d.t", "DROP TABLE IF EXISTS global_temp.t PURGE",
        "CREATE TABLE IF NOT EXISTS spark_catalog.d.t (a INT) USING parquet", "DROP VIEW IF EXISTS spark_catalog.d.v",
        "CREATE TABLE IF NOT EXISTS spark_catalog.d.t USING parquet AS SELECT 1 AS a",
        "CREATE EXTERNAL TABLE IF NOT EXISTS spark_catalog.d.t (a INT)", "UNCACHE TABLE IF EXISTS spark_catalog.d.t",
        "CREATE TABLE IF NOT EXISTS spark_catalog.d.t LIKE spark_catalog.d.u", "DROP SCHEMA IF EXISTS spark_catalog.d",
        "EXPLAIN DROP TABLE IF EXISTS spark_catalog.d.t", "SHOW TABLE EXTENDED IN spark_catalog.d LIKE '*'",
        "CREATE DATABASE IF NOT EXISTS spark_catalog.d", "DROP FUNCTION IF EXISTS spark_catalog.d.f",
        "CREATE VIEW IF NOT EXISTS spark_catalog.d.v AS SELECT 1 AS a", "DROP TEMPORARY FUNCTION IF EXISTS f",
        "SELECT a, FROM v", "SELECT a FROM `V` MATCH_UP (1) SOMEHOW",
    ],
)  # fmt: skip
def test_statements_without_a_table_of_ours_are_untouched_in_the_current_database(text: str) -> None:
    assert parse(text, replace(IN_SHOP, temporary=frozenset({"v"}))) == Untouched(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CREATE TEMPORARY FUNCTION f() RETURNS INT RETURN SELECT max(a) FROM t", "t"),
        ("LOAD DATA INPATH 'x' INTO TABLE b.t", "b.t"),
        ("LOCK TABLE t", "t"),
        ("CREATE TEMPORARY TABLE IF NOT EXISTS b.t USING csv", "b.t"),
        ("LOCK TABLE if", "if"),
    ],
)
def test_a_statement_of_spark_does_not_take_a_table_of_ours_for_one_of_spark(text: str, name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"SQL: {name} stands in a statement that begins with"):
        parse(text, IN_SHOP)


def test_of_two_statements_none_goes_to_spark() -> None:
    with pytest.raises(SqlError, match="one statement at a time: a second one begins here; run each by a call of its"):
        parse("SELECT 1; SELECT 2", IN_SHOP)
    assert isinstance(parse("BEGIN SELECT 1; END", IN_SHOP), Untouched)
    assert isinstance(parse("SELECT 1;", IN_SHOP), Untouched)


@pytest.mark.parametrize("text", ["BEGIN SELECT a FROM t; END", "BEGIN INSERT INTO b.t VALUES (1); END"])
def test_a_script_of_spark_does_not_take_a_table_of_ours_for_one_of_spark(text: str) -> None:
    with pytest.raises(SqlError, match="one statement at a time: Spark runs scripts"):
        parse(text, IN_SHOP)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("OPTIMIZE t ZORDER BY (a, b)", "CALL sys.compact(table => 't') compacts, and sorts with order_strategy"),
        ("OPTIMIZE paimon.shop.t WHERE a = 1", "CALL paimon.sys.compact(table => 'paimon.shop.t')"),
        ("VACUUM b.t RETAIN 1 HOURS DRY RUN", "CALL sys.expire_snapshots(table => 'b.t')"),
        ("RESTORE TABLE t TO VERSION AS OF 5", "CALL sys.rollback(table => 't', version => '5')"),
        (
            "RESTORE TABLE t TO VERSION AS OF 5",
            "CALL sys.rollback_to_as_latest(table => 't', version => '5') deletes nothing",
        ),
        (
            "RESTORE TABLE b.t TO TIMESTAMP AS OF '2026-01-01'",
            "CALL sys.rollback_to_timestamp(table => 'b.t', timestamp => '2026-11-01 12:00:00')",
        ),
        ("UPDATE b.t SET a = s.a, c = s.c FROM s WHERE s.id = t.id", "MERGE INTO b.t USING <table or query> ON"),
        ("UPDATE t SET a = (SELECT 1 FROM s) FROM s, u", "WHEN MATCHED THEN UPDATE SET <column> = <value>"),
        ("UPDATE t JOIN s ON t.id = s.id SET a = s.a", "MERGE INTO t USING"),
        ("UPDATE t x LEFT JOIN s ON x.id = s.id SET a = s.a", "MERGE INTO t USING"),
        (
            "DELETE FROM b.t USING s WHERE s.id = t.id",
            "MERGE INTO b.t USING <table or query> ON <condition> WHEN MATCHED",
        ),
        ("DELETE FROM t AS x INNER JOIN s ON x.id = s.id", "THEN DELETE deletes rows by those of another table"),
        ("UNDROP TABLE t", "DROP TABLE deletes the files too, so that t does not come back"),
        ("CONVERT TO DELTA t", "t stays a table of Paimon"),
        ("FSCK REPAIR TABLE t", "CALL sys.remove_unexisting_files(table => 't')"),
        ("REORG TABLE t APPLY (PURGE)", "CALL sys.compact(table => 't', compact_strategy => 'full')"),
        ("CREATE TABLE u SHALLOW CLONE b.t", "CALL sys.copy(source_table => 'b.t'"),
        ("CREATE TABLE IF NOT EXISTS u DEEP CLONE t", "CALL sys.copy(source_table => 't'"),
        ("SELECT * FROM t@v1", "write t VERSION AS OF 1"),
        ("SELECT * FROM paimon.shop.t@v1 JOIN s ON true", "write paimon.shop.t VERSION AS OF 1"),
        ("SELECT * FROM table_changes('b.t', 1, 2)", "paimon_incremental_query('b.t', 1, 3)"),
        ("ALTER TABLE t CREATE BRANCH b1", "CALL sys.create_branch(table => 't', branch => 'b1')"),
        ("ALTER TABLE t ADD PARTITION FIELD days(ts)", "partitioned by columns"),
        ("ALTER TABLE t ADD CONSTRAINT c CHECK (a > 1)", "no constraints but NOT NULL"),
        ("ALTER TABLE t WRITE ORDERED BY a", "'clustering.columns'"),
        ("ALTER TABLE t CLUSTER BY (a)", "'clustering.columns'"),
        ("CREATE TABLE u (id BIGINT GENERATED ALWAYS AS IDENTITY)", "such as uuid()"),
        ("CREATE TABLE u (id BIGINT CHECK (id > 1))", "filter the rows before they are written"),
        ("SELCT * FROM t", "did you mean SELECT?"),
        ("INSRT INTO TABLE t VALUES (1)", "did you mean INSERT?"),
    ],
)
def test_what_another_system_writes_is_answered_with_what_is_written_here(text: str, written: str) -> None:
    with pytest.raises(UnsupportedFeature) as caught:
        parse(text, IN_SHOP)
    assert written in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "OPTIMIZE spark_catalog.d.t", "VACUUM '/path'", "OPTIMIZE delta.`/path` ZORDER BY (a)", "RESTORE", "VACUUM",
        "SELECT * FROM table_changes('spark_catalog.d.t', 1, 2)", "CONVERT TO DELTA parquet.`/path`", "SELCT 1",
    ],
)  # fmt: skip
def test_what_another_system_writes_of_its_own_tables_is_left_to_it(text: str) -> None:
    assert parse(text, IN_SHOP) == Untouched(text)


def test_a_variable_gets_its_value_of_a_table_of_ours() -> None:
    found = parse("SET VAR x = (SELECT max(a) FROM t)", IN_SHOP)
    assert isinstance(found, Query)
    assert found.render(["f"]) == "SET VAR x = (SELECT max(a) FROM {f} AS `t`)"
