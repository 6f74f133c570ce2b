"""Default values of tables that AS makes, and the setting that forbids reads of all files: as in the official one."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import OptionError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
FULL_SCAN = "spark.paimon.read.allow.fullScan"


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.create_database("default")
    return made


def rows(cat: SessionCatalog, text: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in cat.sql(text).collect())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * FROM d", ("dv", 5)), ("SELECT id, v AS v2, n + 1 AS n FROM d", ("dv", None)),
        ("SELECT id, q.v, n FROM (SELECT * FROM d) q", ("dv", 5)), ("TABLE d", ("dv", 5)),
        ("SELECT max(id) AS id, v, count(*) AS n FROM d GROUP BY v", ("dv", None)),
        ("SELECT id, v, n FROM d UNION ALL SELECT id, v, n FROM d", ("dv", 5)),
        ("SELECT id, upper(v) AS v, n FROM d JOIN (SELECT 1 AS one) ON id = one", (None, 5)),
    ],
)  # fmt: skip
def test_default_values_go_with_columns(cat: SessionCatalog, query: str, expected: tuple[object, ...]) -> None:
    cat.sql("CREATE TABLE d (id INT, v STRING DEFAULT 'dv', n INT DEFAULT 5)")
    cat.sql("INSERT INTO d (id) VALUES (1)")
    cat.sql(f"CREATE TABLE made AS {query}")
    cat.sql("INSERT INTO made (id) VALUES (2)")
    assert rows(cat, "SELECT * FROM made WHERE id = 2") == [(2, *expected)]


def test_a_read_of_all_files_is_refused_where_the_session_says_so(
    cat: SessionCatalog, quick_spark: SparkSession
) -> None:
    cat.sql("CREATE TABLE t (id INT, v STRING, p INT) PARTITIONED BY (p)")
    cat.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    for name in ("one", "empty"):
        cat.sql(f"CREATE TABLE {name} (id INT, p INT) PARTITIONED BY (p)")
    cat.sql("INSERT INTO one VALUES (1, 1)")
    cat.sql("CREATE TABLE plain AS SELECT 1 AS id")
    quick_spark.conf.set(FULL_SCAN, "false")
    try:
        for refused in (
            "SELECT * FROM t", "SELECT id FROM t WHERE p > 0", "SELECT * FROM t VERSION AS OF 1", "SELECT * FROM empty",
            "SELECT * FROM one WHERE p = 1", "SELECT * FROM empty WHERE p = 1", "INSERT INTO plain SELECT id FROM t",
            "SELECT * FROM paimon_incremental_query('t', '0', '1')",
        ):  # fmt: skip
            with pytest.raises(OptionError, match="forbids a read of all files of a partitioned table"):
                cat.sql(refused)
        for allowed, count in {
            "SELECT * FROM t WHERE p = 1": 1, "SELECT * FROM t WHERE id = 1": 1, "SELECT * FROM t WHERE id = 100": 0,
            "SELECT * FROM one WHERE p = 2": 0, "SELECT * FROM plain": 1, "SELECT * FROM `t$files`": 2,
        }.items():  # fmt: skip
            assert len(rows(cat, allowed)) == count, allowed
        assert rows(cat, "SELECT count(*), max(p) FROM t") == [(2, 2)]
        assert cat.table("t", where="p = 1").count() == 1
        with pytest.raises(OptionError, match="its condition leaves all 2"):
            cat.table("t")
    finally:
        quick_spark.conf.unset(FULL_SCAN)
