"""Format tables that are made and written here are those of Java 2.0.0, in both directions."""

from __future__ import annotations

import datetime as dt
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from genuine import Genuine
from java_object_tables import write_by_java
from java_rest import rows_by_java
from java_rest_server import JavaRestServer
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import (
    DataError,
    OptionError,
    PaimonError,
    SchemaError,
    TableNotFound,
    UnsupportedFeature,
    UnsupportedMethod,
)
from paimon_spark.store.file_tables.format_table import FormatTable

pytestmark = [pytest.mark.interop, pytest.mark.spark]
COLUMNS = "id BIGINT COMMENT 'the key', name STRING, price DECIMAL(10, 2), day DATE, part STRING"


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
        (UnsupportedFeature, "no partition columns", "id INT", "'metastore.partitioned-table' = 'true'"),
        (
            *(UnsupportedFeature, "without a location of their own", "id INT, p INT"),
            "'partition' = 'p', 'metastore.partitioned-table' = 'true', 'path' = '/x'",
        ),
        (UnsupportedFeature, "'engine'", "id INT", "'format-table.implementation' = 'engine'"),
        (UnsupportedFeature, "ARRAY<INT>", "id ARRAY<INT>", "'file.format' = 'csv'"),
        (UnsupportedFeature, "one column of the type STRING", "a INT", "'file.format' = 'text'"),
        (OptionError, "must be different", "a INT", "'file.format' = 'csv', 'csv.quote-character' = ','"),
        (SchemaError, "files need one of their own", "a INT", "'partition' = 'a'"),
    ]
    for error, words, columns, properties in refused:
        with pytest.raises(error, match=words):
            cat.sql(f"CREATE TABLE lake.d.no ({columns}) TBLPROPERTIES ('type' = 'format-table', {properties})")
    with pytest.raises(UnsupportedFeature, match="name one of parquet, orc, csv, json, text, which makes a format"):
        cat.sql("CREATE TABLE lake.d.no (a INT) USING avro")
    with pytest.raises(OptionError, match=r"'sep' is one of Spark's own sources.*'csv.field-delimiter'"):
        cat.sql("CREATE TABLE lake.d.no (a INT) USING csv OPTIONS ('sep' '|')")
    with pytest.raises(OptionError, match=r"'delimiter' is one of Spark's own sources"):
        cat.sql("CREATE TABLE lake.d.no (a INT) TBLPROPERTIES ('type' = 'format-table', 'delimiter' = '|')")
    with pytest.raises(OptionError, match=r"the option 'csv.field-delimitr'; did you mean 'csv.field-delimiter'\?"):
        cat.sql("CREATE TABLE lake.d.no (a INT) USING csv OPTIONS ('csv.field-delimitr' '|')")
    with pytest.raises((PaimonError, PySparkException), match="stop"):
        cat.sql("CREATE TABLE lake.d.no USING json AS SELECT CAST(raise_error('stop') AS INT) AS a")
    assert cat.tables("d") == []
    files = paimon_spark.catalog(spark.newSession(), {"warehouse": str(tmp_path)}, name="files")
    files.sql("CREATE DATABASE files.d")
    with pytest.raises(UnsupportedFeature, match="'format-table'"):
        files.sql("CREATE TABLE files.d.f (a INT) TBLPROPERTIES ('type' = 'format-table')")


ROWS = [(1, "a;b", Decimal("1.50"), 1, "x y"), (2, None, None, None, None), (3, "c", Decimal("-0.01"), -1, "ä=%/")]
VALUES = """
    VALUES (1L, 'a;b', 1.50, DATE '1970-01-02', 'x y'), (2L, NULL, NULL, NULL, NULL),
           (3L, 'c', -0.01, DATE '1969-12-31', 'ä=%/')
"""
MORE = (9, "n", None, None, "x y")


def files_of(table: FormatTable) -> set[str]:
    """The files that readers see. A task that runs while its job fails may leave a hidden one."""
    return {file.path for file in table.files()}


