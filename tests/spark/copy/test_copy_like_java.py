"""COPY INTO returns and stores what the official connector does.

The results in RESULTS and ROWS were recorded from paimon-spark-4.1_2.13-2.0.0 on Spark 4.1, which listed the files in
another order: here they are sorted by name. Where this package differs on purpose, test_copy_differs.py says so.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from paimon_spark.errors import DataError, PaimonError
from paimon_spark.spark.catalog.session_catalog import SessionCatalog, catalog

CAST = "Cast failure in column '{}'. Source data contains values that cannot be converted to the target type."
PLAIN = "id INT, name STRING, v DOUBLE"
TEXTS: dict[str, bytes] = {
    "plain/a.csv": b"1,one,1.5\n2,two,2.5\n",
    "plain/b.csv": b"3,three,3.5\n",
    "plain/empty.csv": b"",
    "plain/sub/c.csv": b"9,nine,9.5\n",
    "bad/good.csv": b"1,one,1.5\n2,two,2.5\n",
    "bad/mixed.csv": b"3,three,3.5\nx,bad,1.0\n4,four\n5,five,5.5,extra\n6,six,6.5\n7,seven,y\n",
    "bad/allbad.csv": b"x,y,z\n",
    "hdr/h.csv": b"id;name;v\n1;'it;s';1\n2;\\N;2\n3;;3\n4;'';4\n",
    "json/a.json": b'{"id":1,"name":"one","v":1.5}\n{"name":"two","id":"2"}\n{"ID":3,"name":{"x":1},"v":true}\n'
    b'{"id":4,"name":"","v":null,"more":1}\n',
    "json/bad.json": b'{"id":5,"name":"five"}\nnot json\n{"id":"q","name":"six"}\n',
    "jarr/a.json": b'[{"id":1,"name":"one"},\n{"id":2,"name":"NULL"}]',
    "gz/a.csv.gz": gzip.compress(b"1,one,1\n2,two,2\n"),
    "two/a.csv": b"1,one\n2,two\n",
    "nulls/a.csv": b"1,\n,two\n",
}

# the columns of the table, the statement behind COPY INTO t, what it returns, the rows of the table behind it
RESULTS: dict[str, tuple[str, str, list[tuple[Any, ...]], list[tuple[Any, ...]]]] = {
    "a directory, without its directories": (
        PLAIN,
        "FROM '$I/plain' FILE_FORMAT = (TYPE = CSV)",
        [
            ("a.csv", "LOADED", 2, 2, 0, None),
            ("b.csv", "LOADED", 1, 1, 0, None),
            ("empty.csv", "LOADED", 0, 0, 0, None),
        ],
        [(1, "one", 1.5), (2, "two", 2.5), (3, "three", 3.5)],
    ),
    "good rows of bad files": (
        PLAIN,
        "FROM '$I/bad' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE",
        [
            ("allbad.csv", "LOAD_FAILED", 0, 1, 1, CAST.format("id")),
            ("good.csv", "LOADED", 2, 2, 0, None),
            ("mixed.csv", "PARTIALLY_LOADED", 2, 6, 4, "Malformed record: 4,four"),
        ],
        [(1, "one", 1.5), (2, "two", 2.5), (3, "three", 3.5), (6, "six", 6.5)],
    ),
    "good files alone": (
        PLAIN,
        "FROM '$I/bad' FILE_FORMAT = (TYPE = CSV) ON_ERROR = SKIP_FILE",
        [
            ("allbad.csv", "LOAD_FAILED", 0, 1, 1, CAST.format("id")),
            ("good.csv", "LOADED", 2, 2, 0, None),
            ("mixed.csv", "LOAD_FAILED", 0, 6, 4, "Malformed record: 4,four"),
        ],
        [(1, "one", 1.5), (2, "two", 2.5)],
    ),
    "a header, a delimiter, a quote and texts for NULL": (
        "id INT, name STRING, v INT",
        r"FROM '$I/hdr' FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 1, FIELD_DELIMITER = ';', QUOTE = '\'', "
        r"NULL_IF = ('\\N'))",
        [("h.csv", "LOADED", 4, 4, 0, None)],
        [(1, "it;s", 1), (2, None, 2), (3, None, 3), (4, None, 4)],
    ),
    "JSON by name": (
        "id INT, name STRING, v STRING",
        "FROM '$I/json' FILE_FORMAT = (TYPE = JSON) ON_ERROR = CONTINUE",
        [
            ("a.json", "LOADED", 4, 4, 0, None),
            ("bad.json", "PARTIALLY_LOADED", 1, 3, 2, "Malformed record: not json"),
        ],
        [(None, '{"x":1}', "true"), (1, "one", "1.5"), (2, "two", None), (4, "", None), (5, "five", None)],
    ),
    "JSON over several lines": (
        PLAIN,
        "FROM '$I/jarr' FILE_FORMAT = (TYPE = JSON, MULTI_LINE = TRUE, NULL_IF = ('NULL'))",
        [("a.json", "LOADED", 2, 2, 0, None)],
        [(1, "one", None), (2, None, None)],
    ),
    "compressed": (
        PLAIN,
        "FROM '$I/gz/a.csv.gz' FILE_FORMAT = (TYPE = CSV)",
        [("a.csv.gz", "LOADED", 2, 2, 0, None)],
        [(1, "one", 1.0), (2, "two", 2.0)],
    ),
    "some columns": (
        "id INT, name STRING, v DOUBLE DEFAULT 2.5, w STRING",
        "(NAME, id) FROM '$I/two' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE",
        [("a.csv", "LOAD_FAILED", 0, 2, 2, CAST.format("id"))],
        [],
    ),
    "columns without values get their defaults": (
        "id INT, name STRING, v DOUBLE DEFAULT 2.5, w STRING",
        "(ID, name) FROM '$I/two' FILE_FORMAT = (TYPE = CSV)",
        [("a.csv", "LOADED", 2, 2, 0, None)],
        [(1, "one", 2.5, None), (2, "two", 2.5, None)],
    ),
    "Parquet by name": (
        PLAIN,
        "FROM '$I/pq' FILE_FORMAT = (TYPE = PARQUET) PATTERN = '^a.*\\.parquet$'",
        [("a.parquet", "LOADED", 2, 2, 0, None)],
        [(1, "one", None), (2, "two", None)],
    ),
    "Parquet with bad values": (
        PLAIN,
        "FROM '$I/pq2' FILE_FORMAT = (TYPE = PARQUET) ON_ERROR = CONTINUE",
        [("a.parquet", "PARTIALLY_LOADED", 1, 2, 1, CAST.format("id"))],
        [(1, None, 1.5)],
    ),
}

REFUSED = {
    "a bad row": (PLAIN, "FROM '$I/bad' FILE_FORMAT = (TYPE = CSV)", "1 of 1 rows of allbad.csv.*Cast failure"),
    "bad JSON": ("id INT, name STRING", "FROM '$I/json' FILE_FORMAT = (TYPE = JSON)", "bad.json.*Malformed record"),
    "nothing there": (PLAIN, "FROM '$I/nowhere' FILE_FORMAT = (TYPE = CSV)", "no file and no directory at"),
    "no pattern": (PLAIN, "FROM '$I/plain' FILE_FORMAT = (TYPE = CSV) PATTERN = '('", "no regular expression"),
    "two lines of header": (PLAIN, "FROM '$I/hdr' FILE_FORMAT = (TYPE = CSV, SKIP_HEADER = 2)", "it is 0 or 1"),
    "an unknown option": (PLAIN, "FROM '$I/hdr' FILE_FORMAT = (TYPE = CSV, FOO = 2)", "FOO"),
    "an unknown column": (PLAIN, "(id, nope) FROM '$I/two' FILE_FORMAT = (TYPE = CSV)", "nope is no column"),
    "a column twice": (PLAIN, "(id, ID) FROM '$I/two' FILE_FORMAT = (TYPE = CSV)", "id more than once"),
    "a column that needs a value": (
        "id INT, name STRING NOT NULL",
        "(id) FROM '$I/two' FILE_FORMAT = (TYPE = CSV)",
        "'name' is NOT NULL",
    ),
    "an array": ("id INT, name ARRAY<STRING>", "FROM '$I/two' FILE_FORMAT = (TYPE = CSV)", "'name' is array<string>"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("in")
    for name, data in TEXTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    for folder in ("pq", "pq2"):
        (root / folder).mkdir()
    upper = pa.table({"ID": pa.array([1, 2], pa.int64()), "name": ["one", "two"], "extra": [1, 2]})
    pq.write_table(upper, root / "pq/a.parquet")
    pq.write_table(pa.table({"id": ["1", "x"], "v": ["1.5", None]}), root / "pq2/a.parquet")
    return root


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SessionCatalog:
    found = catalog(spark, str(tmp_path_factory.mktemp("lake")))
    found.create_database("d")
    return found


def stored(lake: SessionCatalog, name: str) -> list[tuple[Any, ...]]:
    """The rows of a table, read without Spark."""
    table = lake.catalog.load_table(lake._identifier(name)).scan().to_arrow()
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return sorted(rows, key=lambda row: (row[0] is not None, row[0]))


@pytest.mark.parametrize("case", RESULTS)
def test_results(lake: SessionCatalog, files: Path, case: str) -> None:
    columns, text, results, rows = RESULTS[case]
    name = f"d.t{list(RESULTS).index(case)}"
    lake.sql(f"CREATE TABLE paimon.{name} ({columns})")
    found = lake.sql(f"COPY INTO paimon.{name} {text.replace('$I', str(files))}")
    assert [tuple(row) for row in found.collect()] == results
    assert stored(lake, name) == rows


@pytest.mark.parametrize("case", REFUSED)
def test_refused(lake: SessionCatalog, files: Path, case: str) -> None:
    columns, text, told = REFUSED[case]
    name = f"d.r{list(REFUSED).index(case)}"
    lake.sql(f"CREATE TABLE paimon.{name} ({columns})")
    with pytest.raises(PaimonError, match=told):
        lake.sql(f"COPY INTO paimon.{name} {text.replace('$I', str(files))}")
    assert lake[name].history().columns
    assert lake.catalog.load_table(lake._identifier(name)).snapshots.latest_id() is None


def test_loaded_files_are_skipped_until_they_change(lake: SessionCatalog, tmp_path: Path) -> None:
    lake.sql(f"CREATE TABLE paimon.d.again ({PLAIN}) TBLPROPERTIES ('primary-key' = 'id', 'bucket' = '1')")
    (tmp_path / "a.csv").write_text("1,one,1.5\n")
    (tmp_path / "b.csv").write_text("2,two,2.5\n")
    text = f"COPY INTO paimon.d.again FROM '{tmp_path}' FILE_FORMAT = (TYPE = CSV)"
    found = lake.sql(text)
    assert found.schema.simpleString() == (
        "struct<file_name:string,status:string,rows_loaded:bigint,rows_parsed:bigint,errors_seen:bigint,"
        "first_error:string>"
    )
    (tmp_path / "a.csv").write_text("1,one,1.5\n3,three,3.5\n")
    assert [tuple(row) for row in lake.sql(text).collect()] == [
        ("a.csv", "LOADED", 2, 2, 0, None),
        ("b.csv", "SKIPPED", 0, 0, 0, None),
    ]
    assert [row.status for row in lake.sql(f"{text} PATTERN = 'b' FORCE = TRUE").collect()] == ["LOADED"]
    assert stored(lake, "d.again") == [(1, "one", 1.5), (2, "two", 2.5), (3, "three", 3.5)]


def test_a_null_in_a_column_that_must_not_be_null_fails_the_statement(lake: SessionCatalog, files: Path) -> None:
    """The official connector fails too (NOT_NULL_ASSERT_VIOLATION); no file counts as loaded."""
    lake.sql("CREATE TABLE paimon.d.nulls (id INT NOT NULL, name STRING)")
    text = f"COPY INTO paimon.d.nulls FROM '{files}/nulls' FILE_FORMAT = (TYPE = CSV) ON_ERROR = CONTINUE"
    with pytest.raises(Exception, match="'id'"):
        lake.sql(text)
    history = Path(lake.catalog.table_location(lake._identifier("d.nulls"))) / "copy-into/history"
    assert list(history.iterdir()) == []


def test_exports(lake: SessionCatalog, spark: SparkSession, tmp_path: Path) -> None:
    lake.sql("CREATE TABLE paimon.d.out (id INT, name STRING)")
    lake.sql("INSERT INTO paimon.d.out VALUES (1, 'it''s |'), (2, NULL)")
    csv = (
        f"COPY INTO '{tmp_path}/csv' FROM paimon.d.out FILE_FORMAT = (TYPE = CSV, HEADER = TRUE, FIELD_DELIMITER = '|')"
    )
    found = lake.sql(csv)
    assert found.schema.simpleString() == "struct<output_path:string,file_count:int,rows_written:bigint>"
    parts = list((tmp_path / "csv").glob("part-*"))
    assert [tuple(row) for row in found.collect()] == [(f"{tmp_path}/csv", len(parts), 2)]
    lines = {line for part in parts for line in part.read_text().splitlines()}
    assert lines == {"id|name", '1|"it\'s |"', "2|"}
    with pytest.raises(PaimonError, match="OVERWRITE = TRUE"):
        lake.sql(csv)
    none = f"COPY INTO '{tmp_path}/csv' FROM (SELECT * FROM paimon.d.out WHERE false) FILE_FORMAT = (TYPE = CSV)"
    assert [row.rows_written for row in lake.sql(f"{none} OVERWRITE = TRUE").collect()] == [0]
    json = (
        f"COPY INTO '{tmp_path}/json' FROM (SELECT date '2024-01-02' d, timestamp '2024-01-02 03:04:05' t) "
        "FILE_FORMAT = (TYPE = JSON, DATE_FORMAT = 'dd.MM.yyyy', TIMESTAMP_FORMAT = 'HH:mm')"
    )
    lake.sql(json)
    written = [part.read_text() for part in (tmp_path / "json").glob("part-*")]
    assert written == ['{"d":"02.01.2024","t":"03:04"}\n']


def test_a_table_is_not_overwritten_by_its_rows(lake: SessionCatalog) -> None:
    lake.sql("CREATE TABLE paimon.d.source (id INT, name STRING)")
    lake.sql("INSERT INTO paimon.d.source VALUES (1, 'one'), (2, NULL)")
    location = lake.catalog.table_location(lake._identifier("d.source"))
    for path in (location, f"{location}/x", str(Path(location).parent)):
        with pytest.raises(PaimonError, match="directory of the table"):
            lake.sql(f"COPY INTO '{path}' FROM paimon.d.source FILE_FORMAT = (TYPE = CSV) OVERWRITE = TRUE")
    assert len(stored(lake, "d.source")) == 2


def test_errors_are_of_the_class_of_their_cause(lake: SessionCatalog, files: Path) -> None:
    lake.sql(f"CREATE TABLE paimon.d.errors ({PLAIN})")
    with pytest.raises(DataError, match="SKIP_FILE"):
        lake.sql(f"COPY INTO paimon.d.errors FROM '{files}/bad' FILE_FORMAT = (TYPE = CSV)")
