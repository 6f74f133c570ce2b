"""Schema files: genuine ones byte for byte, version rules, unknown keys, damage."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.format_values import INT, STRING, damaged, decoded_or_named_error
from support.draws.golden_metadata import golden_files
from support.long_runs import examples

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.schema import TableSchema, decode_schema, encode_schema
from paimon_spark.format.types import DataField

SCHEMA = TableSchema(
    id=3,
    fields=(DataField(0, "id", INT.with_nullable(False), "the key"), DataField(4, "né", STRING, None, "'x'")),
    highest_field_id=4,
    primary_keys=("id",),
    options={"bucket": "2", "file.format": "orc"},
    comment='a "b"\n',
    time_millis=1795198457690,
)
MINIMAL: dict[str, Any] = {
    "id": 0, "fields": [{"id": 0, "name": "a", "type": "INT"}], "highestFieldId": 0, "partitionKeys": [],
    "primaryKeys": [], "options": {},
}  # fmt: skip


def schema_from(changes: dict[str, Any]) -> TableSchema:
    return decode_schema(json.dumps({**MINIMAL, **changes}).encode(), "schema-0")


@pytest.mark.parametrize("file", golden_files("schema", "java-2.1"), ids=str)
def test_genuine_schemas_are_written_back_byte_for_byte(file: Any) -> None:
    assert encode_schema(decode_schema(file.data, str(file))) == file.data


def test_schemas_of_all_writers_decode_and_survive() -> None:
    files = golden_files("schema")
    assert len({file.writer for file in files}) == 6
    for file in files:
        schema = decode_schema(file.data, str(file))
        assert decode_schema(encode_schema(schema), str(file)) == schema


def test_defaults_of_old_versions_become_options() -> None:
    assert schema_from({}).options == {"bucket": "1", "file.format": "orc"}
    assert schema_from({}).version == 1
    assert schema_from({"version": 2}).options == {"file.format": "orc"}
    assert schema_from({"version": 3}).options == {}
    kept = {"bucket": "4", "file.format": "parquet"}
    assert schema_from({"version": 1, "options": kept}).options == kept


def test_option_values_that_are_no_texts_are_read_as_java_does() -> None:
    options = schema_from({"version": 3, "options": {"a": True, "b": 7, "c": 1.50, "d": None, "e": "x"}}).options
    assert options == {"a": "true", "b": "7", "c": "1.5", "e": "x"}


def test_unknown_keys_are_kept_and_a_missing_comment_is_not_written() -> None:
    newer = {"owner": {"name": "é", "since": 1.250}, "flags": [1, 2]}
    schema = schema_from({"version": 3, **newer})
    written = json.loads(encode_schema(schema))
    assert {key: written[key] for key in newer} == newer
    assert "comment" not in written


def test_an_explicit_null_is_absent() -> None:
    schema = schema_from({"version": None, "comment": None, "timeMillis": None})
    assert (schema.version, schema.comment, schema.time_millis) == (1, None, 0)


@given(st.text(), st.text(), st.dictionaries(st.text(), st.text(), max_size=3))
@settings(max_examples=examples(100))
def test_any_text_survives(name: str, comment: str, options: dict[str, str]) -> None:
    options = {"bucket": "1", **options}
    schema = replace(
        SCHEMA, fields=(DataField(0, name, INT, comment),), primary_keys=(), options=options, comment=comment
    )
    assert decode_schema(encode_schema(schema), "schema-3") == schema


@pytest.mark.parametrize(
    "changes",
    [
        {"id": None}, {"id": "0"}, {"id": 2**63}, {"id": True}, {"fields": {}}, {"fields": ["INT"]},
        {"highestFieldId": 1.5}, {"fields": [{"id": 0, "name": "a", "type": "DECIMAL(99)"}]},
        {"partitionKeys": ["b"]}, {"primaryKeys": [1]},
        {"primaryKeys": ["b"]}, {"options": []}, {"options": {"a": {}}}, {"comment": 7},
        {"fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 1, "name": "a", "type": "INT"}]},
        {"fields": [{"id": 0, "name": "a", "type": "INT"}, {"id": 0, "name": "b", "type": "INT"}]},
    ],
)  # fmt: skip
def test_bad_schemas_name_the_file(changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptFile, match="schema-0"):
        schema_from(changes)


@pytest.mark.parametrize(
    "changes", [{"version": 4}, {"version": 3, "fields": [{"id": 0, "name": "a", "type": "QUBIT"}]}]
)
def test_what_is_newer_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedFeature, match="schema-0"):
        schema_from(changes)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"7", b"null", b"\xff\xfe", b'{"id": NaN}', b"[" * 100_000, b'{"\\ud800": 1}']
)
def test_what_is_no_json_object_names_the_file(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="schema-9"):
        decode_schema(data, "schema-9")


def test_damage_is_an_error_that_names_the_file_or_a_schema_that_can_be_written() -> None:
    for data in damaged(encode_schema(SCHEMA)):
        schema = decoded_or_named_error(decode_schema, data)
        assert schema is None or decode_schema(encode_schema(schema), "again") == schema
