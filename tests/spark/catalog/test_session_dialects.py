"""Sessions whose settings change what a condition means: queries and DELETE find the rows that Spark finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.spark.adapters.session_options import sql_dialect
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

ROWS = """VALUES (1, CAST(1.50 AS DECIMAL(5, 2)), DATE'2026-11-01', 'ab', 'x', CAST(16777216 AS FLOAT)),
  (2, CAST(2.00 AS DECIMAL(5, 2)), DATE'2026-11-02', 'a\\\\nb', 'y', CAST(0.1 AS FLOAT)),
  (3, NULL, DATE'2026-01-02', 'n', 'n', CAST('NaN' AS FLOAT)) AS r(id, d, day, n, p, f)"""
LENIENT = "spark.sql.ansi.enabled=false"
CASES = [
    (LENIENT, "d NOT IN ('1.5')"),
    (LENIENT, "day NOT IN ('2026-11-1')"),
    (LENIENT, "f = 16777217"),
    (LENIENT, "f != 0.1"),
    (LENIENT, "n > 1 OR d > '1.7'"),
    ("spark.sql.caseSensitive=true", "n = 'n'"),
    ("spark.sql.parser.escapedStringLiterals=true", r"n = 'a\nb'"),
    ("spark.sql.ansi.doubleQuotedIdentifiers=true", 'p = "n"'),
    ("spark.sql.timestampType=TIMESTAMP_NTZ", "day < TIMESTAMP'2026-11-01 12:00:00'"),
    ("spark.sql.legacy.typeCoercion.datetimeToString.enabled=true", "day < '2026-11-1'"),
]


@pytest.fixture(scope="module")
def cat(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCatalog]:
    cat = paimon_spark.catalog(spark, str(tmp_path_factory.mktemp("dialects")), name="dialects")
    cat.create_database("d")
    spark.sql(f"SELECT * FROM {ROWS}").createOrReplaceTempView("dialect_rows")
    columns = "id INT, d DECIMAL(5, 2), day DATE, n STRING, f FLOAT, p STRING"
    cat.sql(f"CREATE TABLE dialects.d.t ({columns}) PARTITIONED BY (p)")
    cat.sql("INSERT INTO dialects.d.t BY NAME SELECT * FROM dialect_rows")
    yield cat
    spark.catalog.dropTempView("dialect_rows")


@pytest.fixture
def session(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    key, value = request.param.split("=")
    spark.conf.set(key, value)
    yield spark
    spark.conf.unset(key)


@pytest.mark.parametrize(("session", "condition"), CASES, indirect=["session"])
def test_a_session_of_other_rules_gets_the_rows_that_spark_finds(
    cat: SessionCatalog, session: SparkSession, condition: str
) -> None:
    def found(table: str) -> list[int]:
        run = cat.sql if table.startswith("dialects.") else session.sql
        return sorted(row[0] for row in run(f"SELECT id FROM {table} WHERE {condition}").collect())

    def counted(table: str) -> int:
        run = cat.sql if table.startswith("dialects.") else session.sql
        return int(run(f"SELECT count(*) FROM {table} WHERE {condition}").collect()[0][0])

    assert found("dialects.d.t") == found("dialect_rows")
    assert counted("dialects.d.t") == counted("dialect_rows")
    before = cat["d.t"].detail().first()["snapshot_id"]
    expected = sorted(
        row[0] for row in session.sql(f"SELECT id FROM dialect_rows WHERE NOT ifnull({condition}, false)").collect()
    )
    cat.sql(f"DELETE FROM dialects.d.t WHERE {condition}")
    left = sorted(row[0] for row in cat.sql("SELECT id FROM dialects.d.t").collect())
    cat["d.t"].rollback(before)
    assert left == expected


@pytest.mark.parametrize(
    ("session", "expected"),
    [
        (LENIENT, Dialect.LENIENT),
        ("spark.sql.ansi.enabled=true", Dialect.ANSI),
        *((setting, Dialect.OTHER) for setting, _ in CASES if setting != LENIENT),
        ("spark.sql.readSideCharPadding=false", Dialect.OTHER),
        ("spark.sql.legacy.charVarcharAsString=true", Dialect.OTHER),
        ("spark.sql.legacy.noCharPaddingInPredicate=true", Dialect.OTHER),
    ],
    indirect=["session"],
)
def test_the_rules_of_a_session(session: SparkSession, expected: Dialect) -> None:
    assert sql_dialect(session) is expected


@pytest.mark.parametrize("session", [LENIENT], indirect=True)
def test_without_ansi_rules_partitions_are_pruned_still(cat: SessionCatalog, session: SparkSession) -> None:
    told = cat.explain("SELECT n FROM dialects.d.t WHERE p = 'x' AND day >= DATE'2026-01-01'")
    assert "p = 'x'" in told
    assert "day >= DATE'2026-01-01'" in told
    assert "n > 1" not in cat.explain("SELECT n FROM dialects.d.t WHERE n > 1")


@pytest.mark.parametrize("session", ["my.letter=y"], indirect=True)
def test_variables_have_the_values_of_the_session(cat: SessionCatalog, session: SparkSession) -> None:
    """Spark puts the values of settings in their place; a condition on the names would find nothing."""
    for text in (
        "SELECT id FROM {t} WHERE p = '${my.letter}'",
        "SELECT max(id) FROM {t} WHERE p = '${my.letter}'",
        "SELECT id FROM {t} WHERE id <= 2 AND p >= '${spark:my.letter}' ORDER BY id LIMIT 1",
    ):
        expected = session.sql(text.replace("{t}", "dialect_rows")).collect()
        assert expected == cat.sql(text.replace("{t}", "dialects.d.t")).collect() == [(2,)]
