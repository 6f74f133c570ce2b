"""Statements of ours that Spark does not run: what each of them says, and what is left to Spark."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql import statements as s
from paimon_spark.sql.listings import (
    AlterDatabase,
    CreateDatabase,
    DescribeDatabase,
    DescribeProcedure,
    DescribeTable,
    DropDatabase,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowDatabases,
    ShowNamespace,
    ShowPartitions,
    ShowProcedures,
    ShowProperties,
    ShowTables,
    ShowTags,
    UseDatabase,
)
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import (
    AddPartition,
    AlterColumns,
    Call,
    CallByTag,
    ColumnDefinition,
    CopyInto,
    CreateTable,
    DropPartition,
    DropTable,
    Explain,
    Insert,
    Refresh,
    RenameTable,
    SetProperties,
    Statement,
    TruncatePartitions,
    UnsetProperties,
    Untouched,
)
from paimon_spark.sql.text.cursor import PartitionValue
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.names import Names, TableName

NAMES = Names()
IN_SHOP = Names(database="shop")
T = TableName(("paimon", "a", "t"), "a", "t")
DAY = PartitionValue("dt", True, "2026-11-01")


def does(procedure: str, **named: Value) -> Call:
    """What a statement about the table T does that is no CALL."""
    return Call(procedure, (), named, T)


def tagged(procedure: str, tag: str, snapshot: int | None = None, kept: str | None = None) -> Call:
    return does(procedure, tag=tag, snapshot=snapshot, time_retained=kept)


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ("table => 'db.t', `where` => 'dt=''x'''", Call("p", (), {"table": "db.t", "where": "dt='x'"})),
        ("'db.t', 'v1', 3", Call("p", ("db.t", "v1", 3))),
        ("'db.t', snapshot => -1", Call("p", ("db.t",), {"snapshot": -1})),
        ("TABLE = 'db.t', DRY_RUN => true, n => null", Call("p", (), {"table": "db.t", "dry_run": True, "n": None})),
        ("a => TIMESTAMP '2024-01-01 00:00:00'", Call("p", (), {"a": "2024-01-01 00:00:00"})),
        ("a => array(1, -2), m => map('k', 'v')", Call("p", (), {"a": (1, -2), "m": {"k": "v"}})),
        ("1.5, 2e1, 3L, 'a' 'b', \"c\"", Call("p", (Decimal("1.5"), 20.0, 3, "ab", "c"))),
        ("", Call("p")),
    ],
)
def test_call(arguments: str, call: Call) -> None:
    for name in ("sys.p", "paimon.sys.P", "`sys`.`p`", "Paimon . SYS . p"):
        assert parse(f"CALL {name}({arguments});", NAMES) == call


def test_a_procedure_without_its_database_is_answered_where_ours_is_the_current_catalog() -> None:
    with pytest.raises(SqlError, match=r"expire_snapshots names no procedure .*: write sys\.expire_snapshots"):
        parse("CALL expire_snapshots('t')", IN_SHOP)
    assert parse("CALL expire_snapshots('t')", NAMES) == Untouched("CALL expire_snapshots('t')")


def test_procedures_may_be_called_like_functions() -> None:
    assert parse("CALL sys.replace('a')", NAMES) == Call("replace", ("a",))
    assert parse("CALL sys.repair()", NAMES) == Call("repair")


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("DROP TABLE IF EXISTS paimon.a.t PURGE", DropTable(T, True, True)),
        ("DROP TABLE paimon.a.t", DropTable(T)),
        ("ALTER TABLE paimon.a.t RENAME TO u", RenameTable(T, TableName(("u",), "a", "u"))),
        ("ALTER TABLE paimon.a.t RENAME TO b.u", RenameTable(T, TableName(("b", "u"), "b", "u"))),
        ("TRUNCATE TABLE paimon.a.t", Call("truncate", table=T)),
        ("TRUNCATE TABLE paimon.a.t PARTITION (dt = '2026-11-01')", TruncatePartitions(T, (DAY,))),
        ("ALTER TABLE paimon.a.t DROP IF EXISTS PARTITION (dt = '2026-11-01'), PARTITION (h = 3)",
         DropPartition(T, ((DAY,), (PartitionValue("h", True, 3),)), True)),
        ("ALTER TABLE paimon.a.t DROP PARTITION (dt = DATE '2026-11-01') PURGE",
         DropPartition(T, ((PartitionValue("dt", True, "2026-11-01", "DATE"),),), purge=True)),
        ("ALTER TABLE paimon.a.t ADD IF NOT EXISTS PARTITION (h = -1) PARTITION (h = NULL)",
         AddPartition(T, ((PartitionValue("h", True, -1),), (PartitionValue("h", True, None),)), True)),
        ("ALTER TABLE paimon.a.t SET TBLPROPERTIES ('a.b' = 'x', c.d 3, e = TRUE)",
         SetProperties(T, {"a.b": "x", "c.d": "3", "e": "true"})),
        ("ALTER TABLE paimon.a.t SET TBLPROPERTIES ('a' 'b', c 'd' 'e', 'f' == 1.50)",
         SetProperties(T, {"a": "b", "c": "de", "f": "1.50"})),
        ("ALTER TABLE paimon.a.t UNSET TBLPROPERTIES IF EXISTS ('a', b.c)", UnsetProperties(T, ("a", "b.c"), True)),
        ("COMMENT ON TABLE paimon.a.t IS 'it''s'", SetProperties(T, {"comment": "it's"})),
        ("COMMENT ON TABLE paimon.a.t IS NULL", UnsetProperties(T, ("comment",), True)),
        ("ALTER TABLE paimon.a.t ADD COLUMN x INT", AlterColumns(T, (s.AddColumn(("x",), "INT"),))),
        ("ALTER TABLE paimon.a.t ADD COLUMNS (a.`b c` DECIMAL(9) NOT NULL COMMENT 'c' FIRST, y MAP<INT, INT> AFTER x)",
         AlterColumns(T, (s.AddColumn(("a", "b c"), "DECIMAL(9)", False, "c", None, True),
                          s.AddColumn(("y",), "MAP<INT, INT>", after="x")))),
        ("ALTER TABLE paimon.a.t ADD COLUMN x INT DEFAULT 1 + 2 AFTER y, z INT",
         AlterColumns(T, (s.AddColumn(("x",), "INT", default="1 + 2", after="y"), s.AddColumn(("z",), "INT")))),
        ("ALTER TABLE paimon.a.t RENAME COLUMN x.a TO y", AlterColumns(T, (s.RenameColumn(("x", "a"), "y"),))),
        ("ALTER TABLE paimon.a.t DROP COLUMNS IF EXISTS (x, y.z)",
         AlterColumns(T, (s.DropColumn(("x",), True), s.DropColumn(("y", "z"), True)))),
        ("ALTER TABLE paimon.a.t DROP COLUMN x, y", AlterColumns(T, (s.DropColumn(("x",)), s.DropColumn(("y",))))),
        ("ALTER TABLE paimon.a.t ALTER COLUMN x TYPE ARRAY<INT>",
         AlterColumns(T, (s.ChangeColumn(("x",), type="ARRAY<INT>"),))),
        ("ALTER TABLE paimon.a.t ALTER COLUMN x COMMENT 'c', y.element FIRST, z AFTER y",
         AlterColumns(T, (s.ChangeColumn(("x",), comment="c"), s.ChangeColumn(("y", "element"), first=True),
                          s.ChangeColumn(("z",), after="y")))),
        ("ALTER TABLE paimon.a.t ALTER x SET DEFAULT 'a, b'",
         AlterColumns(T, (s.ChangeColumn(("x",), default="'a, b'"),))),
        ("ALTER TABLE paimon.a.t ALTER COLUMN x DROP DEFAULT", AlterColumns(T, (s.ChangeColumn(("x",), default=""),))),
        ("ALTER TABLE paimon.a.t CHANGE COLUMN x SET NOT NULL",
         AlterColumns(T, (s.ChangeColumn(("x",), nullable=False),))),
        ("ALTER TABLE paimon.a.t ALTER COLUMN x DROP NOT NULL",
         AlterColumns(T, (s.ChangeColumn(("x",), nullable=True),))),
        ("ALTER TABLE paimon.a.t CHANGE x X BIGINT COMMENT 'c' AFTER y",
         AlterColumns(T, (s.ChangeColumn(("x",), "BIGINT", comment="c", after="y"),))),
        ("ALTER TABLE paimon.a.t REPLACE COLUMNS (x INT, y STRING)", AlterColumns(T, (s.ReplaceColumns(),))),
        ("ANALYZE TABLE paimon.a.t COMPUTE STATISTICS", does("analyze", columns=None)),
        ("ANALYZE TABLE paimon.a.t COMPUTE STATISTICS FOR COLUMNS x, `y z`", does("analyze", columns=("x", "y z"))),
        ("ANALYZE TABLE paimon.a.t COMPUTE STATISTICS FOR ALL COLUMNS", does("analyze", columns="all")),
        ("REFRESH TABLE paimon.a.t", Refresh(T)),
        ("UNCACHE TABLE paimon.a.t", Refresh(T)),
        ("ALTER TABLE paimon.a.t CREATE TAG v1", tagged("create_tag", "v1")),
        ("ALTER TABLE paimon.a.t CREATE TAG IF NOT EXISTS `v-1` AS OF VERSION 3 RETAIN 2 DAYS",
         CallByTag(T, "v-1", None, tagged("create_tag", "v-1", 3, "2 d"))),
        ("ALTER TABLE paimon.a.t CREATE OR REPLACE TAG v1 RETAIN 24 hours",
         CallByTag(T, "v1", tagged("replace_tag", "v1", kept="24 h"), tagged("create_tag", "v1", kept="24 h"))),
        ("ALTER TABLE paimon.a.t REPLACE TAG 'v1' AS OF VERSION 2", tagged("replace_tag", "v1", 2)),
        ("ALTER TABLE paimon.a.t DELETE TAG IF EXISTS v1", does("delete_tag", tag="v1")),
        ("ALTER TABLE paimon.a.t RENAME TAG v1 TO v2", does("rename_tag", tag="v1", target_tag="v2")),
        ("SHOW TAGS paimon.a.t", ShowTags(T)),
        ("SHOW TABLES IN paimon.a LIKE 'x*'", ShowTables("a", pattern="x*")),
        ("SHOW TABLES FROM paimon.a 'x*|y'", ShowTables("a", pattern="x*|y")),
        ("SHOW TABLE EXTENDED IN paimon.a LIKE 't' PARTITION (h = 1)",
         ShowTables("a", "TABLE EXTENDED", "t", (PartitionValue("h", True, 1),))),
        ("SHOW VIEWS IN paimon.a", ShowTables("a", "VIEWS")),
        ("SHOW DATABASES IN paimon LIKE 's*'", ShowDatabases("s*")),
        ("SHOW NAMESPACES FROM PAIMON", ShowDatabases()),
        ("SHOW PROCEDURES IN paimon", ShowProcedures()),
        ("SHOW PARTITIONS paimon.a.t PARTITION (dt = '2026-11-01')", ShowPartitions(T, (DAY,))),
        ("SHOW COLUMNS IN paimon.a.t", ShowColumns(T)),
        ("SHOW CREATE TABLE paimon.a.t", ShowCreateTable(T)),
        ("SHOW TBLPROPERTIES paimon.a.t", ShowProperties(T)),
        ("SHOW TBLPROPERTIES paimon.a.t (a.b)", ShowProperties(T, "a.b")),
        ("DESC paimon.a.t", DescribeTable(T)),
        ("DESCRIBE TABLE EXTENDED paimon.a.t AS JSON", DescribeTable(T, True, as_json=True)),
        ("DESCRIBE FORMATTED paimon.a.t PARTITION (dt = '2026-11-01')", DescribeTable(T, True, (DAY,))),
        ("DESCRIBE paimon.a.t x.y", DescribeTable(T, column=("x", "y"))),
        ("DESCRIBE DATABASE EXTENDED paimon.a", DescribeDatabase("a", True)),
        ("DESCRIBE PROCEDURE paimon.sys.compact", DescribeProcedure("compact")),
        ("CREATE DATABASE IF NOT EXISTS paimon.a COMMENT 'c' LOCATION '/l' WITH DBPROPERTIES ('k' = 'v')",
         CreateDatabase("a", True, "c", "/l", {"k": "v"})),
        ("CREATE SCHEMA paimon.a", CreateDatabase("a")),
        ("DROP DATABASE IF EXISTS paimon.a CASCADE", DropDatabase("a", True, True)),
        ("DROP NAMESPACE paimon.a RESTRICT", DropDatabase("a")),
        ("ALTER DATABASE paimon.a SET DBPROPERTIES ('k' = 'v')", AlterDatabase("a", {"k": "v"})),
        ("ALTER DATABASE paimon.a UNSET DBPROPERTIES ('k')", AlterDatabase("a", unset=("k",))),
        ("ALTER DATABASE paimon.a SET LOCATION '/l'", AlterDatabase("a", location="/l")),
        ("COMMENT ON DATABASE paimon.a IS 'c'", AlterDatabase("a", {"comment": "c"})),
        ("USE paimon.a", UseDatabase("a", "USE paimon.a")),
        ("USE paimon", UseDatabase("default", "USE paimon")),
        ("SET CATALOG paimon", UseDatabase("default", "SET CATALOG paimon")),
        ("SET CATALOG 'PAIMON'", UseDatabase("default", "SET CATALOG 'PAIMON'")),
        ("SHOW CATALOGS LIKE 'p*'", ShowCatalogs("p*")),
        ("EXPLAIN COST DROP TABLE paimon.a.t", Explain("COST", DropTable(T))),
        ("COPY INTO paimon.a.t (x, y) FROM '/in' FILE_FORMAT = (TYPE = csv, NULL_IF = ('', 'N'), SKIP_HEADER = 1) "
         "PATTERN = '.*' FORCE = TRUE ON_ERROR = CONTINUE",
         CopyInto(T, "/in", False, "CSV", ("x", "y"), {"NULL_IF": ("", "N"), "SKIP_HEADER": 1},
                  {"PATTERN": ".*", "FORCE": True, "ON_ERROR": "CONTINUE"})),
        ("COPY INTO '/out' FROM paimon.a.t FILE_FORMAT = (TYPE = PARQUET) OVERWRITE = FALSE",
         CopyInto(T, "/out", True, "PARQUET", options={"OVERWRITE": False})),
    ],
)  # fmt: skip
def test_statements(text: str, statement: Statement) -> None:
    assert parse(text, NAMES) == statement
    assert parse(f"/* a */ {text} -- b\n;", NAMES) == statement or "text" in type(statement).__dataclass_fields__


def test_short_names_in_the_current_database() -> None:
    bare = TableName(("t",), "shop", "t", is_bare=True)
    assert parse("DROP TABLE t", IN_SHOP) == DropTable(bare)
    assert parse("DROP TABLE b.t", IN_SHOP) == DropTable(TableName(("b", "t"), "b", "t"))
    assert parse("SHOW TABLES", IN_SHOP) == ShowTables("shop")
    assert parse("SHOW COLUMNS FROM t IN b", IN_SHOP) == ShowColumns(TableName(("b", "t"), "b", "t"))
    assert parse("SHOW CURRENT NAMESPACE", IN_SHOP) == ShowNamespace("shop")
    assert parse("CREATE DATABASE b", IN_SHOP) == CreateDatabase("b")
    assert parse("USE b", IN_SHOP) == UseDatabase("b", "USE b")
    assert parse("USE spark_catalog", IN_SHOP) == UseDatabase(None, "USE spark_catalog")
    assert parse("SET CATALOG spark_catalog", IN_SHOP) == UseDatabase(None, "SET CATALOG spark_catalog")
    assert parse("USE paimon", replace(IN_SHOP, first_database="d")) == UseDatabase("d", "USE paimon")
    assert parse("ALTER TABLE t RENAME TO u", IN_SHOP) == RenameTable(bare, TableName(("u",), "shop", "u"))


@pytest.mark.parametrize(
    "text",
    [
        "CALL other.sys.compact('t')", "CALL compact('t')", "DROP TABLE a.t", "ALTER TABLE a.t ADD COLUMN x INT",
        "CREATE TABLE t (x INT) USING parquet", "CREATE TEMPORARY VIEW v AS SELECT 1", "INSERT INTO a.t VALUES (1)",
        "INSERT OVERWRITE DIRECTORY '/x' USING parquet SELECT 1", "SHOW TABLES", "SHOW TABLES IN a", "DESC a.t",
        "DESC FUNCTION abs", "USE a", "CREATE DATABASE a", "DROP DATABASE a", "REFRESH FUNCTION f", "REFRESH '/path'",
        "TRUNCATE TABLE a.t", "COPY INTO a.t FROM '/x'", "MERGE INTO a.t USING b ON 1=1 WHEN MATCHED THEN DELETE",
        "WITH q AS (SELECT 1) INSERT INTO a.t SELECT * FROM q", "FROM s INSERT INTO a SELECT x INSERT INTO b SELECT y",
        "SHOW CURRENT NAMESPACE", "CACHE TABLE t", "ANALYZE TABLES COMPUTE STATISTICS", "ALTER", "DROP", "USE", "COPY",
        "SET CATALOG spark_catalog", "SET CATALOG",
    ],
)  # fmt: skip
def test_statements_of_spark_are_untouched(text: str) -> None:
    assert parse(text, NAMES) == Untouched(text)


# --------------------------------------------------------------------------------------------------------------- INSERT


def insert(text: str) -> Insert:
    found = parse(text, NAMES)
    assert isinstance(found, Insert)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO paimon.a.t SELECT * FROM s", {}),
        ("INSERT INTO TABLE paimon.a.t VALUES (1, 2)", {}),
        ("INSERT INTO paimon.a.t TABLE s", {}),
        ("INSERT INTO paimon.a.t FROM s SELECT a", {}),
        ("INSERT INTO paimon.a.t (SELECT 1)", {}),
        ("INSERT INTO paimon.a.t (x, `y`) SELECT 1, 2", {"columns": ("x", "y")}),
        ("INSERT INTO paimon.a.t BY NAME SELECT 1 x", {"by_name": True}),
        (
            "INSERT WITH SCHEMA EVOLUTION INTO paimon.a.t BY NAME SELECT 1 x",
            {"by_name": True, "options": {"write.merge-schema": "true"}},
        ),
        ("INSERT OVERWRITE paimon.a.t SELECT 1", {"overwrite": True}),
        ("INSERT OVERWRITE TABLE paimon.a.t PARTITION (dt = '2026-11-01', h) IF NOT EXISTS SELECT 1",
         {"overwrite": True, "partition": (DAY, PartitionValue("h")), "if_not_exists": True}),
        ("INSERT INTO paimon.a.t PARTITION (dt = '2026-11-01') (x) SELECT 1", {"partition": (DAY,), "columns": ("x",)}),
        ("INSERT INTO paimon.a.t REPLACE WHERE x < 3 AND y IN (1, 2) SELECT 1",
         {"replace_where": "x < 3 AND y IN (1, 2)"}),
        ("INSERT INTO paimon.a.t WITH ('k' = 'v') SELECT 1", {"options": {"k": "v"}}),
        ("INSERT INTO paimon.a.t WITH q AS (SELECT 1) SELECT * FROM q", {}),
    ],
)  # fmt: skip
def test_insert(text: str, expected: dict[str, object]) -> None:
    found = insert(text)
    assert found == Insert(T, found.query, **expected)  # type: ignore[arg-type]  # fields by name
    assert text.endswith(found.query.text.strip())
    assert len(found.query.text) == len(text)


def test_the_query_of_an_insert_has_tables_of_ours() -> None:
    found = insert("INSERT INTO paimon.a.t SELECT '{' FROM paimon.b.s WHERE x = 1")
    assert found.query.render(["f"]).strip() == "SELECT '{{' FROM {f} AS `s` WHERE x = 1"
    assert found.query.uses[0].conjuncts[0].text == "x = 1"


def test_insert_behind_with() -> None:
    text = "WITH q AS (SELECT x FROM paimon.b.s) INSERT INTO paimon.a.t SELECT x FROM q"
    found = insert(text)
    assert " ".join(found.query.render(["f"]).split()) == "WITH q AS (SELECT x FROM {f} AS `s`) SELECT x FROM q"


# --------------------------------------------------------------------------------------------------------------- CREATE


def test_create_table_with_all_clauses() -> None:
    text = """CREATE TABLE IF NOT EXISTS paimon.a.t (
        id BIGINT NOT NULL COMMENT 'it''s the id',
        `order day` DECIMAL(10, 2) DEFAULT 1 + (2) COMMENT 'c',
        s STRUCT<a: INT NOT NULL COMMENT 'x', b: ARRAY<MAP<STRING, INT>>> NOT NULL,
        v VARCHAR(3) DEFAULT 'x, y' NOT NULL, comment STRING
    ) USING Paimon
    PARTITIONED BY (v, `order day`)
    COMMENT 'the table' LOCATION '/l'
    TBLPROPERTIES ('primary-key' = 'id,v', bucket = 4, 'x' = true) OPTIONS (k 'v')"""
    assert parse(text, NAMES) == CreateTable(
        T,
        columns=(
            ColumnDefinition("id", "BIGINT", False, "it's the id"),
            ColumnDefinition("order day", "DECIMAL(10, 2)", comment="c", default="1 + (2)"),
            ColumnDefinition("s", "STRUCT<a: INT NOT NULL COMMENT 'x', b: ARRAY<MAP<STRING, INT>>>", False),
            ColumnDefinition("v", "VARCHAR(3)", False, default="'x, y'"),
            ColumnDefinition("comment", "STRING"),
        ),
        partitioned_by=("v", "order day"),
        properties={"primary-key": "id,v", "bucket": "4", "x": "true"},
        options={"k": "v"},
        provider="paimon",
        location="/l",
        comment="the table",
        if_not_exists=True,
    )


@pytest.mark.parametrize(
    ("text", "expected", "query"),
    [
        ("CREATE TABLE paimon.a.t", CreateTable(T), None),
        ("CREATE TABLE paimon.a.t AS SELECT * FROM s", CreateTable(T), "SELECT * FROM s"),
        ("CREATE TABLE paimon.a.t SELECT 1", CreateTable(T), "SELECT 1"),
        ("CREATE OR REPLACE TABLE paimon.a.t USING paimon AS (SELECT 1)",
         CreateTable(T, provider="paimon", replace=True), "(SELECT 1)"),
        ("REPLACE TABLE paimon.a.t AS SELECT 1", CreateTable(T, replace=True, create=False), "SELECT 1"),
        ("CREATE TABLE paimon.a.t PARTITIONED BY (dt) TBLPROPERTIES (k = 'v') AS WITH q AS (SELECT 1) SELECT * FROM q",
         CreateTable(T, partitioned_by=("dt",), properties={"k": "v"}), "WITH q AS (SELECT 1) SELECT * FROM q"),
        ("CREATE TABLE paimon.a.t (x INT) PARTITIONED BY (dt DATE COMMENT 'd', h INT)",
         CreateTable(T, (ColumnDefinition("x", "INT"), ColumnDefinition("dt", "DATE", comment="d"),
                         ColumnDefinition("h", "INT")), ("dt", "h")), None),
        ("CREATE TABLE IF NOT EXISTS paimon.a.t LIKE b.s TBLPROPERTIES (k = 'v')",
         CreateTable(T, properties={"k": "v"}, if_not_exists=True, like=("b", "s")), None),
        ("CREATE EXTERNAL TABLE paimon.a.t LOCATION '/l'", CreateTable(T, location="/l"), None),
    ],
)  # fmt: skip
def test_create_table(text: str, expected: CreateTable, query: str | None) -> None:
    found = parse(text, NAMES)
    assert isinstance(found, CreateTable)
    assert (found.query.text.strip() if found.query else None) == query
    assert found == CreateTable(**{**expected.__dict__, "query": found.query})


def test_create_table_as_a_query_of_ours() -> None:
    found = parse("CREATE TABLE paimon.a.t AS SELECT x FROM paimon.b.s", NAMES)
    assert isinstance(found, CreateTable)
    assert isinstance(found.query, Query)
    assert found.query.render(["f"]).strip() == "SELECT x FROM {f} AS `s`"


def test_copy_into_from_a_query() -> None:
    found = parse("COPY INTO '/out' FROM (SELECT x FROM paimon.b.s) FILE_FORMAT = (TYPE = JSON)", NAMES)
    assert isinstance(found, CopyInto)
    assert found.query is not None
    assert found.query.render(["f"]).strip() == "SELECT x FROM {f} AS `s`"


# --------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CALL sys.compact(table => concat('a', 'b'))",
         "column 27: the argument table must be a literal: an expression is not possible here; found concat"),
        ("CALL sys.compact('a' || 'b')",
         "column 22: the argument number 1 must be a literal: an expression is not possible here; found ||"),
        ("CALL sys.compact(table => 'a', 'b')",
         "column 32: an argument without a name cannot stand behind one with a name"),
        ("CALL sys.compact(table => 'a', TABLE => 'b')", "column 32: the argument table is given twice"),
        ("CALL sys.compact",
         "column 17: the arguments of compact are needed here in parentheses, such as (table => 'db.t');"
         " the text ends"),
        ("CALL sys.compact('a'", "column 21: ) is needed here; the text ends"),
        ("CALL sys.compact('a') x", "column 23: the statement should end here; found x"),
        ("CALL paimon.compact('a')", "column 6: paimon.compact names no procedure: write paimon.sys.<procedure>"),
        ("CALL sys.x(map('a'))", "column 12: MAP(...) needs a value for each key"),
        ("INSERT INTO paimon.a.t", "column 23: a query is needed here, such as SELECT or VALUES; the text ends"),
        ("INSERT INTO paimon.a.t PARTITION (dt = now()) SELECT 1",
         "the value of the partition column dt must be a literal"),
        ("INSERT INTO paimon.a.t PARTITION (dt, DT) SELECT 1", "column 39: the partition column DT is named twice"),
        ("INSERT INTO paimon.t SELECT 1", "column 13: paimon.t names no table: write paimon.<database>.<table>"),
        ("CREATE TABLE paimon.a.t (x INT NOT NULL NULL)", "the column x is NOT NULL and NULL: leave one of them out"),
        ("CREATE TABLE paimon.a.t (x INT NULL NOT NULL)", "the column x is NOT NULL and NULL: leave one of them out"),
        ("CREATE TABLE paimon.a.t (x)", "column 27: the type of the column is needed here; found )"),
        ("CREATE TABLE paimon.a.t (x INT,)", "column 32: the name of a column is needed here; found )"),
        ("CREATE TABLE paimon.a.t (x INT", "column 31: ) is needed here; the text ends"),
        ("CREATE TABLE paimon.a.t (x INT) TBLPROPERTIES ('a' = 'b', 'a' = 'c')",
         "column 59: the property 'a' is given twice"),
        ("CREATE TABLE paimon.a.t (x INT) COMMENT 'a' COMMENT 'b'", "column 45: COMMENT stands here a second time"),
        ("CREATE TABLE paimon.a.t (x INT) PARTITIONED (x)", "column 45: BY is needed here; found ("),
        ("CREATE TABLE paimon.a.t (x INT) WHATEVER", "a clause of CREATE TABLE is needed here"),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS paimon.a.t (x INT)", "OR REPLACE and IF NOT EXISTS exclude each other"),
        ("ALTER TABLE paimon.a.t", "column 23: what to alter is needed here, such as SET TBLPROPERTIES or CREATE TAG"),
        ("ALTER TABLE paimon.a.t CREATE TAG v RETAIN 3 WEEKS",
         "column 46: DAYS, HOURS or MINUTES is needed here; found WEEKS"),
        ("ALTER TABLE paimon.a.t CREATE TAG v AS OF VERSION 'x'", "column 51: the id of a snapshot is an integer"),
        ("ALTER TABLE paimon.a.t SET TBLPROPERTIES ('a' = 1 + 1)", "the value of 'a' must be a literal; found +"),
        ("ALTER TABLE paimon.a.t SET TBLPROPERTIES ('a' = NULL)", "the value of 'a' is a text, a number,"),
        ("ALTER TABLE paimon.a.t SET TBLPROPERTIES ('a')", "the value of 'a' must be a literal"),
        ("ALTER TABLE paimon.a.t ADD COLUMN x", "column 36: the type of the column is needed here; the text ends"),
        ("ALTER TABLE paimon.a.t RENAME COLUMN x", "column 39: TO is needed here; the text ends"),
        ("ALTER TABLE paimon.a.t ALTER COLUMN x", "TYPE, COMMENT, FIRST, AFTER, SET or DROP is needed here"),
        ("ALTER TABLE paimon.a.t CHANGE x y INT", "CHANGE COLUMN gives no other name; write RENAME COLUMN x TO y"),
        ("DROP TABLE paimon.a.t NOW", "column 23: the statement should end here; found NOW"),
        ("DROP TABLE paimon.a",
         "column 12: paimon.a names no table: write paimon.<database>.<table> or paimon.`<path>`"),
        ("DROP DATABASE paimon.a.b", "column 15: paimon.a.b names no database: write paimon.<database>"),
        ("SHOW TABLE EXTENDED IN paimon.a", "LIKE with a pattern is needed here; the text ends"),
        ("COPY INTO paimon.a.t FROM '/x' FILE_FORMAT = (SKIP_HEADER = 1)",
         "column 46: FILE_FORMAT needs TYPE = CSV, JSON or PARQUET"),
        ("COPY INTO paimon.a.t FROM '/x' FILE_FORMAT = (TYPE = CSV) ON_ERROR = IGNORE",
         "column 59: ON_ERROR is one of"),
        ("DROP TABLE paimon.a.t; DROP TABLE paimon.a.u",
         "column 24: one statement at a time: a second one begins here"),
    ],
)  # fmt: skip
def test_wrong_statements_are_refused_with_their_place(text: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        parse(text, NAMES)
    assert str(raised.value).startswith("SQL, line 1, column ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE TABLE paimon.a.t (x INT, PRIMARY KEY (x))",
         "column 33: constraints of a table are not supported: set the"
         " table property 'primary-key' instead"),
        ("CREATE TABLE paimon.a.t (x INT PRIMARY KEY)", "this is not supported for the column x"),
        ("CREATE TABLE paimon.a.t (x BIGINT GENERATED ALWAYS AS IDENTITY)",
         "columns whose values are generated are not supported, as x"),
        ("CREATE TABLE paimon.a.t (x INT CHECK (x > 0))", "the column x: Paimon checks no conditions on rows"),
        ("CREATE TABLE paimon.a.t (x INT, CONSTRAINT c CHECK (x > 0))", "Paimon checks no conditions on rows"),
        ("CREATE TABLE paimon.a.t (x INT, CONSTRAINT", "constraints of a table are not supported"),
        ("CREATE TABLE paimon.a.t (x INT) PARTITIONED BY (days(x))",
         "PARTITIONED BY takes columns alone, not days(...)"),
        ("CREATE TABLE paimon.a.t (x INT) CLUSTERED BY (x) INTO 4 BUCKETS", "set the table properties 'bucket'"),
        ("CREATE TABLE s LIKE paimon.a.t", "a table of Spark cannot be created LIKE one of Paimon"),
        ("ALTER TABLE paimon.a.t SET SERDE 'x'", "ALTER TABLE ... SET SERDE is not supported for a table of Paimon"),
        ("ALTER TABLE paimon.a.t ADD PARTITION (x = 1) LOCATION '/x'", "has no location of its own"),
        ("ALTER TABLE paimon.a.t RECOVER PARTITIONS", "REPAIR TABLE paimon.a.t: a table of the catalog paimon has no"),
        ("ANALYZE TABLE paimon.a.t COMPUTE STATISTICS NOSCAN", "leave NOSCAN out to count rows"),
        ("ANALYZE TABLE paimon.a.t PARTITION (h) COMPUTE STATISTICS FOR ALL COLUMNS", "leave PARTITION out"),
        ("FROM s INSERT INTO paimon.a.t SELECT x INSERT INTO b SELECT y", "this table is Spark's, and another INSERT"),
        ("LOAD DATA INPATH '/x' INTO TABLE paimon.a.t", "paimon.a.t stands in a statement that begins with LOAD DATA"),
    ],
)  # fmt: skip
def test_what_paimon_tables_do_not_have_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(UnsupportedFeature) as raised:
        parse(text, NAMES)
    assert message in str(raised.value)
