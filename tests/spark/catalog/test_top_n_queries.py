"""Queries of the rows that come first in an order: the rows of Spark, from the files and rows that are needed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark

TABLE = "paimon.web.clicks"


@pytest.fixture(scope="module")
def cat(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SessionCatalog]:
    """Six files of 1,000 rows in two partitions; `id` is unique, ascends with the files, and has an index."""
    catalog = paimon_spark.catalog(spark, str(tmp_path_factory.mktemp("lake")))
    catalog.create_database("web")
    columns = "id BIGINT, kind INT, price DOUBLE, word STRING, l ARRAY<INT>, s STRUCT<id: BIGINT>, dt STRING"
    indexes = "'file-index.range-bitmap.columns' = 'id,kind,price', 'file-index.in-manifest-threshold' = '0 b'"
    catalog.sql(f"CREATE TABLE {TABLE} ({columns}) PARTITIONED BY (dt) TBLPROPERTIES ({indexes})")
    for part in range(6):
        values = f"""SELECT id, CAST(id % 7 AS INT), IF(id % 100 = 3, NULL, IF(id % 50 = 1, double('NaN'), -id / 8)),
            concat('w', lpad(id, 6, '0')), array(1, 2), struct(-id), '{"ab"[part // 3]}'
            FROM range({part * 1000}, {(part + 1) * 1000}, 1, 1)"""
        catalog.sql(f"INSERT INTO {TABLE} {values}")
    yield catalog
    catalog.use(None)


@pytest.fixture(scope="module")
def view(spark: SparkSession, cat: SessionCatalog) -> Iterator[str]:
    """The rows themselves, of which Spark alone knows."""
    cat.table("web.clicks").createOrReplaceTempView("all_clicks")
    yield "all_clicks"
    spark.catalog.dropTempView("all_clicks")


def compare(spark: SparkSession, cat: SessionCatalog, text: str, view: str) -> str:
    """Compares the results, row by row; what is told of the read."""
    query = text.replace("{t}", TABLE)
    found, expected = cat.sql(query).collect(), spark.sql(text.replace("{t}", view)).collect()
    assert list(map(str, found)) == list(map(str, expected))
    return cat.explain(query)


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("SELECT * FROM {t} ORDER BY id LIMIT 5", 5),
        ("SELECT id, word FROM {t} ORDER BY ID DESC LIMIT 5 OFFSET 3", 5),
        ("SELECT c.word AS id2, id FROM {t} c ORDER BY c.id DESC NULLS FIRST LIMIT 1500", 4),
        ("SELECT word FROM {t} ORDER BY word DESC LIMIT 3", 5),
        ("SELECT id FROM {t} WHERE dt = 'a' ORDER BY id DESC LIMIT 2", 2),
        ("SELECT max(id), count(*) FROM (SELECT id FROM {t} ORDER BY id DESC LIMIT 7)", 5),
        ("SELECT dt FROM {t} ORDER BY dt DESC LIMIT 2", 3),
    ],
)
def test_files_are_left_out(spark: SparkSession, cat: SessionCatalog, view: str, text: str, left_out: int) -> None:
    assert f"left out by the order and its limit: {left_out} files" in compare(spark, cat, text, view)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT kind FROM {t} ORDER BY kind LIMIT 4",
        "SELECT price FROM {t} ORDER BY price DESC LIMIT 3",  # NaN
        "SELECT price FROM {t} ORDER BY price LIMIT 70",  # NULL, then the least
        "SELECT price FROM {t} ORDER BY price DESC NULLS LAST LIMIT 130",
    ],
)
def test_an_index_leaves_few_rows_which_the_driver_reads(
    spark: SparkSession, cat: SessionCatalog, view: str, text: str
) -> None:
    told = compare(spark, cat, text, view)
    assert "an index tells which rows may come first (6 files)" in told
    assert "read by the driver: all" in told


@pytest.mark.parametrize(
    "text",
    [
        "SELECT kind, id FROM {t} ORDER BY kind, id LIMIT 9",
        "SELECT kind, id FROM {t} ORDER BY kind DESC, word DESC LIMIT 9",
        "SELECT id FROM {t} ORDER BY kind, price, id LIMIT 900",
    ],
)
def test_further_columns_decide_among_equal_values(
    spark: SparkSession, cat: SessionCatalog, view: str, text: str
) -> None:
    compare(spark, cat, text, view)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM {t} WHERE id > 2500 ORDER BY id LIMIT 3",
        "SELECT id FROM {t} WHERE dt = 'b' AND word LIKE '%7' ORDER BY id LIMIT 3",
        "SELECT id FROM {t} WHERE upper(dt) = 'B' ORDER BY id LIMIT 3",
        "SELECT -id AS id FROM {t} ORDER BY id LIMIT 3",
        "SELECT s.* FROM {t} ORDER BY id LIMIT 3",
        "SELECT s.id FROM {t} ORDER BY id LIMIT 3",
        "SELECT (s.id) FROM {t} ORDER BY id LIMIT 3",
        "SELECT s AS c, word FROM {t} c ORDER BY c.id LIMIT 3",
        "SELECT s FROM {t} s ORDER BY s.id LIMIT 3",
        "SELECT (CAST(id AS STRING)) FROM {t} ORDER BY id LIMIT 3",
        "SELECT CAST((id) AS STRING) FROM {t} ORDER BY id LIMIT 3",
        "SELECT 'i' 'd', word FROM {t} ORDER BY id, word DESC LIMIT 3",
        "SELECT id FROM {t} AS c(word, kind, price, id, l, s, dt) ORDER BY id DESC, kind LIMIT 3",
        "SELECT explode(l), id FROM {t} ORDER BY id DESC LIMIT 3",
        "SELECT id, row_number() OVER (ORDER BY id DESC) FROM {t} ORDER BY id LIMIT 3",
        "SELECT DISTINCT dt, kind FROM {t} ORDER BY dt DESC, kind LIMIT 3",
        "SELECT a.id FROM {t} a JOIN VALUES (5500L) v(x) ON a.id = v.x ORDER BY a.id LIMIT 3",
        "SELECT id FROM {t} UNION ALL SELECT -1L ORDER BY id LIMIT 3",
    ],
)
def test_all_files_are_read_where_other_rows_decide(
    spark: SparkSession, cat: SessionCatalog, view: str, text: str
) -> None:
    assert "left out by the order" not in compare(spark, cat, text, view)


def test_sessions_that_read_names_otherwise(spark: SparkSession, cat: SessionCatalog, view: str) -> None:
    spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
    try:
        told = compare(spark, cat, 'SELECT "s" FROM {t} s ORDER BY s.id LIMIT 3', view)
    finally:
        spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
    assert "left out by the order" not in told


def test_two_uses_of_a_table_with_different_needs(spark: SparkSession, cat: SessionCatalog, view: str) -> None:
    text = """SELECT * FROM (SELECT id FROM {t} ORDER BY id LIMIT 1) UNION ALL
        SELECT * FROM (SELECT id FROM {t} ORDER BY id DESC LIMIT 1) UNION ALL SELECT max(id) + 1 AS id FROM {t}
        ORDER BY id"""
    compare(spark, cat, text, view)


def test_deleted_rows_do_not_come_first(spark: SparkSession, cat: SessionCatalog) -> None:
    name = "paimon.web.vectors"
    options = "'deletion-vectors.enabled' = 'true', 'file-index.range-bitmap.columns' = 'id'"
    cat.sql(f"CREATE TABLE {name} (id BIGINT, v INT) TBLPROPERTIES ({options})")
    for part in range(3):
        cat.sql(f"INSERT INTO {name} SELECT id, 1 FROM range({part * 100}, {part * 100 + 100}, 1, 1)")
    cat.sql(f"DELETE FROM {name} WHERE id < 120 OR id IN (122, 299)")
    for number in (1, 2, 3, 90):
        found = [row.id for row in cat.sql(f"SELECT id FROM {name} ORDER BY id LIMIT {number}").collect()]
        assert found == [id for id in range(120, 300) if id != 122][:number]
    assert [row.id for row in cat.sql(f"SELECT id FROM {name} ORDER BY id DESC LIMIT 2").collect()] == [298, 297]
