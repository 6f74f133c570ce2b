"""Queries that metadata answer: the same rows, names and types as those of the rows themselves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import paimon_spark
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

TABLE = "paimon.web.clicks"


@pytest.fixture(scope="module")
def cat(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCatalog]:
    catalog = paimon_spark.catalog(spark, str(tmp_path_factory.mktemp("lake")))
    catalog.create_database("web")
    columns = "id BIGINT, day DATE, price DECIMAL(9, 2), at TIMESTAMP_NTZ, s STRING, dt STRING"
    catalog.sql(f"CREATE TABLE {TABLE} ({columns}) PARTITIONED BY (dt)")
    catalog.sql(f"""INSERT INTO {TABLE} VALUES
        (1, date'2026-11-01', 1.50, timestamp_ntz'2026-11-01 10:00:00', 'a', 'x'),
        (7, NULL, -2.25, NULL, 'b', 'x'),
        (3, date'1969-01-01', NULL, timestamp_ntz'1960-01-01 00:00:00.000001', 'c', 'y'),
        (4, NULL, NULL, NULL, NULL, NULL)""")
    yield catalog
    catalog.use(None)


ANSWERED = [
    "SELECT count(*) FROM {t}",
    "SELECT COUNT(1), count( * ) AS `n m`, max(id) FROM {t} WHERE dt = 'x'",
    "SELECT min(ID), max(id) + 1, CAST(max(day) AS STRING) d, min(price), max(at) FROM {t} o WHERE o.dt <> 'q'",
    "SELECT dt, count(*) c, min(at), max(id) FROM {t} GROUP BY dt HAVING count(*) > 0 ORDER BY count(*) DESC, dt",
    "SELECT DISTINCT dt FROM {t}",
    "SELECT count(*), min(id) FROM {t} WHERE dt = 'none'",
    "SELECT dt FROM {t} WHERE dt = 'none' GROUP BY dt",
    "SELECT c + 1 FROM (SELECT count(*) AS c FROM {t} WHERE dt IS NOT NULL) q",
    "SELECT count(*) + 1 AS n, dt = 'x' FROM {t} GROUP BY dt = 'x'",
]
READ = [
    ("SELECT max(s) FROM {t}", "no exact statistics of s (2 files)"),
    ("SELECT count(*) FROM {t} WHERE id > 1", "id is no partition column"),
    ("SELECT id, count(*) FROM {t} GROUP BY id", "id is no partition column"),
]
OTHERS = [
    "SELECT count(*) + 1 FROM {t}",
    "SELECT sum(id), count(*) FROM {t}",
    "SELECT count(*) FROM {t} WHERE upper(dt) = 'X'",
    "SELECT dt, count(*) FROM {t} GROUP BY ROLLUP (dt)",
    "SELECT dt, count(*) OVER () FROM {t}",
    "SELECT count(*) FROM {t} a JOIN {t} b ON a.id = b.id",
    "SELECT count(DISTINCT dt), count(dt), min(id) FROM {t}",
]


@pytest.fixture(scope="module")
def view(spark: SparkSession, cat: SessionCatalog) -> Iterator[str]:
    """The rows themselves, of which Spark alone knows."""
    cat.table("web.clicks").createOrReplaceTempView("clicks_rows")
    yield "clicks_rows"
    spark.catalog.dropTempView("clicks_rows")


def columns(frame: DataFrame) -> list[tuple[str, str, bool]]:
    """Names, types and whether they may be NULL; Spark marks names that it made itself."""
    return [(field.name, field.dataType.simpleString(), field.nullable) for field in frame.schema.fields]


def compare(spark: SparkSession, cat: SessionCatalog, text: str, view: str) -> str:
    """Compares the results; what is told of the read."""
    query = text.replace("{t}", TABLE)
    found, expected = cat.sql(query), spark.sql(text.replace("{t}", view))
    assert columns(found) == columns(expected)
    assert sorted(map(str, found.collect())) == sorted(map(str, expected.collect()))
    return cat.explain(query)


@pytest.mark.parametrize("text", ANSWERED)
def test_metadata_answer(spark: SparkSession, cat: SessionCatalog, view: str, text: str) -> None:
    assert "answered by metadata: " in compare(spark, cat, text, view)
    assert "not answered" not in cat.explain(text.replace("{t}", TABLE))


@pytest.mark.parametrize(("text", "reason"), READ)
def test_rows_are_read_and_explain_tells_why(
    spark: SparkSession, cat: SessionCatalog, view: str, text: str, reason: str
) -> None:
    assert f"not answered by metadata, because {reason}" in compare(spark, cat, text, view)


def test_other_queries_are_left_as_they_are(spark: SparkSession, cat: SessionCatalog, view: str) -> None:
    for text in OTHERS:
        assert "answered by metadata" not in compare(spark, cat, text, view)


def test_a_table_that_is_written_concurrently_and_an_older_state(cat: SessionCatalog) -> None:
    cat.sql("CREATE TABLE paimon.web.keyed (k INT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '1')")
    assert cat.sql("SELECT count(*), max(v) FROM paimon.web.keyed").first() == (0, None)
    cat.sql("INSERT INTO paimon.web.keyed VALUES (1, 10), (2, 20)")
    cat.sql("INSERT INTO paimon.web.keyed VALUES (2, 5)")
    query = "SELECT count(*), max(v) FROM paimon.web.keyed"
    assert cat.sql(query).first() == (2, 10)
    assert "rows of several files must be merged (2 files)" in cat.explain(query)
    assert cat.sql(f"{query} VERSION AS OF 1").first() == (2, 20)
    assert "answered by metadata: 1 files" in cat.explain(f"{query} VERSION AS OF 1")


def test_numbers_of_a_table_object(spark: SparkSession, cat: SessionCatalog) -> None:
    table = cat["web.clicks"]
    assert [table.count(where) for where in (None, "dt = 'x'", "dt is null", "id > 3")] == [4, 2, 1, 2]
    assert table.count(sf.col("id") > 3) == 2
    ends = [(table.min(c), table.max(c)) for c in ("ID", "day", "price", "at", "s")]
    assert ends == [
        (1, 7),
        (dt.date(1969, 1, 1), dt.date(2026, 11, 1)),
        (Decimal("-2.25"), Decimal("1.50")),
        (dt.datetime(1960, 1, 1, 0, 0, 0, 1), dt.datetime(2026, 11, 1, 10)),
        ("a", "c"),
    ]
    assert (table.max("id", "dt = 'y'"), table.min("id", "dt = 'none'"), table.max("dt")) == (3, None, "y")


def test_numbers_of_a_branch_by_its_option(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(3).coalesce(1).write.format("paimon").mode("append").save(path)
    table = paimon_spark.PaimonTable.forPath(spark, path)
    table.create_branch("trial", snapshot=1)
    table.append(spark.range(10, 12))
    trial = {"branch": "trial"}
    assert (table.count(), table.count(options=trial), table.toDF(options=trial).count()) == (5, 3, 3)
    assert (table.max("id"), table.max("id", options=trial)) == (11, 2)
