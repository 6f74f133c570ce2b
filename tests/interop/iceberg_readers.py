"""Rows of a table as readers of Iceberg see them: pyiceberg, DuckDB, and Iceberg's own library of Java.

DuckDB's extension is of one release of DuckDB. ``PAIMON_DUCKDB`` names a Python that has both (``pip install
duckdb-ext-iceberg duckdb-ext-avro pyarrow``). ``PAIMON_ICEBERG_LIBRARY=1`` asks for the library, whose jar comes as
that of Java Paimon does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from genuine_jars import java_jar, spark_jars
from pyiceberg.table import StaticTable
from support.oracles.comparing import Row, comparable

from paimon_spark.store.iceberg.place import metadata_directory
from paimon_spark.store.metadata.table import Table

DUCKDB = os.environ.get("PAIMON_DUCKDB")
_DUCK = """
import sys, pathlib, duckdb, duckdb_ext, pyarrow as pa
found = {p.stem: p for p in pathlib.Path(next(iter(duckdb_ext.__path__))).rglob("*.duckdb_extension")}
connection = duckdb.connect()
connection.execute("set timezone = 'UTC'")
for name in ("avro", "parquet", "iceberg"):
    connection.execute(f"load '{found[name]}'" if name in found else f"load {name}")
for line in sys.stdin:
    path, _, snapshot = line.rstrip("\\n").rpartition("\\t")
    given = f", snapshot_from_id={snapshot}" if snapshot else ""
    try:
        rows = connection.execute(f"select * from iceberg_scan('{path}'{given})").fetch_arrow_table()
    except Exception as error:
        print("!", repr(error).replace("\\n", " "), flush=True)
        continue
    with pa.OSFile(sys.argv[1], "wb") as file, pa.ipc.new_stream(file, rows.schema) as out:
        out.write_table(rows)
    print("ok", flush=True)
"""
LIBRARY = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1"
_SPARK_JARS = ("hadoop-client-api", "hadoop-client-runtime", "slf4j-api", "snappy-java", "zstd-jni")
_LIBRARY = """
import json, sys, jpype
jpype.startJVM(classpath=sys.argv[1:])
org = jpype.JPackage("org")
files = org.apache.iceberg.hadoop.HadoopFileIO(org.apache.hadoop.conf.Configuration())
def rows(path, snapshot):
    table = org.apache.iceberg.BaseTable(org.apache.iceberg.StaticTableOperations(path, files), path)
    names = [str(field.name()) for field in table.schema().columns()]
    builder = org.apache.iceberg.data.IcebergGenerics.read(table)
    found = (builder.useSnapshot(int(snapshot)) if snapshot else builder).build()
    if snapshot:
        names = [str(f.name()) for f in org.apache.iceberg.util.SnapshotUtil.schemaFor(table, int(snapshot)).columns()]
    values = ((name, record.getField(name)) for record in found.iterator() for name in names)
    texts = [(name, None if value is None else str(value)) for name, value in values]
    return [dict(texts[i : i + len(names)]) for i in range(0, len(texts), len(names))]
for line in sys.stdin:
    path, _, snapshot = line.rstrip("\\n").rpartition("\\t")
    try:
        print(json.dumps(rows(path, snapshot)), flush=True)
    except Exception as error:
        print(json.dumps(repr(error)), flush=True)
