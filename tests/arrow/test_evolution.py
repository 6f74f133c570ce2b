"""Columns of old files as columns of today: by field id, under their old names, nested fields alike, types cast."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import batches, rows_of
from support.long_runs import examples
from support.oracles.comparing import comparable
from support.tables.golden_tables import GoldenTable, expected_rows, golden_tables

from paimon_spark.arrow.evolution import map_fields
from paimon_spark.arrow.formats.data_file import open_reader
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.manifests.codec import decode_manifest
from paimon_spark.format.schema import decode_schema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

INT, BIGINT, STRING = (parse_type(t) for t in ("INT", "BIGINT", "STRING"))


def row_type(*fields: DataField) -> DataType:
    return DataType(Root.ROW, fields=fields)


def batch_of(fields: tuple[DataField, ...], *columns: list[Any]) -> pa.RecordBatch:
    arrays = [from_internal(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(fields))


def mapped(wanted: tuple[DataField, ...], old: tuple[DataField, ...], *columns: list[Any]) -> list[list[Any]]:
    """What a file with these columns reads as."""
    mapping = map_fields(wanted, old)
    positions = {field.name: i for i, field in enumerate(old)}
    stored = batch_of(old, *columns).select([positions[field.name] for field in mapping.file_fields])
    result = mapping.apply(stored)
    assert result.schema.equals(arrow_schema(wanted))
    result.validate(full=True)
    return rows_of(result)


def test_renamed_moved_added_and_dropped_columns() -> None:
    old = (DataField(0, "k", INT), DataField(1, "a", STRING), DataField(2, "gone", INT))
    new = (DataField(1, "b", STRING), DataField(3, "added", BIGINT), DataField(0, "k", INT))
    assert mapped(new, old, [1, 2], ["x", None], [7, 8]) == [["x", None, 1], [None, None, 2]]


def test_a_name_used_again_is_another_column() -> None:
    old = (DataField(0, "a", INT), DataField(1, "b", INT))
    new = (DataField(2, "a", INT), DataField(0, "b", INT))  # a dropped and added again, then the first a renamed to b
    assert mapped(new, old, [5], [6]) == [[None, 5]]


def test_files_of_the_same_columns_are_passed_through() -> None:
    fields = (DataField(0, "k", INT), DataField(1, "a", row_type(DataField(2, "x", INT))))
    mapping = map_fields(fields, fields)
    batch = batch_of(fields, [1], [(2,)])
    assert mapping.is_identity
    assert mapping.apply(batch) is batch


def test_nested_fields_follow_their_ids_at_any_depth() -> None:
    inner_old = row_type(DataField(5, "x", INT), DataField(6, "y", STRING), DataField(7, "z", INT))
    inner_new = row_type(DataField(6, "why", STRING), DataField(9, "x", INT), DataField(5, "ex", BIGINT))
    cases: list[tuple[Callable[[DataType], DataType], Any, Any]] = [
        (lambda t: t, (1, "a", 2), ["a", None, 1]),
        (lambda t: DataType(Root.ARRAY, element=t), [(1, "a", 2), None], [["a", None, 1], None]),
        (lambda t: DataType(Root.MAP, key=INT, element=t), [(3, (1, "a", 2))], [[3, ["a", None, 1]]]),
        (lambda t: row_type(DataField(8, "in", t)), ((1, "a", 2),), [["a", None, 1]]),
        (lambda t: DataType(Root.MULTISET, element=t), [((1, "a", 2), 4)], [[["a", None, 1], 4]]),
    ]
    for wrap, value, expected in cases:
        old, new = (DataField(0, "c", wrap(inner_old)),), (DataField(0, "c", wrap(inner_new)),)
        assert mapped(new, old, [value, None]) == [[expected], [None]]


def test_elements_keys_and_values_change_their_type() -> None:
    old = (
        DataField(0, "l", DataType(Root.ARRAY, element=INT)),
        DataField(1, "m", DataType(Root.MAP, key=INT, element=INT)),
    )
    new = (
        DataField(0, "l", DataType(Root.ARRAY, element=STRING)),
        DataField(1, "m", DataType(Root.MAP, key=BIGINT, element=parse_type("DECIMAL(12, 1)"))),
    )
    (row,) = mapped(new, old, [[1, None]], [[(2, 3)]])
    assert row[0] == ["1", None]
    assert [(k, str(v)) for k, v in row[1]] == [(2, "3.0")]


def test_a_change_of_nullability_alone_is_no_cast() -> None:
    mapping = map_fields((DataField(0, "a", INT),), (DataField(0, "a", INT.with_nullable(False)),))
    assert mapping.steps == (None,)
    assert mapped((DataField(0, "a", INT),), (DataField(0, "b", INT.with_nullable(False)),), [3]) == [[3]]


@pytest.mark.parametrize(
    ("old", "new"),
    [("DATE", "INT"), ("INT", "DATE"), ("BYTES", "INT"), ("BOOLEAN", "DATE"), ("TIME(3)", "DATE"), ("DOUBLE", "BYTES")],
)
def test_changes_no_cast_covers_name_the_column_and_both_types(old: str, new: str) -> None:
    wanted = (DataField(0, "now", parse_type(new)),)
    with pytest.raises(UnsupportedFeature, match=rf"'now'.*{old.split('(')[0]}.* to {new}"):
        map_fields(wanted, (DataField(0, "then", parse_type(old)),))


def test_a_text_that_is_no_number_is_an_error() -> None:
    with pytest.raises(DataError, match=r"column 'a'.*'x1'"):
        mapped((DataField(0, "a", INT),), (DataField(0, "a", STRING),), ["1", "x1"])


@settings(max_examples=examples(40))
@given(batches(max_rows=6), st.randoms(use_true_random=False))
def test_columns_and_fields_in_any_order(data: Any, random: Any) -> None:
    """Whatever is moved, renamed and dropped, each column keeps its values."""
    old, batch = data
    kept = [field for field in old if random.random() < 0.8]
    random.shuffle(kept)
    wanted = tuple(DataField(field.id, f"now_{field.id}", field.type) for field in kept)
    mapping = map_fields(wanted, old)
    result = mapping.apply(batch.select([old.index(field) for field in mapping.file_fields]))
    assert rows_of(result) == rows_of(batch.select([old.index(field) for field in kept]))


EVOLVED = [t for t in golden_tables() if t.name.startswith("schema_evo")]


@pytest.mark.parametrize("table", EVOLVED, ids=str)
def test_genuine_files_of_changed_schemas(table: GoldenTable, tmp_path: Path) -> None:
    """The files of a table with a key, each read through its schema; the newest row of a key counts."""
    root = table.unpack(tmp_path)
    schemas = {
        schema.id: schema
        for schema in (decode_schema(path.read_bytes(), str(path)) for path in (root / "schema").glob("schema-*"))
    }
    wanted = schemas[max(schemas)].fields
    manifests = [p for p in (root / "manifest").iterdir() if p.name.startswith("manifest-") and "list" not in p.name]
    entries = [e for p in manifests for e in decode_manifest(p.read_bytes(), str(p)) if e.kind == 0]
    newest: dict[Any, Any] = {}
    for entry in sorted(entries, key=lambda e: e.file.min_sequence_number):
        (path,) = root.glob(f"*/{entry.file.file_name}")
        mapping = map_fields(wanted, schemas[entry.file.schema_id].fields)
        reader = open_reader(pa.OSFile(str(path)), path.suffix[1:], str(path))
        for _, batch in reader.read(mapping.file_fields, 100):
            read = mapping.apply(batch)
            newest |= {read.column(0)[i].as_py(): read.slice(i, 1) for i in range(read.num_rows)}
    found = comparable(pa.Table.from_batches(newest.values(), arrow_schema(wanted)))
    assert wanted[0].name == "k"
    assert found == expected_rows(table.expectation()["rows"], [field.type for field in wanted])
