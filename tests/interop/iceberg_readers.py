"""Rows of a table as readers of Iceberg see them: pyiceberg, and DuckDB in a Python of its own.

DuckDB and its extension are larger than all other libraries of the tests. ``PAIMON_DUCKDB`` names a Python that has
them (``pip install duckdb-ext-iceberg duckdb-ext-avro pyarrow``).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import StaticTable
from support.oracles.comparing import Row, comparable

from paimon_spark.store.iceberg.place import metadata_directory
from paimon_spark.store.metadata.table import Table

DUCKDB = os.environ.get("PAIMON_DUCKDB")
_WORKER = """
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


class Duck:
    """DuckDB in a process of its own."""

    def __init__(self, python: str, folder: Path) -> None:
        self._file = folder / "rows.arrow"
        command = [python, "-c", _WORKER, str(self._file)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rows(self, table: Table, snapshot: int | None = None) -> pa.Table:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{newest(table)}\t{snapshot or ''}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer == "ok\n", answer
        with pa.OSFile(str(self._file)) as file:
            return pa.ipc.open_stream(file).read_all()

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def duck(folder: Path) -> Iterator[Duck | None]:
    """DuckDB if a Python was named that has it."""
    if DUCKDB is None:
        yield None
        return
    made = Duck(DUCKDB, folder)
    try:
        yield made
    finally:
        made.stop()
        assert sys.exc_info()[0] is not None or made._process.returncode == 0
