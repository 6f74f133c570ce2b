"""Statements that name a system table show that table, and never change the one that it tells of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import ParseException
from pyspark.sql import SparkSession

import paimon_spark
from paimon_spark.errors import PaimonError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> SessionCatalog:
    catalog = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    for statement in (
        "CREATE DATABASE paimon.d",
        "USE paimon.d",
        "CREATE TABLE k (id INT, p STRING) PARTITIONED BY (p)",
    ):
        catalog.sql(statement)
    return catalog


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE `k$files` ADD COLUMN x INT",
        "ALTER TABLE `k$files` SET TBLPROPERTIES ('write-only' = 'true')",
        "ALTER TABLE `k$files` CREATE TAG t",
        "CALL sys.compact(table => 'd.k$files')",
        "INSERT INTO `k$files` VALUES (1, 'x')",
        "DELETE FROM `k$files`",
        "TRUNCATE TABLE `k$files`",
        "CREATE TABLE c LIKE `k$files`",
    ],
)
def test_no_statement_changes_a_table_by_the_name_of_a_system_table(cat: SessionCatalog, statement: str) -> None:
    cat.sql("INSERT INTO k VALUES (1, 'a')")
    with pytest.raises(PaimonError, match="system table"):
        cat.sql(statement)
    assert cat.sql("SELECT * FROM k").collect() == [(1, "a")]
    assert [row.key for row in cat.sql("SHOW TBLPROPERTIES k ('write-only')").collect()] == ["write-only"]
    assert cat.sql("SELECT count(*) FROM `k$schemas`").collect() == [(1,)]


def test_a_system_table_shows_its_own_columns(cat: SessionCatalog) -> None:
    assert cat.sql("DESCRIBE `k$branches`").collect() == [
        ("branch_name", "string", None),
        ("create_time", "timestamp_ntz", None),
    ]
    assert [row.column for row in cat.sql("SHOW COLUMNS IN `k$options`").collect()] == ["key", "value"]
    described = [row.col_name for row in cat.sql("DESCRIBE `k$audit_log`").collect()]
    assert described == ["rowkind", "id", "p", "# Partition Information", "# col_name", "p"]


@pytest.mark.parametrize(
    "statement", ["DELETE k WHERE id = 1", "MERGE k USING k s ON k.id = s.id WHEN MATCHED THEN DELETE"]
)
def test_the_words_that_spark_asks_for_are_asked_for(cat: SessionCatalog, statement: str) -> None:
    cat.sql("INSERT INTO k VALUES (1, 'a')")
    with pytest.raises((PaimonError, ParseException)):
        cat.sql(statement)
    assert cat.sql("SELECT * FROM k").collect() == [(1, "a")]


def test_describe_extended_tells_metadata_columns_and_the_stored_owner(cat: SessionCatalog, tmp_path: Path) -> None:
    """As the official connector does (paimon-spark-4.1_2.13-2.0.0), which stores the owner of each table it creates."""
    cat.sql("CREATE TABLE a (id INT, v INT)")
    location = f"{tmp_path}/lake/d.db/a"
    schema = Path(location) / "schema" / "schema-0"
    stored = json.loads(schema.read_text())
    schema.write_text(json.dumps({**stored, "options": {"owner": "root"}}))
    assert [tuple(row) for row in cat.sql("DESCRIBE EXTENDED a").collect()] == [
        ("id", "int", None),
        ("v", "int", None),
        ("", "", ""),
        ("# Metadata Columns", "", ""),
        ("__paimon_file_path", "string", ""),
        ("__paimon_row_index", "bigint", ""),
        ("__paimon_partition", "struct<>", ""),
        ("__paimon_bucket", "int", ""),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Name", "d.a", ""),
        ("Type", "MANAGED", ""),
        ("Location", location, ""),
        ("Provider", "paimon", ""),
        ("Owner", "root", ""),
        ("Table Properties", f"[path={location}]", ""),
        ("Statistics", "0 bytes, 0 rows", None),
    ]
    rows = {row.col_name: row.data_type for row in cat.sql("DESCRIBE EXTENDED k").collect()}
    assert rows["__paimon_partition"] == "struct<p:string>"
    assert "Owner" not in rows
