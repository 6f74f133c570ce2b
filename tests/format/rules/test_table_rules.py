"""Rules of new tables, each with a table that breaks just this one, and the numbering of fields."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.draws.format_values import BIGINT, INT, STRING
from support.draws.golden_metadata import golden_files

from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.rules.format_tables import check_names_of_lines
from paimon_spark.format.rules.new_tables import assign_field_ids, validate_table
from paimon_spark.format.schema import TableSchema, decode_schema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root, all_fields

FIELDS = (
    DataField(0, "id", INT.with_nullable(False)),
    DataField(1, "dt", STRING.with_nullable(False)),
    DataField(2, "ts", parse_type("TIMESTAMP(9)")),
    DataField(3, "tags", parse_type("ARRAY<STRING>")),
    DataField(4, "n", BIGINT),
)
APPEND = TableSchema(0, FIELDS, 4)
VARIANT = TableSchema(0, (DataField(0, "v", parse_type("ARRAY<VARIANT>")),), 0)
VECTOR = TableSchema(0, (DataField(0, "v", parse_type("VECTOR<FLOAT, 3>")), DataField(1, "id", INT)), 1)
EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
BLOBS = replace(APPEND, fields=(*FIELDS, DataField(5, "b", parse_type("BLOB"))), highest_field_id=5, options=EVOLVED)
APART = replace(VECTOR, options={**EVOLVED, "vector.file.format": "parquet"})
KEYED = replace(APPEND, primary_keys=("id", "dt"), partition_keys=("dt",), options={"bucket": "2"})


def with_options(schema: TableSchema, **options: str) -> TableSchema:
    """The schema with more options; `_` stands for `-` and `__` for `.` in keys."""
    return replace(
        schema, options={**schema.options, **{k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}}
    )


def with_field(schema: TableSchema, name: str, text: str) -> TableSchema:
    return with_type(schema, name, parse_type(text))


def with_type(schema: TableSchema, name: str, data_type: DataType) -> TableSchema:
    return replace(schema, fields=(*schema.fields, DataField(5, name, data_type)), highest_field_id=5)


GOOD = {
    "append": APPEND,
    "append with buckets": with_options(APPEND, bucket="3", bucket_key="id,n"),
    "partitioned append": replace(APPEND, partition_keys=("dt",)),
    "keyed": KEYED,
    "key unique in its partition": replace(KEYED, primary_keys=("id",)),
    "dynamic buckets across partitions": replace(KEYED, primary_keys=("id",), options={}),
    "postponed buckets": with_options(KEYED, bucket="-2"),
    "bucket key within the key": with_options(KEYED, bucket_key="id"),
    "mod": with_options(KEYED, bucket_function__type="mod"),
    "sequence": with_options(KEYED, sequence__field="n, ts"),
    "row kind": with_options(KEYED, rowkind__field="dt"),
    "file index": with_options(APPEND, file_index__bloom_filter__columns="id,dt"),
    "orc": with_options(APPEND, file__format="orc"),
    "blobs": BLOBS,
    "named blobs": with_options(BLOBS, blob_field="b"),
    "references": with_options(BLOBS, blob_descriptor_field="b"),
    "vectors apart": APART,
    "vectors apart from orc": with_options(APART, file__format="orc"),
    "row expiry": with_options(KEYED, record_level__expire_time="1 d", record_level__time_field="ts"),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_tables_pass(name: str) -> None:
    validate_table(GOOD[name])


def test_genuine_tables_pass() -> None:
    for file in golden_files("schema"):
        if file.writer != "java-0.7":
            validate_table(decode_schema(file.data, str(file)))


BAD: list[tuple[TableSchema, str]] = [
    (replace(APPEND, fields=()), "no columns"),
    (replace(APPEND, fields=(*FIELDS, FIELDS[0])), "two columns 'id'"),
    (with_field(APPEND, "_KEY_x", "INT"), "'_KEY_x' is reserved"),
    (with_field(APPEND, "_VALUE_KIND", "INT"), "'_VALUE_KIND' is reserved"),
    (with_field(APPEND, "rowkind", "INT"), "'rowkind' is reserved"),
    (
        with_type(APPEND, "x", DataType(Root.CHAR, length=0)),
        "'x': the length in type 'CHAR(0)' must be",
    ),
    (with_type(APPEND, "x", DataType(Root.ARRAY, element=DataType(Root.VARCHAR, length=0))), "'x': the length"),
    (with_type(APPEND, "x", DataType(Root.DECIMAL, precision=0, scale=0)), "'x': the precision in type"),
    (replace(APPEND, highest_field_id=3), "field ids"),
    (replace(APPEND, fields=(*FIELDS, DataField(4, "x", INT))), "field ids"),
    (replace(KEYED, primary_keys=("id", "dt", "id")), "primary key names the column 'id' twice"),
    (replace(KEYED, partition_keys=("dt", "dt")), "partition names the column 'dt' twice"),
    (replace(KEYED, primary_keys=("id", "dt", "x")), "primary key column 'x' is not a column"),
    (replace(APPEND, partition_keys=("x",)), "partition column 'x' is not a column"),
    (replace(APPEND, partition_keys=("tags",)), "partition column 'tags' has the type ARRAY<STRING>"),
    (with_options(KEYED, primary_key="id"), "'primary-key' too"),
    (with_options(APPEND, partition="dt"), "'partition' too"),
    (replace(KEYED, primary_keys=("dt",)), "partition columns only"),
    (replace(KEYED, primary_keys=("id", "dt", "n")), "'n' is nullable"),
    (with_options(APPEND, bucket="0"), "'bucket' is 0"),
    (with_options(APPEND, bucket="-2"), "'bucket' is -2"),
    (with_options(APPEND, bucket_key="id"), "'bucket-key' needs a number of buckets"),
    (with_options(APPEND, bucket="2"), "needs the option 'bucket-key'"),
    (with_options(APPEND, bucket="2", bucket_key="id, n"), "without blanks"),
    (with_options(APPEND, bucket="2", bucket_key="id,id"), "names 'id' twice"),
    (with_options(APPEND, bucket="2", bucket_key="x"), "bucket key column 'x' is not a column"),
    (with_options(APPEND, bucket="2", bucket_key="tags"), "cannot be hashed"),
    (with_options(KEYED, bucket_key="dt"), "'dt' is a partition column"),
    (with_options(KEYED, bucket_key="n"), "'n' is not in the primary key"),
    (with_options(APPEND, bucket="2", bucket_key="dt", bucket_function__type="mod"), "one INT or BIGINT column"),
    (with_options(APPEND, changelog_producer="input"), "needs a primary key"),
    (with_options(KEYED, merge_engine="first-row", changelog_producer="input"), "merge-engine=first-row goes with"),
    (with_options(KEYED, deletion_vectors__enabled="true", changelog_producer="full-compaction"), "does not go with"),
    (with_options(KEYED, deletion_vectors__enabled="true", merge_engine="first-row"), "does not go with"),
    (with_options(KEYED, full_compaction__delta_commits="1", changelog_producer="lookup"), "delta-commits"),
    (with_options(APPEND, full_compaction__delta_commits="1"), "delta-commits"),
    (with_options(APPEND, streaming_read_overwrite="true"), "streaming-read-overwrite"),
    (with_options(KEYED, streaming_read_overwrite="true", changelog_producer="lookup"), "streaming-read-overwrite"),
    (with_options(KEYED, sequence__field="x"), "sequence field 'x' is not a column"),
    (with_options(KEYED, sequence__field="n,n"), "names 'n' twice"),
    (with_options(KEYED, sequence__field="n", fields__n__aggregate_function="sum"), "must not have an aggregate"),
    (with_options(KEYED, sequence__field="n", merge_engine="first-row"), "does not go with merge-engine=first-row"),
    (
        with_options(replace(KEYED, primary_keys=("id",), options={}), sequence__field="n"),
        "holds the partition columns",
    ),
    (with_options(APPEND, sequence__snapshot_ordering="true", write_only="true"), "snapshot-ordering=true needs a pri"),
    (with_options(KEYED, sequence__snapshot_ordering="true"), "snapshot-ordering=true needs write-only=true"),
    (
        with_options(KEYED, sequence__snapshot_ordering="true", write_only="true", sequence__field="n"),
        "does not go with the option 'sequence.field'",
    ),
    (with_options(KEYED, rowkind__field="x"), "row kind field 'x'"),
    (with_options(APPEND, target_file_row_num="0"), "target-file-row-num"),
    (with_options(APPEND, file__format="avro"), "column 'ts' has the type TIMESTAMP"),
    (with_options(KEYED, file__format__per__level="0:avro"), "column 'ts' has the type TIMESTAMP"),
    (
        with_options(VARIANT, file__format="orc"),
        "column 'v' has the type ARRAY<VARIANT>, and orc and avro files hold no",
    ),
    (with_options(VARIANT, file__format__per__level="0:avro"), "and orc and avro files hold no VARIANT"),
    (with_options(APPEND, variant__shredding__maxInferBufferRow="0"), "maxInferBufferRow' is 0, it must be above 0"),
    (with_options(APPEND, variant__shredding__minFieldCardinalityRatio="1.5"), "it must be between 0 and 1"),
    (
        with_options(
            APPEND, variant__shredding__inferenceMode="adaptive", variant__shredding__adaptive__retentionRatio="0.2"
        ),
        "retentionRatio' is 0.2, it must be between 0 and 'variant.shredding.minFieldCardinalityRatio'",
    ),
    (with_options(VECTOR, file__format="orc"), "type VECTOR<FLOAT, 3>, and orc files hold no VECTOR"),
    (
        replace(VECTOR, fields=(DataField(0, "v", parse_type("ARRAY<VECTOR<STRING, 3>>")),)),
        "the elements of a VECTOR are booleans, integers or floats",
    ),
    (replace(BLOBS, options={}), "the column 'b' is a BLOB, which needs the options 'row-tracking.enabled' = 'true'"),
    (replace(BLOBS, fields=BLOBS.fields[-1:]), "a table with BLOB columns needs another column beside them"),
    (replace(BLOBS, partition_keys=("b",)), "the BLOB column 'b' cannot be a partition column"),
    (with_field(APPEND, "r", "MAP<INT, ARRAY<BLOB>>"), "and a BLOB is a column of its own, the element of an array"),
    (with_field(APPEND, "r", "ARRAY<ARRAY<BLOB>>"), "and a BLOB is a column of its own, the element of an array"),
    (with_options(BLOBS, blob_field="b,id"), "the option 'blob-field' names 'id', which is no BLOB column"),
    (with_options(BLOBS, blob_descriptor_field="id"), "the option 'blob-descriptor-field' names 'id', which is no BL"),
    (
        with_options(BLOBS, blob_view_field="x"),
        "the option 'blob-view-field' names 'x', which is no column",
    ),
    (
        with_options(BLOBS, blob_view_field="b", blob_descriptor_field="b"),
        "'blob-descriptor-field' and 'blob-view-field' both name 'b'",
    ),
    (replace(APART, options={"vector.file.format": "parquet"}), "'vector.file.format' needs 'data-evolution.enabled'"),
    (with_options(APART, vector__file__format="orc"), "orc files hold no VECTOR; use parquet or avro"),
    (replace(APART, fields=APART.fields[:1]), "needs another column beside them"),
    (replace(APART, partition_keys=("v",)), "the VECTOR column 'v' cannot be a partition column"),
    (with_options(VECTOR, vector_field="v,id"), "the option 'vector-field' names 'id', which is no VECTOR column"),
    (with_options(APPEND, metadata__stats_mode="truncate"), "metadata.stats-mode"),
    (with_options(APPEND, fields__n__stats_mode="truncate(0)"), "fields.n.stats-mode"),
    (with_options(APPEND, snapshot__num_retained__min="0"), "must be at least 1"),
    (with_options(APPEND, changelog__num_retained__max="5"), "must not be larger"),
    (with_options(KEYED, record_level__expire_time="1 d"), "needs the option 'record-level.time-field'"),
    (with_options(KEYED, record_level__time_field="dt"), "must name a column of type INT"),
    (with_options(APPEND, fields__x__stats_mode="none"), "names 'x', which is not a column"),
    (with_options(APPEND, file_index__bitmap__columns="id,x[k]"), "names 'x', which is not a column"),
    (with_options(KEYED, row_tracking__enabled="true"), "row-tracking.enabled is for"),
    (with_options(APPEND, data_evolution__enabled="true"), "needs row-tracking.enabled"),
    (
        with_options(
            APPEND,
            bucket="-1",
            row_tracking__enabled="true",
            data_evolution__enabled="true",
            clustering__incremental="true",
        ),
        "clustering.incremental does not go with data-evolution.enabled",
    ),
    (with_options(KEYED, clustering__incremental="true"), "without a primary key"),
    (with_options(APPEND, primary_key__nullable="true"), "needs a primary key"),
]


@pytest.mark.parametrize(("schema", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_tables_are_refused_with_the_rule(schema: TableSchema, message: str) -> None:
    with pytest.raises(SchemaError) as refused:
        validate_table(schema)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("bucket", "many"),
        ("merge-engine", "upsert"),
        ("target-file-size", "big"),
        ("write-only", "yes"),
        ("file.format.per.level", "avro"),
    ],
)
def test_bad_values_name_the_option(option: str, value: str) -> None:
    with pytest.raises(OptionError, match=option):
        validate_table(replace(APPEND, options={option: value}))


def test_fields_are_numbered_as_in_genuine_tables() -> None:
    """A new table by Java: columns before what is nested in them, fields of a row after what is nested in them."""
    compared = 0
    for file in golden_files("schema", "java-2.1"):
        schema = decode_schema(file.data, str(file))
        if schema.id == 0:
            scrambled = tuple(replace(f, id=99) for f in schema.fields)
            assert assign_field_ids(scrambled) == (schema.fields, schema.highest_field_id), str(file)
            compared += len(list(all_fields(schema.fields)))
    assert compared > 200


def test_no_fields_have_no_highest_id() -> None:
    nothing: list[Any] = []
    assert assign_field_ids(nothing) == ((), -1)


@pytest.mark.parametrize(
    ("file_format", "key", "words"),
    [
        ("csv", "csv.field-delimitr", "did you mean 'csv.field-delimiter'"),
        ("csv", "csv.delimiter", "did you mean 'csv.field-delimiter' or 'csv.line-delimiter'"),
        ("csv", "csv.xxxxxxxxxxxx", "there are csv.escape-character, "),
        ("csv", "csv.quote", "did you mean 'csv.quote-character'"),
        ("json", "JSON.ignore_parse_errors", "did you mean 'json.ignore-parse-errors'"),
        ("text", "line-delimiter", "did you mean 'text.line-delimiter'"),
        ("csv", "include_header", "did you mean 'csv.include-header'"),
        ("csv", "field.delimiter", "did you mean 'csv.field-delimiter'"),
        ("csv", "nullvalues", "did you mean 'nullvalue'.* Or name it 'user.nullvalues'"),
    ],
)
def test_a_misspelt_option_of_lines_is_no_label(file_format: str, key: str, words: str) -> None:
    keys = ["csv.field-delimiter", "seq", "LINESEP", "team", key] if file_format == "csv" else ["team", key]
    with pytest.raises(OptionError, match=f"^creating t: files of the format {file_format} do not .*{words}"):
        check_names_of_lines("creating t", {"file.format": file_format, **dict.fromkeys(keys, "x")})


@pytest.mark.parametrize(
    ("file_format", "keys"),
    [
        ("parquet", ["model", "quota", "headers", "text.language", "parquet.block.size", "csv.field-delimitr"]),
        ("json", ["json.map-null-key-mode", "json.map-null-key-literal", "json.line-delimiter", "text.language"]),
        ("csv", ["user.quota", "user.line-delimiter", "skip.header.line.count", "serialization.null.format"]),
    ],
)
def test_labels_and_options_of_other_systems_are_not_taken_for_misspelt(file_format: str, keys: list[str]) -> None:
    """Files without lines have no options of them, and Java has some that matter to NULL keys of maps alone."""
    check_names_of_lines("creating t", {"file.format": file_format, **dict.fromkeys(keys, "x")})
