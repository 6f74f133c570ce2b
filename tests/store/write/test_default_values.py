"""Default values of columns, which stand where a row has null (Java: DefaultValueUtils)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.schema import TableSchema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import open_table
from paimon_spark.store.write.table_write import TableWrite

Row = tuple[Any, ...]


def make(path: Path, schema: TableSchema, **defaults: str) -> Table:
    fields = tuple(replace(f, default_value=defaults.get(f.name)) for f in schema.fields)
    create_table(str(path), replace(schema, fields=fields))
    return open_table(str(path))


def put(table: Table, rows: Sequence[Row]) -> None:
    task, schema = TableWrite(table, f"user-{table.snapshots.latest_id()}"), arrow_schema(table.schema.fields)
    arrays = [pa.array(list(column), f.type) for column, f in zip(zip(*rows, strict=True), schema, strict=True)]
    task.write(pa.RecordBatch.from_arrays(arrays, schema=schema))
    TableCommit(table, f"user-{table.snapshots.latest_id()}").append(task.finish())


def rows_of(table: Table) -> list[Row]:
    return sorted((tuple(row.values()) for row in table.scan().to_arrow().to_pylist()), key=repr)


def test_default_values_replace_nulls(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("s", pa.string()), ("d", pa.date32())])
    table = make(tmp_path, new_schema(columns, ("id",), (), {"bucket": "1"}), n="7", s="'it''s'", d="'2024-02-29'")
    put(table, [(1, None, None, None), (2, 3, "x", date(2020, 1, 1))])
    assert rows_of(table) == [(1, 7, "it''s", date(2024, 2, 29)), (2, 3, "x", date(2020, 1, 1))]


def test_a_default_value_that_does_not_fit(tmp_path: Path) -> None:
    table = make(tmp_path, new_schema(pa.schema([("id", pa.int64()), ("n", pa.int32())])), n="seven")
    with pytest.raises(SchemaError, match="default value seven of column 'n'"):
        TableWrite(table, "u")


@pytest.mark.parametrize(
    ("nested", "value", "default"),
    [
        (pa.list_(pa.int32()), [1], "[1, 2]"),
        (pa.map_(pa.string(), pa.int32()), [("a", 1)], "{a -> 1}"),
        (pa.struct([("x", pa.int32())]), {"x": 1}, "{1}"),
    ],
)
def test_a_nested_default_value_is_refused_only_where_it_is_needed(
    tmp_path: Path, nested: pa.DataType, value: Any, default: str
) -> None:
    table = make(tmp_path, new_schema(pa.schema([("id", pa.int64()), ("n", nested)])), n=default)
    put(table, [(1, value)])
    assert rows_of(table) == [(1, value)]
    with pytest.raises(UnsupportedFeature, match=r"column 'n' is null in 1 of 2 rows and has a default.*give") as e:
        put(table, [(2, value), (3, None)])
    assert "old files" not in str(e.value)
