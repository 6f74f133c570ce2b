"""Functions that a REST server keeps are made by CREATE FUNCTION and called by queries.

The answers are those that the official connector (2.0.0, Spark 4.1) gave for the same statements, where it runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql import DataFrame, SparkSession
from support.registered_catalogs import forget_catalogs
from support.rest_server import RestServer, rest_server

import paimon_spark
from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import FunctionAlreadyExists, FunctionNotFound, SqlError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
Run = Callable[[str], DataFrame]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestServer]:
    with rest_server(tmp_path_factory.mktemp("lake")) as server:
        yield server


@pytest.fixture(scope="module")
def catalog(spark: SparkSession, server: RestServer) -> SessionCatalog:
    made = paimon_spark.catalog(spark, server.options)
    for text in (
        "CREATE DATABASE c",
        "USE paimon.c",
        "CREATE TABLE emp (id INT, dept_id INT, salary INT)",
        "INSERT INTO emp VALUES (1, 10, 100), (2, 10, 200), (3, 20, 300)",
        "CREATE FUNCTION area(width DOUBLE, height DOUBLE) RETURNS DOUBLE RETURN width * height",
        "CREATE FUNCTION paimon.c.addd(x INT COMMENT 'first', y INT DEFAULT 10) RETURNS INT COMMENT 'adds' "
        "RETURN x + y",
        "CREATE FUNCTION dept_total(d INT) RETURNS BIGINT RETURN SELECT SUM(salary) FROM emp WHERE dept_id = d",
        "CREATE FUNCTION above(d INT) RETURNS BIGINT RETURN (SELECT count(*) FROM c.emp WHERE salary > d) + 1",
        "CREATE FUNCTION c.inferred(x INT) RETURN x + 1L",
        "CREATE FUNCTION rnd() RETURNS DOUBLE NOT DETERMINISTIC LANGUAGE SQL RETURN rand()",
    ):
        made.sql(text)
    return made


@pytest.fixture(params=["cat.sql", "spark.sql"])
def run(
    request: pytest.FixtureRequest, spark: SparkSession, catalog: SessionCatalog, server: RestServer
) -> Iterator[Run]:
    if request.param == "cat.sql":
        yield catalog.sql
        return
    try:
        paimon_spark.register_catalog(spark, "paimon", server.options)
        spark.sql("USE paimon.c")
        yield spark.sql
    finally:
        spark.sql("USE spark_catalog.default")
        forget_catalogs(spark)


def rows(found: DataFrame) -> list[tuple[object, ...]]:
    return [tuple(row) for row in found.collect()]


def test_calls(run: Run) -> None:
    found = run("SELECT area(2, 3), c.area(2, 4) + 1, paimon.c.area(1,1), addd(5), addd(5, 1), inferred(1), rnd() < 1")
    assert rows(found) == [(6.0, 9.0, 1.0, 15, 6, 2, True)]
    assert found.columns[0] == "paimon.c.area(2, 3)"
    assert rows(run("SELECT addd(y => 1, x => 2), addd(addd(1), addd(2, 3))")) == [(3, 16)]
    found = run("SELECT id, dept_total(dept_id), above(salary) FROM emp ORDER BY id")
    assert rows(found) == [(1, 300, 3), (2, 300, 2), (3, 300, 1)]
    assert found.columns[1] == "paimon.c.dept_total(dept_id)"
    text = "SELECT area(id, 2) x, count(*) FROM emp WHERE area(id, 1) > 1 GROUP BY area(id, 2) ORDER BY 1"
    assert rows(run(text)) == [(4.0, 1), (6.0, 1)]
    assert rows(run("WITH inferred(a) AS (SELECT addd(1)) SELECT a, inferred(2) FROM inferred")) == [(11, 3)]


def test_a_body_sees_the_rows_of_now(run: Run) -> None:
    run("CREATE TABLE paimon.c.now (v INT)")
    run("CREATE FUNCTION total() RETURNS BIGINT RETURN SELECT sum(v) FROM now")
    try:
        for value, total in ((1, 1), (10, 11)):
            run(f"INSERT INTO paimon.c.now VALUES ({value})")
            assert rows(run("SELECT total()")) == [(total,)]
    finally:
        run("DROP FUNCTION total")
        run("DROP TABLE paimon.c.now")


def test_rows_change_by_functions(run: Run) -> None:
    """The official connector refuses these two statements."""
    run("CREATE TABLE paimon.c.changed (id INT, v INT)")
    try:
        run("INSERT INTO paimon.c.changed SELECT addd(id), salary FROM emp")
        run("UPDATE paimon.c.changed SET v = addd(v) WHERE addd(id) = 21")
        run("DELETE FROM paimon.c.changed WHERE area(id, 1) = 12")
        assert sorted(rows(run("SELECT * FROM paimon.c.changed"))) == [(11, 110), (13, 300)]
        run("CREATE TABLE paimon.c.made AS SELECT addd(id) a FROM paimon.c.changed")
        assert sorted(rows(run("SELECT * FROM paimon.c.made"))) == [(21,), (23,)]
    finally:
        run("DROP TABLE IF EXISTS paimon.c.changed")
        run("DROP TABLE IF EXISTS paimon.c.made")


def test_views_keep_the_name_of_a_function(run: Run) -> None:
    run("CREATE FUNCTION step(x INT) RETURNS INT RETURN x + 1")
    run("CREATE VIEW steps AS SELECT step(id) s FROM emp")
    try:
        assert sorted(rows(run("SELECT * FROM steps"))) == [(2,), (3,), (4,)]
        run("CREATE OR REPLACE FUNCTION step(x INT) RETURNS INT RETURN x + 100")
        assert sorted(rows(run("SELECT * FROM steps"))) == [(101,), (102,), (103,)]
    finally:
        run("DROP VIEW steps")
        run("DROP FUNCTION step")


def test_a_view_calls_functions_of_its_own_database(run: Run) -> None:
    run("CREATE DATABASE other")
    try:
        run("CREATE FUNCTION step(x INT) RETURNS INT RETURN x + 1")
        run("CREATE FUNCTION other.step(x INT) RETURNS INT RETURN x + 1000")
        run("CREATE VIEW steps AS SELECT step(id) s FROM emp")
        run("USE paimon.other")
        assert sorted(rows(run("SELECT * FROM paimon.c.steps"))) == [(2,), (3,), (4,)]
    finally:
        run("USE paimon.c")
        run("DROP VIEW IF EXISTS steps")
        run("DROP FUNCTION IF EXISTS step")
        run("DROP FUNCTION IF EXISTS other.step")
        run("DROP DATABASE other")


def test_names_that_differ_in_the_case_of_letters(run: Run) -> None:
    """They are two functions of the catalog, and one name for Spark."""
    run("CREATE FUNCTION cased(x INT) RETURNS INT RETURN x + 1")
    run("CREATE FUNCTION CASED(x INT) RETURNS INT RETURN x + 7")
    try:
        found = run("SELECT cased(1), CASED(1), cased(2)")
        assert rows(found) == [(2, 8, 3)]
        assert found.columns[0] == "paimon.c.cased(1)"
    finally:
        run("DROP FUNCTION cased")
        run("DROP FUNCTION CASED")


def test_calls_behind_words(run: Run) -> None:
    text = "SELECT 11 DIV addd(1), '11' LIKE addd(1), 11 IS DISTINCT FROM addd(1), SUBSTRING('abc' FROM addd(1, 1))"
    assert rows(run(text)) == [(1, True, False, "bc")]
    assert rows(run("SELECT ALL addd(1)")) == [(11,)]


def test_words_and_tables_that_are_no_calls(run: Run, server: RestServer) -> None:
    """A function may have the name of a common table expression; for words of SQL the server is not asked."""
    found = run("WITH first AS (SELECT 1 a), inferred(y) AS (SELECT 5) SELECT y, inferred(a) FROM first, inferred")
    assert rows(found) == [(5, 2)]
    before = len(server.requests)
    run("WITH a AS (SELECT 1), b(y) AS (SELECT 2) SELECT * EXCEPT (dept_id) FROM b, emp").collect()
    run("SELECT id, count(*) FROM emp GROUP BY ROLLUP (id)").collect()
    assert [path for _, path, _ in server.requests[before:] if "/functions/" in path] == []


def test_making_a_function_leaves_no_view(spark: SparkSession, run: Run) -> None:
    run("CREATE FUNCTION looks() RETURNS BIGINT RETURN SELECT max(id) FROM emp")
    try:
        views = spark.sql("SHOW VIEWS IN spark_catalog.default").collect()
        assert [view.viewName for view in views if "looks" in view.viewName] == []
    finally:
        run("DROP FUNCTION looks")


def test_functions_of_spark_come_first(spark: SparkSession, run: Run) -> None:
    spark.sql("CREATE TEMPORARY FUNCTION area(x INT) RETURNS INT RETURN -1")
    try:
        found = run("SELECT area(1), c.area(1, 2)")
        assert (rows(found), found.columns) == ([(-1, 2.0)], ["area(1)", "paimon.c.area(1, 2)"])
        with pytest.raises((UnsupportedFeature, UnsupportedOperationException), match="this Spark session"):
            run("CREATE FUNCTION c.twice(x INT) RETURN area(x)")
    finally:
        spark.sql("DROP TEMPORARY FUNCTION area")


def test_what_is_stored(catalog: SessionCatalog) -> None:
    options = {
        "catalogAndNamespace.numParts": "2",
        "catalogAndNamespace.part.0": "paimon",
        "catalogAndNamespace.part.1": "c",
        "spark.sql-function.is-query": "false",
        "spark.sql-function.deterministic": "true",
        "spark.sql-function.contains-sql": "true",
        "sqlConfig.spark.sql.ansi.enabled": "true",
    }
    found = catalog.catalog.load_function(Identifier("c", "addd"))
    assert found.input_params == (
        DataField(0, "x", parse_type("INT"), "first"),
        DataField(1, "y", parse_type("INT"), None, "10"),
    )
    assert found.return_params == (DataField(0, "addd", parse_type("INT")),)
    assert (found.comment, found.deterministic) == ("adds", True)
    assert found.definitions == {"spark": {"type": "sql", "definition": "x + y"}}
    assert options.items() <= found.options.items()
    query = catalog.catalog.load_function(Identifier("c", "dept_total")).options
    assert (query["spark.sql-function.is-query"], query["spark.sql-function.contains-sql"]) == ("true", "false")
    assert not catalog.catalog.load_function(Identifier("c", "rnd")).deterministic
    assert catalog.catalog.load_function(Identifier("c", "inferred")).return_params == (
        DataField(0, "inferred", parse_type("BIGINT")),
    )
    assert [row[0] for row in catalog.sql("DESCRIBE FUNCTION EXTENDED addd").collect()][:7] == [
        "Function:      c.addd",
        "Type:          SCALAR",
        "Input:         x INT 'first'",
        "               y INT DEFAULT 10",
        "Returns:       INT",
        "Comment:       adds",
        "Deterministic: true",
    ]
    assert "Function: abs" in [row[0] for row in catalog.sql("DESCRIBE FUNCTION abs").collect()]


def test_settings_of_when_it_was_made(spark: SparkSession, run: Run) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        run("CREATE FUNCTION paimon.c.tolerant(x INT) RETURNS DOUBLE RETURN 1 / x")
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        assert rows(run("SELECT tolerant(0)")) == [(None,)]
        assert spark.conf.get("spark.sql.ansi.enabled") == "true"
    finally:
        run("DROP FUNCTION tolerant")


def test_a_class_in_a_file(catalog: SessionCatalog, run: Run) -> None:
    """A class of the engine stands for the user's: Spark looks it up where it finds those of the JAR."""
    run("CREATE FUNCTION of_class AS 'org.apache.hadoop.hive.ql.udf.UDFLog2'")
    try:
        definition = catalog.catalog.load_function(Identifier("c", "of_class")).definitions["spark"]
        assert (definition["type"], definition["functionName"]) == ("file", "of_class")
        with pytest.raises(Exception, match=r"UDFLog2|CANNOT_LOAD_FUNCTION_CLASS"):
            run("SELECT of_class(8.0)").collect()
    finally:
        run("DROP FUNCTION of_class")