@pytest.mark.parametrize(
    ("file_format", "layout"),
    [("parquet", "named"), ("parquet", "two"), ("orc", "values"), ("csv", "none"), ("json", "named")],
)
def test_java_reads_what_is_written_here(
    java: Genuine, server: JavaRestServer, spark: SparkSession, file_format: str, layout: str
) -> None:
    session = spark.newSession()
    cat = paimon_spark.catalog(session, server.options, name="lake")
    paimon_spark.register_catalog(session, "lake", server.options)
    name = f"w_{file_format}_{layout}"
    keys = {"none": "", "two": "PARTITIONED BY (day, part)"}.get(layout, "PARTITIONED BY (part)")
    only = ", 'format-table.partition-path-only-value' = 'true'" if layout == "values" else ""

    def rows() -> list[tuple[object, ...]]:
        """The rows as Java has them, which every door shows too."""
        found = java.run(rows_by_java, server.options, "d", name)
        shown = f"SELECT id, name, price, datediff(day, DATE '1970-01-01'), part FROM lake.d.{name}"
        assert sorted(map(repr, found)) == sorted(repr(tuple(row)) for row in cat.sql(shown).collect())
        return sorted(found, key=repr)

    try:
        properties = f"'type' = 'format-table', 'file.format' = '{file_format}'{only}"
        cat.sql(f"CREATE TABLE lake.d.{name} ({COLUMNS}) {keys} TBLPROPERTIES ({properties})")
        table = cat[f"d.{name}"]
        cat.sql(f"INSERT INTO lake.d.{name} {VALUES}")
        assert rows() == sorted(ROWS, key=repr)
        session.sql(f"INSERT INTO lake.d.{name} (part, id, name) VALUES ('x y', 9, 'n')").collect()
        assert rows() == sorted([*ROWS, MORE], key=repr)
        java.run(write_by_java, server.options, "d", name, [MORE])
        assert len(rows()) == 5
        cat.sql(f"INSERT OVERWRITE lake.d.{name} {VALUES}")
        assert rows() == sorted(ROWS, key=repr)
        session.sql(f"INSERT OVERWRITE lake.d.{name} SELECT 9L, 'n', NULL, NULL, 'x y'").collect()
        assert rows() == [MORE]
        table.append(session.sql(f"SELECT * FROM {VALUES} AS t(id, name, price, day, part) WHERE id < 3"))
        assert len(rows()) == 3
        if keys:
            spec = "part = 'x y'" if layout != "two" else "day = DATE '1970-01-02', part = 'x y'"
            columns = "id, name, price, day" if layout != "two" else "id, name, price"
            values = "4L, 'p', NULL, NULL" if layout != "two" else "4L, 'p', NULL"
            cat.sql(f"INSERT OVERWRITE lake.d.{name} PARTITION ({spec}) ({columns}) SELECT {values}")
            assert [row[0] for row in rows() if row[4] == "x y"] == ([4] if layout != "two" else [4, 9])
            assert [row[0] for row in rows() if row[4] is None] == [2]
            nothing = "NULL AS price, NULL AS day, NULL AS part"
            table.dynamic_partition_overwrite(session.sql(f"SELECT 7L AS id, 'd' AS name, {nothing}"))
            assert [row[0] for row in rows() if row[4] is None] == [7]
            assert len(rows()) == (2 if layout != "two" else 3)
            other, nulls = session.sql("SELECT 1L AS id, 'other' AS part"), {"write.missing-columns": "null"}
            with pytest.raises((PaimonError, PySparkException), match="the condition does not choose"):
                table.overwrite(other, "part = 'x y'", nulls)
        cat.sql(f"INSERT OVERWRITE lake.d.{name} SELECT * FROM lake.d.{name} WHERE false")
        assert rows() == []
        opened = open_catalog(server.options).table(f"d.{name}")
        assert isinstance(opened, FormatTable)
        assert files_of(opened) == set()
    finally:
        forget_catalogs(session)


