"""Data files of genuine writers, every type in every format, read equal to what the genuine reader returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.oracles.comparing import Row, comparable
from support.tables.golden_tables import GoldenTable, expected_rows, golden_tables

from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.manifests.codec import decode_manifest
from paimon_spark.format.schema import (
    SEQUENCE_NUMBER,
    SEQUENCE_NUMBER_ID,
    VALUE_KIND,
    VALUE_KIND_ID,
    TableSchema,
    decode_schema,
)
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

APPEND = [t for t in golden_tables() if t.name.startswith(("types_", "neg_ts_", "tz_"))]
KEYED = [t for t in golden_tables() if t.name.startswith("pktypes_")]
SYSTEM = (
    DataField(SEQUENCE_NUMBER_ID, SEQUENCE_NUMBER, DataType(Root.BIGINT, False)),
    DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False)),
)


def schema_of(table: Path) -> TableSchema:
    path = table / "schema" / "schema-0"
    return decode_schema(path.read_bytes(), str(path))


def data_files(table: Path) -> Iterator[Path]:
    """The files that some manifest adds and none deletes."""
    manifests = [p for p in (table / "manifest").iterdir() if p.name.startswith("manifest-") and "list" not in p.name]
    entries = [entry for path in manifests for entry in decode_manifest(path.read_bytes(), str(path))]
    gone = {(e.file.file_name, e.file.level) for e in entries if e.kind == FileKind.DELETE}
    for name in sorted({e.file.file_name for e in entries if (e.file.file_name, e.file.level) not in gone}):
        yield from table.glob(f"*/{name}")


def read_all(path: Path, fields: tuple[DataField, ...], batch_rows: int = 2) -> pa.Table:
    reader = open_reader(pa.OSFile(str(path)), path.suffix[1:], str(path))
    schema = arrow_schema(fields)
    batches, position = [], 0
    for first, batch in reader.read(fields, batch_rows):
        assert first == position
        assert batch.schema.equals(schema)
        batch.validate(full=True)
        position += batch.num_rows
        batches.append(batch)
    assert position == reader.row_count == sum(group.row_count for group in reader.row_groups)
    reader.close()
    return pa.Table.from_batches(batches, schema)


def expected(table: GoldenTable, fields: tuple[DataField, ...]) -> Counter[Row]:
    found = table.expectation()
    types = [parse_type(t) for t in found["types"]] if "types" in found else [field.type for field in fields]
    return expected_rows(found["rows"], types)


def test_the_tables_are_there() -> None:
    assert {t.name for t in APPEND} >= {f"types_{f}" for f in ("parquet", "orc", "avro")} | {"neg_ts_orc"}
    assert {t.name for t in KEYED} == {f"pktypes_{f}" for f in ("parquet", "orc", "avro")}


@pytest.mark.parametrize("table", APPEND, ids=str)
def test_files_of_append_tables(table: GoldenTable, tmp_path: Path) -> None:
    root = table.unpack(tmp_path)
    fields = schema_of(root).fields
    tables = [read_all(path, fields) for path in data_files(root)]
    assert comparable(pa.concat_tables(tables)) == expected(table, fields)


@pytest.mark.parametrize("table", KEYED, ids=str)
def test_files_of_tables_with_keys(table: GoldenTable, tmp_path: Path) -> None:
    root = table.unpack(tmp_path)
    fields = schema_of(root).fields
    stored = pa.concat_tables([read_all(path, (*SYSTEM, *fields), 1) for path in data_files(root)])
    newest: dict[Any, int] = {}
    for i, (key, number) in enumerate(zip(stored["id"].to_pylist(), stored[SEQUENCE_NUMBER].to_pylist(), strict=True)):
        if key not in newest or number > stored[SEQUENCE_NUMBER][newest[key]].as_py():
            newest[key] = i
    live = [i for i in newest.values() if stored[VALUE_KIND][i].as_py() in (0, 2)]
    assert comparable(stored.take(pa.array(live)).select([f.name for f in fields])) == expected(table, fields)


@pytest.mark.parametrize("table", [t for t in APPEND if t.name.startswith("types_")], ids=str)
def test_columns_in_any_order_and_columns_the_file_lacks(table: GoldenTable, tmp_path: Path) -> None:
    root = table.unpack(tmp_path)
    fields = schema_of(root).fields
    absent = DataField(999, "absent", DataType(Root.MAP, key=DataType(Root.INT, False), element=DataType(Root.DATE)))
    wanted = (absent, *reversed(fields))
    for path in data_files(root):
        whole, turned = read_all(path, fields), read_all(path, wanted)
        assert turned["absent"].null_count == whole.num_rows
        assert comparable(turned.select([f.name for f in fields])) == comparable(whole)


@pytest.mark.parametrize("table", [t for t in APPEND if t.name.startswith("types_")], ids=str)
def test_no_columns_still_count_rows(table: GoldenTable, tmp_path: Path) -> None:
    found = 0
    for path in data_files(table.unpack(tmp_path)):
        reader = open_reader(pa.OSFile(str(path)), path.suffix[1:], str(path))
        assert sum(batch.num_rows for _, batch in reader.read((), 2)) == reader.row_count
        found += reader.row_count
    assert found > 1
