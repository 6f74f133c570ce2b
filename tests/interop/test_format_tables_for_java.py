"""Format tables that are made and written here are those of Java 2.0.0, in both directions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from genuine import Genuine
from genuine_jars import JavaUnavailable
from java_object_tables import write_by_java
from java_rest import rows_by_java
from java_rest_server import JavaRestServer, java_rest_server
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import open_catalog
from paimon_spark.errors import OptionError, PaimonError, SchemaError, UnsupportedFeature
from paimon_spark.store.file_tables.format_table import FormatTable

pytestmark = [pytest.mark.interop, pytest.mark.spark]
COLUMNS = "id BIGINT COMMENT 'the key', name STRING, price DECIMAL(10, 2), day DATE, part STRING"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaRestServer]:
    try:
        with java_rest_server(tmp_path_factory.mktemp("java")) as made:
            open_catalog(made.options).create_database("d")
            yield made
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("file_format", ["parquet", "orc", "csv", "json"])
def test_java_writes_to_tables_that_are_made_here(
    java: Genuine, server: JavaRestServer, spark: SparkSession, file_format: str
) -> None:
    session = spark.newSession()
    cat = paimon_spark.catalog(session, server.options, name="lake")
    paimon_spark.register_catalog(session, "lake", server.options)
    try:
        for sql, name in ((cat.sql, f"a_{file_format}"), (session.sql, f"b_{file_format}")):
            made = f"CREATE TABLE lake.d.{name} ({COLUMNS}) PARTITIONED BY (part)"
            properties = f"'type' = 'format-table', 'file.format' = '{file_format}', 'csv.field-delimiter' = ';'"
            sql(f"{made} COMMENT 'files' TBLPROPERTIES ({properties})")
            rows = [(1, "a;b", Decimal("1.50"), 1, "x"), (2, None, None, None, None)]
            java.run(write_by_java, server.options, "d", name, rows)
            assert sorted(java.run(rows_by_java, server.options, "d", name)) == rows
            found = sql(f"SELECT id, name, price, part FROM lake.d.{name} ORDER BY id").collect()
            assert [tuple(row) for row in found] == [(1, "a;b", Decimal("1.50"), "x"), (2, None, None, None)]
            table = open_catalog(server.options).table(f"d.{name}")
            assert isinstance(table, FormatTable)
            assert table.schema.comment == "files"
            assert table.schema.by_name["id"].description == "the key"
            with pytest.raises((PaimonError, PySparkException), match=r"there is such a table|already exists"):
                sql(f"{made} TBLPROPERTIES ('type' = 'format-table')")
            sql(f"CREATE TABLE IF NOT EXISTS lake.d.{name} (id INT) TBLPROPERTIES ('type' = 'format-table')")
            folder = Path(table.location)
            assert folder.exists()
            sql(f"DROP TABLE lake.d.{name}")
            assert name not in cat.tables("d")
    finally:
        forget_catalogs(session)


def test_tables_that_are_not_made(server: JavaRestServer, spark: SparkSession, tmp_path: Path) -> None:
    cat = paimon_spark.catalog(spark.newSession(), server.options, name="lake")
    refused: list[tuple[type[PaimonError], str, str, str]] = [
        (UnsupportedFeature, "the format 'avro'", "id INT", "'file.format' = 'avro'"),
        (SchemaError, "no primary key", "id INT", "'primary-key' = 'id'"),
        (UnsupportedFeature, "partitions the catalog keeps", "id INT", "'metastore.partitioned-table' = 'true'"),
        (UnsupportedFeature, "'engine'", "id INT", "'format-table.implementation' = 'engine'"),
        (UnsupportedFeature, "ARRAY<INT>", "id ARRAY<INT>", "'file.format' = 'csv'"),
        (UnsupportedFeature, "one column of the type STRING", "a INT", "'file.format' = 'text'"),
        (OptionError, "must be different", "a INT", "'file.format' = 'csv', 'csv.quote-character' = ','"),
        (SchemaError, "files need one of their own", "a INT", "'partition' = 'a'"),
    ]
    for error, words, columns, properties in refused:
        with pytest.raises(error, match=words):
            cat.sql(f"CREATE TABLE lake.d.no ({columns}) TBLPROPERTIES ('type' = 'format-table', {properties})")
    with pytest.raises(UnsupportedFeature, match="without a query only"):
        cat.sql("CREATE TABLE lake.d.no TBLPROPERTIES ('type' = 'format-table') AS SELECT 1 AS a")
    with pytest.raises(UnsupportedFeature, match="a REST catalog makes without USING"):
        cat.sql("CREATE TABLE lake.d.no (a INT) USING csv")
    assert cat.tables("d") == []
    files = paimon_spark.catalog(spark.newSession(), {"warehouse": str(tmp_path)}, name="files")
    files.sql("CREATE DATABASE files.d")
    with pytest.raises(UnsupportedFeature, match="'format-table'"):
        files.sql("CREATE TABLE files.d.f (a INT) TBLPROPERTIES ('type' = 'format-table')")