def test_a_write_that_fails_changes_nothing(java: Genuine, server: JavaRestServer, spark: SparkSession) -> None:
    session = spark.newSession()
    cat = paimon_spark.catalog(session, server.options, name="lake")
    cat.sql("""
        CREATE TABLE lake.d.fails (id INT NOT NULL, part STRING) PARTITIONED BY (part)
        TBLPROPERTIES ('type' = 'format-table', 'format-table.partition-path-only-value' = 'true')
    """)
    cat.sql("INSERT INTO lake.d.fails VALUES (1, 'a')")
    opened = open_catalog(server.options).table("d.fails")
    assert isinstance(opened, FormatTable)
    before = files_of(opened)
    failing = session.range(0, 4000, 1, 4).selectExpr(
        "CAST(IF(id = 3999, raise_error('stop'), id) AS INT) AS id", "CAST(id % 7 AS STRING) AS part"
    )
    table = cat["d.fails"]
    for write in (table.append, table.overwrite):
        with pytest.raises(Exception, match="stop"):
            write(failing)
        assert files_of(opened) == before
    with pytest.raises((PaimonError, PySparkException), match="is null in at least 1"):
        table.append(session.sql("SELECT CAST(NULL AS INT) AS id, 'b' AS part"))
    for hidden in ("_x", ".x"):
        with pytest.raises((PaimonError, PySparkException), match="readers pass over"):
            table.append(session.sql(f"SELECT 1 AS id, '{hidden}' AS part"))
    assert files_of(opened) == before
    (Path(opened.location) / "a/.tmp.other").write_bytes(b"at work")
    table.overwrite(session.sql("SELECT 2 AS id, 'b' AS part"))
    assert (Path(opened.location) / "a/.tmp.other").exists()
    assert java.run(rows_by_java, server.options, "d", "fails") == [(2, "b")]


def _stream_from(session: SparkSession, path: str, server: JavaRestServer) -> None:
    _run(session.readStream.format("paimon").options(**open_catalog(server.options).table_options()).load(path))


def _run(stream: DataFrame) -> None:
    query = stream.writeStream.format("noop").start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def _stream_into(session: SparkSession, path: str, server: JavaRestServer, checkpoint: Path) -> None:
    rows = session.readStream.format("rate").load().selectExpr("CAST(value AS INT) AS id", "1 AS p")
    options = {**open_catalog(server.options).table_options(), "checkpointLocation": str(checkpoint)}
    query = rows.writeStream.format("paimon").options(**options).start(path)
    try:
        query.processAllAvailable()
    finally:
        query.stop()