"""


def newest(table: Table) -> str:
    """The path of the metadata file that the hint names."""
    directory = metadata_directory(table)
    assert directory is not None
    return f"{directory}/v{Path(directory, 'version-hint.text').read_text()}.metadata.json"


def pyiceberg_rows(table: Table, snapshot: int | None = None, **scan: Any) -> pa.Table:
    return StaticTable.from_metadata(newest(table)).scan(snapshot_id=snapshot, **scan).to_arrow()


def known_snapshots(table: Table) -> list[int]:
    """The ids of the snapshots that the metadata name."""
    return [found.snapshot_id for found in StaticTable.from_metadata(newest(table)).metadata.snapshots]


def same_types(rows: pa.Table, as_of: pa.Schema) -> pa.Table:
    """Rows with the columns and types of another schema: Iceberg has fewer types."""
    columns = []
    for field in as_of:
        column = rows.column(field.name)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pa.table(columns, schema=pa.schema([f.with_nullable(True) for f in as_of]))


def ours(table: Table, options: Mapping[str, str]) -> pa.Table:
    return table.with_options(options).scan().to_arrow()  # type: ignore[attr-defined]


def assert_equal(theirs: pa.Table, expected: pa.Table) -> None:
    """Raises AssertionError unless two tables have the same rows."""
    assert theirs.column_names == expected.column_names
    assert _rows(same_types(theirs, expected.schema)) == _rows(expected)


def _rows(table: pa.Table) -> Counter[Row]:
    return comparable(table)


class _Child:
    """A reader in a process of its own: a path and a snapshot go in, in one line, and one line comes out."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, path: str, snapshot: int | None) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{path}\t{snapshot or ''}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline().rstrip("\n")

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Reader(Protocol):
    """A reader of Iceberg."""

    reads_vectors: bool

    def assert_reads(self, table: Table, snapshot: int | None, expected: pa.Table) -> None:
        """Raises AssertionError unless it finds these rows, in the latest snapshot or another one."""
        ...

    def stop(self) -> None: ...


class PyIceberg:
    """pyiceberg, which reads no deletion vectors that lie in a file without a footer of Puffin."""

    reads_vectors = False

    def assert_reads(self, table: Table, snapshot: int | None, expected: pa.Table) -> None:
        assert_equal(pyiceberg_rows(table, snapshot), expected)

    def stop(self) -> None:
        """Nothing runs."""


class Duck:
    """DuckDB in a process of its own."""

    reads_vectors = True

    def __init__(self, python: str, folder: Path) -> None:
        self._file = folder / "rows.arrow"
        self._child = _Child(python, "-c", _DUCK, str(self._file))

    def assert_reads(self, table: Table, snapshot: int | None, expected: pa.Table) -> None:
        answer = self._child.ask(newest(table), snapshot)
        assert answer == "ok", answer
        with pa.OSFile(str(self._file)) as file:
            assert_equal(pa.ipc.open_stream(file).read_all(), expected)

    def stop(self) -> None:
        self._child.stop()


class Library:
    """Iceberg's own library of Java. Values are compared whose text is the same in Java and Python, and all counts."""

    reads_vectors = True

    def __init__(self) -> None:
        jars = [str(java_jar(LIBRARY)), *spark_jars(*_SPARK_JARS)]
        self._child = _Child(sys.executable, "-c", _LIBRARY, *jars)

    def assert_reads(self, table: Table, snapshot: int | None, expected: pa.Table) -> None:
        answer = json.loads(self._child.ask(newest(table), snapshot))
        assert isinstance(answer, list), answer
        columns = [name for name in expected.column_names if _has_plain_text(expected.schema.field(name).type)]
        rows = expected.select(columns).to_pylist()
        texts = [tuple(None if v is None else str(v) for v in row.values()) for row in rows]
        assert Counter(tuple(row[name] for name in columns) for row in answer) == Counter(texts)

    def stop(self) -> None:
        self._child.stop()


def _has_plain_text(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(data_type) or pa.types.is_string(data_type) or pa.types.is_date(data_type))


@contextmanager
def other_readers(folder: Path) -> Iterator[list[Reader]]:
    """pyiceberg, and the readers that variables of the environment ask for."""
    readers: list[Reader] = [PyIceberg()]
    if DUCKDB is not None:
        readers.append(Duck(DUCKDB, folder))
    if os.environ.get("PAIMON_ICEBERG_LIBRARY") == "1":
        readers.append(Library())
    try:
        yield readers
    finally:
        for reader in readers:
            reader.stop()
