"""The refresh of a materialized table: what INSERT OVERWRITE of its query would do, in one commit."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import open_table
from paimon_spark.errors import OptionError, PaimonError, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

pytestmark = pytest.mark.spark
QUERY = "SELECT dt, sum(v) FROM d.source GROUP BY dt"
STATUS = "materialized-table.refresh-status"


@pytest.fixture
def cat(spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    """A catalog with rows."""
    made = paimon_spark.catalog(spark.newSession(), {"warehouse": str(tmp_path)}, name="lake")
    made.sql("CREATE DATABASE lake.d")
    made.sql("CREATE TABLE lake.d.source (id INT, dt STRING, v BIGINT)")
    made.sql("INSERT INTO lake.d.source VALUES (1, 'a', 1), (2, 'a', 10), (3, 'b', 100), (4, NULL, 1000)")
    return made


def make(cat: SessionCatalog, name: str, query: str | None = QUERY, mode: str | None = "full", **more: str) -> str:
    options = {"type": "materialized-table", STATUS: "ACTIVATED", **more}
    options |= {} if query is None else {"materialized-table.definition-query": query}
    options |= {} if mode is None else {"materialized-table.refresh-mode": mode}
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    cat.sql(f"CREATE TABLE lake.d.{name} (dt STRING, total BIGINT) PARTITIONED BY (dt) TBLPROPERTIES ({properties})")
    return f"lake.d.{name}"


def rows(cat: SessionCatalog, name: str) -> list[tuple[str | None, int]]:
    return sorted((tuple(row) for row in cat.sql(f"SELECT dt, total FROM {name}").collect()), key=repr)


def test_a_refresh_replaces_all_rows_or_those_of_a_partition(cat: SessionCatalog, tmp_path: Path) -> None:
    name, place = make(cat, "m"), f"{tmp_path}/d.db/m"
    cat.sql(f"INSERT INTO {name} VALUES ('old', 7), ('a', 7)")
    told = cat.sql("CALL sys.refresh_materialized_table('d.m')").collect()
    assert told == [(3, 2)]
    assert rows(cat, name) == [("a", 11), ("b", 100), (None, 1000)]
    assert open_table(place).history()["commit_kind"].to_pylist() == ["OVERWRITE", "APPEND"]
    cat.sql("UPDATE lake.d.source SET v = v + 1")
    cat.sql("CALL sys.refresh_materialized_table(table => 'd.m', partition => 'dt=a')")
    assert rows(cat, name) == [("a", 13), ("b", 100), (None, 1000)]
    cat.sql("CALL sys.refresh_materialized_table(table => 'lake.d.m', partition => 'dt=__DEFAULT_PARTITION__')")
    assert rows(cat, name) == [("a", 13), ("b", 100), (None, 1001)]
    cat.sql("DELETE FROM lake.d.source WHERE dt = 'a'")
    cat.sql("CALL sys.refresh_materialized_table(table => 'd.m', partition => 'dt=a')")
    assert rows(cat, name) == [("b", 100), (None, 1001)]
    assert open_table(place).schema.options[STATUS] == "ACTIVATED"
    assert len(open_table(place).history()) == 5
    session = cat.sql("SELECT 1").sparkSession
    session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    paimon_spark.register_catalog(session, "lake", {"warehouse": str(tmp_path)})
    try:
        session.sql("CALL lake.sys.refresh_materialized_table(table => 'd.m')").collect()
        assert rows(cat, name) == [("b", 101), (None, 1001)]
        cat.sql("TRUNCATE TABLE lake.d.source")
        assert cat.sql("CALL sys.refresh_materialized_table('d.m')").collect()[0][0] == 0
        assert rows(cat, name) == []
    finally:
        forget_catalogs(session)


def test_what_is_refused(cat: SessionCatalog) -> None:
    cases: list[tuple[type[PaimonError], str, str, str]] = [
        (UnsupportedFeature, "no materialized table", "d.source", ""),
        (UnsupportedFeature, "definition-query' is missing", make(cat, "a", None), ""),
        (UnsupportedFeature, "'CONTINUOUS', and this release", make(cat, "b", mode="CONTINUOUS"), ""),
        (UnsupportedFeature, "= '', and this release", make(cat, "c", mode=None), ""),
        (UnsupportedFeature, "Spark does not run it", make(cat, "e", "SELECT PROCTIME() FROM d.source"), ""),
        (UnsupportedFeature, "Spark does not run it", make(cat, "f", "SELECT x FROM other.d.source"), ""),
        (UnsupportedFeature, "Spark does not run it", make(cat, "g", "DROP TABLE d.source"), ""),
        (UnsupportedFeature, "Spark does not run it", make(cat, "h", "SELECT 1 AS x, 2 AS y"), "dt=a"),
        (PaimonError, "column", make(cat, "i", "SELECT 1 AS x"), ""),
        (OptionError, "no partition column", make(cat, "j"), "total=1"),
        (OptionError, "several partitions", make(cat, "k"), "dt=a;dt=b"),
    ]
    for error, words, name, partition in cases:
        more = f", partition => '{partition}'" if partition else ""
        with pytest.raises(error, match=words):
            cat.sql(f"CALL sys.refresh_materialized_table(table => '{name.removeprefix('lake.')}'{more})")
    assert cat.sql("SELECT count(*) FROM lake.d.source").collect() == [(4,)]
