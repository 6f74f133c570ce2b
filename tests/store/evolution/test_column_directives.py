"""Columns whose comment makes them BLOB or VECTOR, and what becomes of such columns (Java: ColumnDirectiveUtils)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from paimon_spark.catalogs.create import new_schema
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField
from paimon_spark.store.evolution.changed_schema import changed_schema
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.writes.table_creation import create


def schema(columns: Mapping[str, str], options: Mapping[str, str]) -> TableSchema:
    return new_schema(columns, options=options)


def changed(before: TableSchema, update: Callable[[SchemaUpdate], object]) -> TableSchema:
    collected = SchemaUpdate()
    update(collected)
    return changed_schema(before, collected.changes, lambda: True, True)


def columns(found: TableSchema) -> str:
    return ", ".join(f"{field.name} {type_sql(field.type)}" for field in found.fields)


def test_comments_that_ask_for_a_type() -> None:
    """They name the column in an option, which a dropped column leaves (Java: ColumnDirectiveUtils)."""
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob-field": "a"}
    before = schema({"k": "INT", "a": "BLOB"}, options=options)
    after = changed(before, lambda u: u.add_column("b", "BYTES", "__BLOB_FIELD; a picture"))
    assert columns(after) == "k INT, a BLOB, b BLOB"
    assert after.by_name["b"].description == "a picture"
    assert after.options["blob-field"] == "a,b"
    after = changed(after, lambda u: u.drop_column("a").add_column("r", "BINARY(9)", "__BLOB_DESCRIPTOR_FIELD"))
    assert columns(after) == "k INT, b BLOB, r BLOB"
    assert (after.options["blob-field"], after.options["blob-descriptor-field"]) == ("b", "r")
    after = changed(before, lambda u: u.add_column("w", "BYTES", "__BLOB_VIEW_FIELD; of another table"))
    assert (columns(after), after.options["blob-view-field"]) == ("k INT, a BLOB, w BLOB", "w")
    assert after.by_name["w"].description == "of another table"
    after = changed(before, lambda u: u.add_column("s", "ARRAY<BYTES>", "__BLOB_FIELD"))
    after = changed(after, lambda u: u.add_column("m", "MAP<STRING, BYTES>", "__BLOB_FIELD"))
    assert (columns(after), after.options["blob-field"]) == (
        "k INT, a BLOB, s ARRAY<BLOB>, m MAP<STRING, BLOB>",
        "a,s,m",
    )
    after = changed(before, lambda u: u.drop_column("a").add_column("v", "ARRAY<FLOAT>", "__VECTOR_FIELD;3;of it"))
    assert (columns(after), after.by_name["v"].description) == ("k INT, v VECTOR<FLOAT, 3>", "of it")
    assert (after.options.get("blob-field"), after.options["vector-field"]) == (None, "v")
    for name, data_type, comment, message in (
        ("x", "STRING", "__BLOB_FIELD", "has the type STRING: give it the type BINARY"),
        ("x", "ARRAY<BYTES>", "__BLOB_DESCRIPTOR_FIELD", "give it the type BINARY"),
        ("x", "BYTES", "__BLOB_THING", "known are __BLOB_VIEW_FIELD"),
        ("x", "ARRAY<INT>", "__VECTOR_FIELD", "such as __VECTOR_FIELD;128"),
        ("x", "INT", "__VECTOR_FIELD;3", "give it the type ARRAY"),
        ("x", "ARRAY<INT>", "__VECTOR_FIELD;0", "such as __VECTOR_FIELD;128"),
    ):
        with pytest.raises(SchemaError, match=message):
            changed(before, lambda u, n=name, t=data_type, c=comment: u.add_column(n, t, c))
    nested = schema({"k": "INT", "s": "ROW<x INT>"}, options=options)
    with pytest.raises(SchemaError, match=r"'s.b' is nested in another one"):
        changed(nested, lambda u: u.add_column("s.b", "BYTES", "__BLOB_FIELD"))
    for change in (lambda u: u.rename_column("a", "z"), lambda u: u.update_type("a", "BYTES")):
        with pytest.raises(UnsupportedFeature, match="BLOB columns keep their name and type"):
            changed(before, change)


def test_new_tables_with_such_comments(tmp_path: Path) -> None:
    """They name the columns in options, also where an option has its older name."""
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "blob.stored-descriptor-fields": "r"}
    fields = [
        DataField(0, "k", parse_type("INT"), "a key"),
        DataField(0, "r", parse_type("BYTES")),
        DataField(0, "s", parse_type("BYTES"), "__BLOB_DESCRIPTOR_FIELD;it"),
        DataField(0, "b", parse_type("BYTES"), " __BLOB_FIELD "),
        DataField(0, "v", parse_type("ARRAY<DOUBLE>"), "__VECTOR_FIELD; 2"),
    ]
    made = create(str(tmp_path / "t"), options, fields)
    assert columns(made) == "k INT, r BLOB, s BLOB, b BLOB, v VECTOR<DOUBLE, 2>"
    assert [field.description for field in made.fields] == ["a key", None, "it", None, None]
    named = {key: made.options.get(key) for key in ("blob-field", "blob-descriptor-field", "vector-field")}
    assert named == {"blob-field": "b", "blob-descriptor-field": "r,s", "vector-field": "v"}
    assert "blob.stored-descriptor-fields" not in made.options