def test_writes_that_are_refused(java: Genuine, server: JavaRestServer, spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    cat = paimon_spark.catalog(session, server.options, name="lake")
    paimon_spark.register_catalog(session, "lake", server.options)
    try:
        cat.sql("CREATE TABLE lake.d.lines (s STRING) TBLPROPERTIES ('type' = 'format-table', 'file.format' = 'text')")
        cat.sql("CREATE TABLE lake.d.files (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('type' = 'format-table')")
        _check_writes_without_spark(server)
        cases = [
            (session.sql, "INSERT INTO lake.d.lines VALUES ('a\\nb')", "has the end of a line"),
            (cat.sql, "DELETE FROM lake.d.files WHERE id = 1", "is a format table"),
            (cat.sql, "ALTER TABLE lake.d.files ADD COLUMN x INT", "is a format table"),
            (session.sql, "DELETE FROM lake.d.files WHERE id = 1", "is a format table"),
        ]
        with pytest.raises(DataError, match=r"^the column 's' has a NULL, and a line of the format"):
            cat.sql("INSERT INTO lake.d.lines VALUES ('a'), (NULL)")
        for sql, statement, words in cases:
            with pytest.raises((PaimonError, PySparkException), match=words):
                sql(statement).collect()
        cat.sql("INSERT INTO lake.d.lines VALUES ('a'), ('')")
        assert sorted(java.run(rows_by_java, server.options, "d", "lines")) == [("",), ("a",)]
        with pytest.raises(UnsupportedFeature, match="have one of none, gzip"):
            cat["d.lines"].append(session.sql("SELECT 'a' AS s"), {"file.compression": "brotli"})
        with pytest.raises(UnsupportedFeature, match="a name and number"):
            cat["d.files"].append(session.sql("SELECT 1 AS id, 1 AS p"), once=("x", 1))
        for call in (
            lambda: _run(session.readStream.table("lake.d.files")),
            lambda: _stream_from(session, "rest://lake/d/files", server),
            lambda: _stream_into(session, "rest://lake/d/files", server, tmp_path),
        ):
            with pytest.raises((PaimonError, PySparkException), match=r"format table|streaming|micro-batch"):
                call()
        session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        cat.sql("INSERT INTO lake.d.files VALUES (1, 1), (2, 2), (0, 3)")
        cat.sql("INSERT OVERWRITE lake.d.files VALUES (3, 2)")
        session.sql("INSERT OVERWRITE lake.d.files VALUES (4, 3)").collect()
        assert sorted(map(tuple, cat.sql("SELECT * FROM lake.d.files").collect())) == [(1, 1), (3, 2), (4, 3)]
    finally:
        forget_catalogs(session)


def _check_writes_without_spark(server: JavaRestServer) -> None:
    """What is not in the random histories: rows that do not fit, options, methods that a format table lacks."""
    catalog = open_catalog(server.options)
    table: Any = catalog.table("d.files")
    result = table.append({"p": [1, 2], "id": [7, None]})
    assert (result.rows, result.files) == (2, 2)
    assert sorted(map(repr, table.scan().to_arrow().to_pylist())) == ["{'id': 7, 'p': 1}", "{'id': None, 'p': 2}"]
    for error, words, call in (
        (PaimonError, "id", lambda: table.append({"p": [1]})),
        (DataError, "cast it first", lambda: table.append({"id": ["x"], "p": [1]})),
        (DataError, "does not choose", lambda: table.overwrite({"id": [1], "p": [1]}, "p = 2")),
        (UnsupportedFeature, "a row kind", lambda: table.append({"k": ["+I"]}, {"row-kind-column": "k"})),
        (OptionError, "no partitions", lambda: catalog.table("d.lines").dynamic_partition_overwrite({"s": ["a"]})),
        (UnsupportedMethod, "has no 'delete': .* append", lambda: table.delete("id = 7")),
    ):
        with pytest.raises(error, match=words):
            call()
    assert table.scan().count() == 2
    table.overwrite({"id": [], "p": []})
    assert table.scan().count() == 0
    columns, options = {"s": "STRING"}, {"type": "format-table", "file.format": "text"}
    lost: Any = catalog.new_table("d.lost", columns, options=options)
    catalog.drop_table(Identifier("d", "lost"))
    with pytest.raises(TableNotFound, match="dropped or renamed"):
        lost.append({"s": ["a"]})


def test_ways_to_make_and_write(java: Genuine, server: JavaRestServer, spark: SparkSession) -> None:
    """USING, AS, writeTo, saveAsTable, and the data source: each is read by Java."""
    session = spark.newSession()
    cat = paimon_spark.catalog(session, server.options, name="lake")
    paimon_spark.register_catalog(session, "lake", server.options)

    def rows(name: str) -> list[tuple[object, ...]]:
        return sorted(java.run(rows_by_java, server.options, "d", name), key=repr)

    def kind(name: str) -> str:
        found = open_catalog(server.options).table(f"d.{name}")
        assert isinstance(found, FormatTable)
        return found.file_format

    frame = session.sql("SELECT 1 AS id, 'a' AS p UNION ALL SELECT 2, 'b'")
    some = session.sql("SELECT 3 AS id, 'a' AS p")
    try:
        for number, sql in enumerate((cat.sql, session.sql)):
            for file_format in ("parquet", "csv"):
                name = f"as_{number}_{file_format}"
                query = "SELECT 1 AS id, 'a' AS p UNION ALL SELECT 2, 'b'"
                sql(f"CREATE TABLE lake.d.{name} USING {file_format} PARTITIONED BY (p) AS {query}").collect()
                assert (kind(name), rows(name)) == (file_format, [(1, "a"), (2, "b")])
                for other in ("USING json AS SELECT 7 AS x", "(y INT)"):
                    with pytest.raises((PaimonError, PySparkException), match="drop the table, then create it"):
                        sql(f"CREATE OR REPLACE TABLE lake.d.{name} {other}").collect()
                assert (kind(name), rows(name)) == (file_format, [(1, "a"), (2, "b")])
            sql(f"CREATE TABLE lake.d.using_{number} (id INT, p STRING) USING ORC PARTITIONED BY (p)").collect()
            assert (kind(f"using_{number}"), rows(f"using_{number}")) == ("orc", [])
        frame.writeTo("lake.d.made").using("json").partitionedBy("p").create()
        assert (kind("made"), rows("made")) == ("json", [(1, "a"), (2, "b")])
        some.writeTo("lake.d.made").overwritePartitions()
        assert rows("made") == [(2, "b"), (3, "a")]
        some.writeTo("lake.d.made").append()
        frame.where("p = 'b'").writeTo("lake.d.made").overwrite(sf.col("p") == "b")
        assert rows("made") == [(2, "b"), (3, "a"), (3, "a")]
        frame.write.insertInto("lake.d.made", overwrite=True)
        assert rows("made") == [(1, "a"), (2, "b")]
        write = some.write.format("paimon").options(**open_catalog(server.options).table_options())
        write.mode("append").save("rest://lake/d/made")
        assert rows("made") == [(1, "a"), (2, "b"), (3, "a")]
        write.mode("overwrite").option("overwrite-where", "p = 'a'").save("rest://lake/d/made")
        assert rows("made") == [(2, "b"), (3, "a")]
        session.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        again = frame.where("p = 'a'").write.format("paimon").options(**open_catalog(server.options).table_options())
        again.mode("overwrite").save("rest://lake/d/made")
        assert rows("made") == [(1, "a"), (2, "b")]
        with pytest.raises(PySparkException, match="does not choose"):
            write.mode("overwrite").option("overwrite-where", "p = 'b'").save("rest://lake/d/made")
        assert rows("made") == [(1, "a"), (2, "b")]
        assert not list(Path(open_catalog(server.options).table("d.made").location).rglob(".tmp*"))
    finally:
        forget_catalogs(session)


@pytest.mark.parametrize("layout", ["named", "values"])
def test_partitions_that_the_server_keeps(
    java: Genuine, server: JavaRestServer, spark: SparkSession, layout: str
) -> None:
    """A directory that the server does not know is no partition, and one that it knows may be lost."""
    cat = paimon_spark.catalog(spark.newSession(), server.options, name="lake")
    name, only = f"kept_{layout}", str(layout == "values").lower()
    cat.sql(f"""
        CREATE TABLE lake.d.{name} (id INT, p STRING, q INT) USING json PARTITIONED BY (p, q)
        TBLPROPERTIES ('metastore.partitioned-table' = 'true', 'format-table.partition-path-only-value' = '{only}')
    """)
    cat.sql(f"INSERT INTO lake.d.{name} VALUES (1, 'a/b', 1), (2, NULL, 2)")
    java.run(write_by_java, server.options, "d", name, [(3, "java", 3)])
    table: Any = open_catalog(server.options).table(f"d.{name}")
    unknown = Path(table.location) / ("x/7" if layout == "values" else "p=x/q=7")
    unknown.mkdir(parents=True)
    (unknown / "data-1.json").write_text('{"id":9}')

    def rows() -> list[tuple[object, ...]]:
        found = sorted(map(tuple, cat.sql(f"SELECT id, p, q FROM lake.d.{name}").collect()), key=repr)
        assert found == sorted(java.run(rows_by_java, server.options, "d", name), key=repr)
        return found

    wanted = [(1, "a/b", 1), (2, None, 2), (3, "java", 3)]
    assert rows() == wanted
    shown = [row[0] for row in cat.sql(f"SHOW PARTITIONS lake.d.{name}").collect()]
    assert len(shown) == 3
    assert cat.sql(f"SELECT id FROM lake.d.{name} WHERE p = 'java' AND q > 2").collect() == [(3,)]
    table.append({"id": [8], "p": ["x"], "q": [7]})
    assert rows() == [*wanted, (8, "x", 7), (9, "x", 7)]
    shutil.rmtree(next(one.path for one in table.partitions() if one.values["p"] == "java"))
    assert rows() == [*wanted[:2], (8, "x", 7), (9, "x", 7)]
    cat.sql(f"MSCK REPAIR TABLE lake.d.{name} DROP PARTITIONS")
    assert len(cat.sql(f"SHOW PARTITIONS lake.d.{name}").collect()) == 3
    cat.sql(f"ALTER TABLE lake.d.{name} DROP PARTITION (p = 'a/b', q = 1), PARTITION (p = NULL)")
    assert rows() == [(8, "x", 7), (9, "x", 7)]
    assert [one.values["p"] for one in table.directories()] == ["x"]
    shutil.copytree(unknown, unknown.with_name("8" if layout == "values" else "q=8"))
    shutil.rmtree(unknown)
    cat.sql(f"MSCK REPAIR TABLE lake.d.{name} SYNC PARTITIONS")
    assert rows() == [(8, "x", 8), (9, "x", 8)]
    table.overwrite({"id": [5], "p": ["n"], "q": [5]})
    assert rows() == [(5, "n", 5)]


@pytest.mark.parametrize("file_format", ["csv", "json"])
def test_java_reads_all_values_of_lines(
    java: Genuine, server: JavaRestServer, spark: SparkSession, file_format: str
) -> None:
    cat = paimon_spark.catalog(spark.newSession(), server.options, name="lake")
    columns = "s STRING, b BINARY, f FLOAT, g DOUBLE, t TIMESTAMP_NTZ, z TIMESTAMP, ok BOOLEAN"
    options = f"'type' = 'format-table', 'file.format' = '{file_format}', 'csv.null-literal' = 'NULL'"
    cat.sql(f"CREATE TABLE lake.d.all_{file_format} ({columns}) TBLPROPERTIES ({options})")
    texts = [
        "",
        " ",
        "\\",
        '"',
        'a"b',
        "a,b",
        "\\,",
        '\\"',
        "a\\b",
        "\u2003",
        "ä😀",
        "'",
        '"x"',
        '\\\\"',
        "null",
        "\ufeff",
    ]
    moment = dt.datetime(2026, 11, 1, 12, 30, 0, 5)
    rows = [(text, b"\x00\xff", 0.5, float("-inf"), moment, moment, True) for text in texts]
    rows.append((None,) * 7)
    schema = "s STRING, b BINARY, f FLOAT, g DOUBLE, t TIMESTAMP_NTZ, z TIMESTAMP, ok BOOLEAN"
    cat[f"d.all_{file_format}"].append(spark.createDataFrame(rows, schema))
    nanos = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1) * 1000
    found = java.run(rows_by_java, server.options, "d", f"all_{file_format}")
    query = f"SELECT s, b, f, g, t, z, ok FROM lake.d.all_{file_format}"
    shown = [(row[0], None if row[1] is None else bytes(row[1]), *row[2:]) for row in cat.sql(query).collect()]
    assert sorted(map(repr, shown)) == sorted(map(repr, rows))
    assert sorted(row[0] or "" for row in found) == sorted(["", *texts])
    assert {row[1:5] for row in found} == {(b"\x00\xff", 0.5, float("-inf"), nanos), (None,) * 4}
