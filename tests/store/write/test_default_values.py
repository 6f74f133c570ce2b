"""Default values of columns, which stand where a row has null (Java: DefaultValueUtils)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import SchemaError
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

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


@pytest.mark.parametrize(
    ("data_type", "default"),
    [
        ("INT", "seven"),
        ("INT", "NULL"),
        ("BIGINT", "5L"),
        ("DATE", "DATE '2025-01-01'"),
        ("TIMESTAMP(6)", "current_timestamp()"),
        ("VARCHAR(2)", "'abc'"),
        ("ARRAY<INT>", "MAP(1, 2)"),
        ("ARRAY<INT>", "ARRAY(1, NULL)"),
        ("ARRAY<DATE>", "ARRAY('2025-01-01')"),
        ("MAP<INT, INT>", "MAP(1)"),
        ("MAP<INT, INT>", "{1 = 2}"),
        ("ROW<x INT, y INT>", "STRUCT(1)"),
        ("ROW<x INT, y INT>", "NAMED_STRUCT('x', 1, 'y', 2)"),
    ],
)
def test_a_table_takes_no_default_that_it_cannot_store(tmp_path: Path, data_type: str, default: str) -> None:
    fields, highest = assign_field_ids([DataField(0, "n", parse_type(data_type), default_value=default)])
    with pytest.raises(SchemaError, match=rf"default value {re.escape(default)} of column 'n' is"):
        create_table(str(tmp_path / "t"), TableSchema(0, fields, highest, (), (), {}, None))
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("data_type", "default", "expected"),
    [
        ("ARRAY<INT>", "[1, 2]", [1, 2]),
        ("ARRAY<INT>", "array ( 1 , null )", [1, None]),
        ("ARRAY<STRING>", "ARRAY()", []),
        ("ARRAY<STRING>", "ARRAY('a, b', \"c\", 'it''s')", ["a, b", "c", "it's"]),
        ("ARRAY<STRING>", "[a b, c]", ["a b", "c"]),
        ("ARRAY<ARRAY<INT>>", "[[1], [2, 3]]", [[1], [2, 3]]),
        ("ARRAY<DATE>", "[2025-01-02]", [date(2025, 1, 2)]),
        ("ARRAY<DOUBLE>", "ARRAY(1.5D, 2)", [1.5, 2.0]),
        ("MAP<STRING, INT>", "{a -> 1, b->2}", [("a", 1), ("b", 2)]),
        ("MAP<INT, ARRAY<STRING>>", "MAP(1, ARRAY('a', 'b'))", [(1, ["a", "b"])]),
        ("ROW<x INT, y STRING>", "STRUCT(42, 'default_value')", {"x": 42, "y": "default_value"}),
        ("ROW<x INT, y STRING>", "{42, null}", {"x": 42, "y": None}),
        ("ROW<x ROW<y INT>, z ARRAY<INT>>", "STRUCT(STRUCT(1), ARRAY(1, 2))", {"x": {"y": 1}, "z": [1, 2]}),
    ],
)
def test_default_values_of_arrays_maps_and_rows(tmp_path: Path, data_type: str, default: str, expected: object) -> None:
    fields = (DataField(0, "id", parse_type("INT")), DataField(1, "n", parse_type(data_type), default_value=default))
    numbered, highest = assign_field_ids(fields)
    create_table(str(tmp_path), TableSchema(0, numbered, highest, (), (), {}, None))
    table = open_table(str(tmp_path))
    put(table, [(1, None), (2, expected), (3, None)])
    assert rows_of(table) == [(1, expected), (2, expected), (3, expected)]
