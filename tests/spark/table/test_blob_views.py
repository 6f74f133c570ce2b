"""Columns of `blob-view-field` in SQL, DataFrames and streams: reads give the bytes of rows of other tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from support.oracles.checker import check_table

import paimon_spark
from paimon_spark import BlobView, open_table
from paimon_spark.errors import DataError, OptionError, PaimonError, SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.spark.catalog.session_catalog import SessionCatalog

EVOLVED = "'row-tracking.enabled' = 'true', 'data-evolution.enabled' = 'true', 'deletion-vectors.enabled' = 'true'"


@pytest.fixture
def cat(quick_spark: SparkSession, tmp_path: Path) -> Iterator[SessionCatalog]:
    """The table `d.up` with blobs and references, and `d.v` with views of it."""
    made = paimon_spark.catalog(quick_spark, str(tmp_path / "lake"))
    made.sql("CREATE DATABASE paimon.d")
    (tmp_path / "file").write_bytes(b"hello world")
    made.sql(
        "CREATE TABLE paimon.d.up (id INT, n INT, b BINARY, c BINARY) "
        f"TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'b', 'blob-descriptor-field' = 'c')"
    )
    reference = f"sys.path_to_descriptor('{tmp_path}/file')"
    made.sql(f"INSERT INTO paimon.d.up VALUES (1, 0, X'0102', {reference}), (2, 0, X'', NULL), (3, 0, NULL, NULL)")
    made.sql(
        "CREATE TABLE paimon.d.v (id INT, n INT, b BINARY, c BINARY COMMENT '__BLOB_VIEW_FIELD; the other') "
        f"TBLPROPERTIES ({EVOLVED}, 'blob-view-field' = 'b')"
    )
    made.sql(
        "INSERT INTO paimon.d.v SELECT id, 0, sys.blob_view('d.up', 'b', _ROW_ID), "
        "paimon.sys.BLOB_VIEW('paimon.d.up', 'c', _ROW_ID + (1 - 1)) FROM paimon.d.up"
    )
    yield made
    check_table(str(tmp_path / "lake" / "d.db" / "v"))


def rows(cat: SessionCatalog, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(bytes(v) if isinstance(v, bytearray) else v for v in row) for row in cat.sql(query).collect())


def test_statements(cat: SessionCatalog) -> None:
    whole = "SELECT id, b, c FROM paimon.d.v"
    assert rows(cat, whole) == [(1, b"\1\2", b"hello world"), (2, b"", None), (3, None, None)]
    assert rows(cat, "SELECT id FROM paimon.d.v WHERE b IS NULL") == [(3,)]
    assert rows(cat, "SELECT id FROM paimon.d.v WHERE c IS NOT NULL AND length(c) = 11") == [(1,)]
    assert rows(cat, "SELECT count(b), count(c), count(*) FROM paimon.d.v") == [(2, 1, 3)]
    cat.sql("UPDATE paimon.d.v SET n = length(c)")
    cat.sql("UPDATE paimon.d.v SET n = 7 WHERE c IS NULL AND length(b) = 0")
    assert rows(cat, "SELECT id, n FROM paimon.d.v WHERE n IS NOT NULL") == [(1, 11), (2, 7)]
    cat.sql("UPDATE paimon.d.v SET b = sys.blob_view('d.up', 'b', CAST(0 AS BIGINT)) WHERE id = 3")
    cat.sql("""
        MERGE INTO paimon.d.v t USING (SELECT 2 AS k, sys.blob_view('d.up', 'c', 0) AS w) s ON t.id = s.k
        WHEN MATCHED THEN UPDATE SET c = s.w
    """)
    assert rows(cat, whole) == [(1, b"\1\2", b"hello world"), (2, b"", b"hello world"), (3, b"\1\2", None)]
    cat.sql("DELETE FROM paimon.d.v WHERE c IS NULL")
    cat.sql("CALL paimon.sys.compact(table => 'd.v')")
    assert rows(cat, "SELECT id FROM paimon.d.v") == [(1,), (2,)]
    assert rows(cat, "SELECT id, b, c FROM paimon.d.`v$row_tracking`") == rows(cat, whole)
    assert ("c", "binary", "the other") in [tuple(row) for row in cat.sql("DESCRIBE paimon.d.v").collect()]


def test_references_are_followed_by_statements_that_change_rows(cat: SessionCatalog) -> None:
    cat.sql("UPDATE paimon.d.up SET n = length(c) WHERE length(c) = 11")
    assert rows(cat, "SELECT id, n FROM paimon.d.up") == [(1, 11), (2, 0), (3, 0)]


def test_views_go_from_table_to_table(cat: SessionCatalog, quick_spark: SparkSession) -> None:
    cat.sql(f"CREATE TABLE paimon.d.w (id INT, b BINARY) TBLPROPERTIES ({EVOLVED}, 'blob-view-field' = 'b')")
    with pytest.raises(DataError, match=r"'blob-view-field' holds views, .* a value of \d+ bytes is none"):
        cat.sql("INSERT INTO paimon.d.w SELECT id, b FROM paimon.d.v")
    key = "spark.paimon.paimon.d.v.blob-view.resolve.enabled"
    quick_spark.conf.set(key, "false")
    try:
        cat.sql("INSERT INTO paimon.d.w SELECT id, b FROM paimon.d.v")
        kept = rows(cat, "SELECT id, b FROM paimon.d.v WHERE b IS NOT NULL")
    finally:
        quick_spark.conf.unset(key)
    assert kept == [(id, BlobView("d.up", 2, id - 1).encode()) for id in (1, 2, 3)]
    assert rows(cat, "SELECT id, b FROM paimon.d.w") == rows(cat, "SELECT id, b FROM paimon.d.v")


def test_a_published_view_finds_the_other_tables(quick_spark: SparkSession, tmp_path: Path) -> None:
    options = {"metastore": "jdbc", "uri": f"jdbc:sqlite:{tmp_path}/c.db", "warehouse": str(tmp_path / "lake")}
    made = paimon_spark.catalog(quick_spark, options)
    made.sql("CREATE DATABASE paimon.d")
    made.sql(f"CREATE TABLE paimon.d.up (id INT, b BINARY) TBLPROPERTIES ({EVOLVED}, 'blob-field' = 'b')")
    made.sql(f"CREATE TABLE paimon.d.v (id INT, b BINARY) TBLPROPERTIES ({EVOLVED}, 'blob-view-field' = 'b')")
    made.sql("INSERT INTO paimon.d.up VALUES (1, X'0102')")
    made.sql("INSERT INTO paimon.d.v SELECT id, sys.blob_view('d.up', 'b', _ROW_ID) FROM paimon.d.up")
    made.publish("d.v", as_="published_views")
    try:
        assert [bytes(row.b) for row in quick_spark.table("published_views").collect()] == [b"\1\2"]
    finally:
        quick_spark.sql("DROP VIEW published_views")
        quick_spark.sql("DROP TABLE published_views__paimon_columns")


REFUSED: list[tuple[str, type[PaimonError], str]] = [
    ("sys.blob_view('d.up', 'n', 0)", SqlError, "the column is INT, and views lead to BLOB columns"),
    ("sys.blob_view('d.up', 'x', 0)", OptionError, "no column 'x'"),
    ("sys.blob_view('d.none', 'b', 0)", TableNotFound, "no table d.none"),
    ("sys.blob_view('d.keyed', 'b', 0)", SqlError, "the rows of the table have no ids"),
    (
        "sys.blob_view('d.up', b, 0)",
        SqlError,
        "the name of a BLOB column for sys.blob_view is needed",
    ),
    ("sys.blob_view('d.up', 'b', 0, 1)", SqlError, "takes the name of a table, that of a BLOB column, and the id of a"),
    ("X'01'", DataError, "a value of 1 bytes is none; make one with the function sys.blob_view"),
]


def test_what_is_refused(cat: SessionCatalog) -> None:
    cat.sql("CREATE TABLE paimon.d.keyed (id INT, b BINARY) TBLPROPERTIES ('primary-key' = 'id', 'blob-field' = 'b')")
    for value, error, message in REFUSED:
        with pytest.raises(error, match=message):
            cat.sql(f"INSERT INTO paimon.d.v VALUES (4, 0, {value}, NULL)")


def test_every_door(cat: SessionCatalog, quick_spark: SparkSession, tmp_path: Path) -> None:
    expected = rows(cat, "SELECT * FROM paimon.d.v")
    path, there = str(tmp_path / "lake" / "d.db" / "v"), {"catalog.warehouse": str(tmp_path / "lake")}
    frames = [
        quick_spark.read.format("paimon").options(**there).load(path),
        cat.table("d.v"),
        quick_spark.read.format("paimon").options(**there, **{"scan.snapshot-id": "1"}).load(path),
    ]
    for frame in frames:
        assert sorted((r.id, r.n, r.b and bytes(r.b), r.c and bytes(r.c)) for r in frame.collect()) == sorted(
            (id, n, b and bytes(b), c and bytes(c)) for id, n, b, c in expected
        )
    by_path = quick_spark.read.format("paimon").load(path)
    with pytest.raises(Exception, match="opened by its path, which tells of no catalog"):
        by_path.collect()
    assert by_path.sparkSession.read.format("paimon").option("columns", "id").load(path).count() == 3
    views = quick_spark.read.format("paimon").option("blob-view.resolve.enabled", "false").load(path)
    assert [bytes(row.b) for row in views.where("id = 1").collect()] == [BlobView("d.up", 2, 0).encode()]
    stream = quick_spark.readStream.format("paimon").options(**there).load(path)
    query = stream.writeStream.format("memory").queryName("views").trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert quick_spark.table("views").where("length(c) = 11").count() == 1
    with pytest.raises(UnsupportedFeature, match="by its path"):
        open_table(path).scan("b")