@pytest.mark.parametrize(
    ("text", "error", "why"),
    [
        ("CREATE FUNCTION area(x INT) RETURNS INT RETURN x", FunctionAlreadyExists, r"c\.area already"),
        ("CREATE FUNCTION abs(x INT) RETURNS INT RETURN x", SqlError, "abs is the name of a function of Spark"),
        ("CREATE FUNCTION t(x INT) RETURNS TABLE(a INT) RETURN SELECT x", UnsupportedFeature, "return a table"),
        ("CREATE FUNCTION s(x INT) RETURNS INT RETURN s(x)", AnalysisException, "ROUTINE"),
        ("CREATE FUNCTION s(x INT) RETURNS INT RETURN sum(x)", AnalysisException, "CANNOT_CONTAIN_COMPLEX"),
        ("CREATE FUNCTION s(x INT, x INT) RETURNS INT RETURN x", AnalysisException, "DUPLICATE"),
        ("CREATE FUNCTION s(x INT DEFAULT 1, y INT) RETURNS INT RETURN x", AnalysisException, "DEFAULT"),
        ("CREATE FUNCTION s(x INT NOT NULL) RETURNS INT RETURN x", SqlError, "x is NOT NULL"),
        ("CREATE FUNCTION s(x NOTYPE) RETURNS INT RETURN x", SqlError, "NOTYPE"),
        ("CREATE FUNCTION s(x INT) RETURNS INT", SqlError, "RETURN is needed here"),
        ("CREATE FUNCTION s(x INT) RETURNS INT RETURN", SqlError, "an expression or a query is needed"),
        ("CREATE OR REPLACE FUNCTION IF NOT EXISTS s() RETURN 1", SqlError, "exclude each other"),
        ("CREATE FUNCTION s() RETURN SELECT a FROM nothing", Exception, "nothing"),
        ("SELECT paimon.c.nothere(1)", FunctionNotFound, r"no function c\.nothere .* it has above, addd"),
        ("SELECT nothere(1)", AnalysisException, "UNRESOLVED_ROUTINE"),
    ],
)
def test_what_is_refused(catalog: SessionCatalog, text: str, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=why):
        catalog.sql(text)


def test_a_lambda_of_java_is_not_run(catalog: SessionCatalog) -> None:
    name = Identifier("c", "of_java")
    definition = {"type": "lambda", "definition": "(Integer a) -> a", "language": "JAVA"}
    catalog.catalog.create_function(name, Function(definitions={"spark": definition}))
    with pytest.raises(UnsupportedFeature, match="runs no Java code"):
        catalog.sql("SELECT of_java(1)")


def test_catalogs_without_functions(spark: SparkSession, tmp_path: Path) -> None:
    catalog = paimon_spark.catalog(spark, str(tmp_path))
    catalog.create_database("c")
    with pytest.raises(UnsupportedFeature, match=r"only a REST catalog stores functions.*CREATE TEMPORARY FUNCTION"):
        catalog.sql("CREATE FUNCTION paimon.c.f(x INT) RETURN x")
    with pytest.raises(UnsupportedFeature, match=r"calling the function paimon\.c\.f: no catalog of Paimon has it"):
        catalog.sql("SELECT paimon.c.f(1)")
