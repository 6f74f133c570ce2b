"""Which tables are read and written: each refusal by the name of its option, each harmless option let through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.draws.format_values import INT, STRING
from support.draws.golden_metadata import golden_files

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.catalogue import IMMUTABLE_OPTIONS, known_key, known_keys
from paimon_spark.format.options.table_settings import TABLE_OPTIONS, TableSettings
from paimon_spark.format.rules.supported import check_columns, check_readable, check_writable
from paimon_spark.format.schema import TableSchema, decode_schema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField

FIELDS = (DataField(0, "id", INT.with_nullable(False)), DataField(1, "Name", STRING))
APPEND = TableSchema(0, FIELDS, 1)
KEYED = TableSchema(0, FIELDS, 1, primary_keys=("id",))
FIXED = {"bucket": "4"}

READ_REFUSED = [
    ("type", "format-table"),
    ("type", "object-table"),
    ("primary-key.nullable", "true"),
    ("file.format", "lance"),
    ("file.format.per.level", "0:avro,5:csv"),
    ("changelog-file.format", "json"),
    ("vector.file.format", "lance"),
    ("key-value.sequence_number.enabled", "true"),
    ("pk-clustering-override", "true"),
    ("batch-scan-mode", "compact"),
    ("fields.Name.some-new-thing", "x"),
    ("merge-engine-v2", "x"),
    ("data-evolution.v2", "x"),
    ("fields.Name,id.some-new-thing", "x"),
    ("field.Name.some-new-thing", "x"),
    ("scan.fallback-other-branch", "x"),
]
WRITE_REFUSED = [
    ("blob-external-storage-field", "b"),
    ("blob-external-storage-path", "/x"),
    ("metadata.iceberg.storage", "rest-catalog"),
    ("commit.callbacks", "org.example.Callback"),
    ("commit.custom-listeners", "x"),
    ("manifest.format", "orc"),
    ("tag.callbacks", "org.example.Callback"),
    ("pk-full-text.index.columns", "Name"),
    ("pk-vector.index.columns", "Name"),
    ("write.some-new-thing", "x"),
    ("manifest.some-new-thing", "x"),
    ("commit.some-new-thing", "x"),
]
HARMLESS = [
    ("chain-table.enabled", "true"),
    ("query-auth.enabled", "true"),
    ("vector-field", "v"),
    ("field.v.vector-dim", "3"),
    ("type", "TABLE"),
    ("file.format", "ORC"),
    ("file.format.per.level", "0:avro,5:parquet"),
    ("merge-engine", "DEDUPLICATE"),
    ("primary-key.nullable", "false"),
    ("write-only", "true"),
    ("snapshot.num-retained.max", "5"),
    ("num-sorted-run.compaction-trigger", "3"),
    ("file-index.bloom-filter.columns", "Name"),
    ("file-index.bloom-filter.Name.fpp", "0.2"),
    ("record-level.expire-time", "7 d"),
    ("partition.sink-strategy", "HASH"),
    ("fields.Name.stats-mode", "full"),
    ("parquet.enable.dictionary", "1"),
    ("orc.write.batch-size", "10"),
    ("ignore-delete", "true"),
    ("changelog-producer", "lookup"),
    ("changelog-producer", "full-compaction"),
    ("changelog-producer", "input"),
    ("bucket", "-1"),
    ("bucket", "-2"),
    ("deletion-vectors.enabled", "true"),
    ("merge-engine", "first-row"),
    ("full-compaction.delta-commits", "1"),
    ("owner", "me"),
    ("team.some-label", "x"),
    ("types-of-cheese", "x"),
    ("type.of.cheese", "x"),
    ("row-owner", "x"),
    ("read.purpose", "x"),
    ("merged-from", "x"),
    ("buckets-of-paint", "x"),
    ("bucket.owner", "x"),
    ("partition.contact", "x"),
    ("branch.office", "x"),
    ("field.team", "x"),
    ("field.Nobody.team", "x"),
    ("fields.nobody.some-new-thing", "x"),
    ("files-from", "x"),
    ("commits-to", "x"),
    ("fields.Name.default-value", "x"),
    ("sequence.auto-padding", "row-kind-flag"),
    ("branch-merge.enabled", "true"),
    ("record-level.time-field-type", "millis-long"),
    ("partition.mark-done-action.http.timeout", "5 s"),
    ("write-manifest-cache", "1 mb"),
    ("metastore.partitioned-table", "true"),
    ("pk-btree.index.columns", "Name"),
    ("sink.parallelism", "4"),
]


@pytest.mark.parametrize(("key", "value"), READ_REFUSED)
def test_what_changes_rows_is_refused_for_reading_and_writing(key: str, value: str) -> None:
    settings = TableSettings({**FIXED, key: value})
    for check in (check_readable, check_writable):
        with pytest.raises(UnsupportedFeature) as refused:
            check(KEYED, settings)
        assert f"'{key}'" in str(refused.value)


@pytest.mark.parametrize(("key", "value"), WRITE_REFUSED)
def test_what_a_writer_must_do_is_refused_for_writing_only(key: str, value: str) -> None:
    settings = TableSettings({**FIXED, key: value})
    check_readable(KEYED, settings)
    with pytest.raises(UnsupportedFeature) as refused:
        check_writable(KEYED, settings)
    assert f"'{key}'" in str(refused.value)


@pytest.mark.parametrize(("key", "value"), HARMLESS)
def test_what_makes_no_difference_passes(key: str, value: str) -> None:
    check_writable(KEYED, TableSettings({**FIXED, key: value}))
    check_writable(APPEND, TableSettings({key: value}))


@pytest.mark.parametrize(
    "text",
    ["GEOMETRY", "GEOGRAPHY", "ARRAY<GEOMETRY>", "ROW<a ROW<b GEOGRAPHY>>", "MAP<INT, GEOMETRY>"],
)
def test_a_column_without_a_reader_is_refused_by_name_and_the_others_are_not(text: str) -> None:
    odd = DataField(2, "odd", parse_type(text))
    schema = TableSchema(0, (*FIELDS, odd), 9)
    check_readable(schema, TableSettings())
    check_columns(schema, FIELDS, ["id"])
    for fields, conditions in (((odd,), ()), (FIELDS, ("odd",))):
        with pytest.raises(UnsupportedFeature, match=r"column 'odd' has the type .*\(\"columns\", \"id, Name\"\)"):
            check_columns(schema, fields, conditions)
    with pytest.raises(UnsupportedFeature, match="cannot write to the table: column 'odd'"):
        check_writable(schema, TableSettings())


@pytest.mark.parametrize("text", ["BLOB", "ARRAY<BLOB>", "ROW<a ROW<b BLOB>>", "ROW<v VARIANT, b BLOB>"])
def test_a_table_with_a_blob_is_refused_without_data_evolution(text: str) -> None:
    """Blobs have files of their own beside those of the other columns, which count as rows without data evolution."""
    schema = TableSchema(0, (*FIELDS, DataField(2, "odd", parse_type(text))), 9)
    evolved = TableSettings({"data-evolution.enabled": "true"})
    with pytest.raises(
        UnsupportedFeature, match=r"column 'odd' has the type .*BLOB.*an append table with such columns"
    ):
        check_readable(schema, TableSettings())
    check_readable(schema, evolved)
    keyed = replace(schema, primary_keys=("id",))
    check_readable(keyed, TableSettings())
    if text in ("BLOB", "ARRAY<BLOB>"):
        check_writable(keyed, TableSettings())
        check_writable(schema, evolved)
        return
    with pytest.raises(UnsupportedFeature, match=r"cannot write to the table: column 'odd' has the type .*BLOB"):
        check_writable(keyed, TableSettings())
    with pytest.raises(UnsupportedFeature, match=r"cannot write to the table: column 'odd' has the type .*BLOB"):
        check_writable(schema, evolved)


@pytest.mark.parametrize("text", ["ARRAY<ARRAY<BLOB>>", "ROW<a ROW<b BLOB>>", "MAP<DATE, BLOB>", "MULTISET<BLOB>"])
def test_blobs_within_other_types_are_refused_by_name(text: str) -> None:
    odd = DataField(2, "odd", parse_type(text))
    schema = TableSchema(0, (*FIELDS, odd), 9)
    check_columns(schema, (FIELDS[0], DataField(3, "b", parse_type("BLOB"))))
    with pytest.raises(UnsupportedFeature, match=r"column 'odd' has the type .*BLOB"):
        check_columns(schema, (odd,))


def test_every_typed_option_is_in_the_catalog() -> None:
    keys = [key for option in TABLE_OPTIONS.values() for key in (option.key, *option.older) if "<" not in key]
    assert len(keys) > 150
    assert [key for key in keys if known_key(key) != key] == []
    assert known_keys() >= IMMUTABLE_OPTIONS


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("BUCKET", "bucket"),
        ("variant.shreddingschema", "variant.shreddingSchema"),
        ("fields.name.stats-mode", "fields.Name.stats-mode"),
        ("FIELDS.NAME,ID.SEQUENCE-GROUP", "fields.Name,id.sequence-group"),
        ("fields.default-aggregate-function", "fields.default-aggregate-function"),
        ("file-index.Bitmap.columns", "file-index.bitmap.columns"),
        ("file-index.bitmap.name.version", "file-index.bitmap.Name.version"),
        ("field.name.vector-dim", "field.Name.vector-dim"),
        ("commit.callback.org.example.C.param", "commit.callback.org.example.C.param"),
        ("parquet.bloom.filter", "parquet.bloom.filter"),
        ("fields.name.unheard-of", None),
        ("bukcet", None),
    ],
)
def test_keys_in_any_letter_case(key: str, expected: str | None) -> None:
    assert known_key(key, {"name": "Name", "id": "id"}) == expected


def test_every_option_of_the_golden_tables_is_known() -> None:
    schemas = [decode_schema(f.data, str(f)) for f in golden_files("schema")]
    keys = {key for schema in schemas for key in schema.options if not key.startswith("schema.")}
    assert len(keys) > 40  # without what Flink keeps of its computed columns and watermarks
    assert {key for key in keys if known_key(key) is None} <= {"x.bsi"}  # a slip of the one who made that table


def test_the_refused_golden_tables_are_the_expected_ones() -> None:
    refused = set()
    for file in golden_files("schema", "java-2.1"):
        schema = decode_schema(file.data, str(file))
        try:
            check_readable(schema, TableSettings(schema.options))
        except UnsupportedFeature:
            refused.add(file.table)
    assert refused == set()
