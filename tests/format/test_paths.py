"""Names and places of files, and the text of partitions, against genuine tables."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.format_values import INT, STRING, golden_cases, internal
from support.draws.golden_metadata import GoldenFile, golden_files
from support.long_runs import examples

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format import paths
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.java import text as java_text
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta, IndexManifestEntry, ManifestEntry
from paimon_spark.format.manifests.codec import decode_manifest
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema, decode_schema
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import BINARIES, UNORDERED, DataField, DataType, Root

DEFAULT_NAME = "__DEFAULT_PARTITION__"
FILE = DataFileMeta("data-u-0.parquet", 1, 1, b"", b"", EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)
INDEX = IndexManifestEntry(0, b"", 0, "HASH", "index-u-0", 4, 1)
NO_OPTIONS = TableSettings()


# ---------------------------------------------------------------------------------------------------- partition texts


@pytest.mark.parametrize("writer", ["java-0.9", "java-2.1"])
def test_genuine_escapes(writer: str) -> None:
    for case in golden_cases(f"{writer}/partition_escape.json"):
        assert f"p={paths.escape(case['value'])}/" == case["path"]
        assert paths.unescape(case["path"][2:-1]) == case["value"]


@pytest.mark.parametrize("writer", ["java-0.9", "java-2.1"])
def test_genuine_partition_values(writer: str) -> None:
    cases = [c for c in golden_cases(f"{writer}/partition_values.json") if c["legacy"] or writer == "java-2.1"]
    for case in cases:
        data_type = parse_type(case["type"])
        if data_type.root in BINARIES and case["legacy"]:
            continue  # Java prints an object id, another one each time
        value = internal(case["value"], data_type)
        field = DataField(0, "p", data_type)
        assert paths.partition_path([value], [field], DEFAULT_NAME, case["legacy"]) == case["path"]


def test_genuine_files_lie_where_their_entries_say() -> None:
    """Every data file that a golden table still holds is found by its partition, bucket and name."""
    found = 0
    for (writer, table), files in files_by_table().items():
        schemas = [decode_schema(f.data, str(f)) for f in files if f.path.name.startswith("schema-")]
        present = {str(f.path) for f in files}
        names = {f.path.name for f in files}
        for file in files:
            if re.match("manifest-(?!list)", file.path.name) is None:
                continue
            for entry in decode_manifest(file.data, str(file)):
                if entry.file.file_name in names and entry.file.external_path is None:
                    found += 1
                    path = place_of(entry, max(schemas, key=lambda schema: schema.id))
                    assert path in present, f"{writer}/{table}"
    assert found > 300


def files_by_table() -> dict[tuple[str, str], list[GoldenFile]]:
    tables: dict[tuple[str, str], list[GoldenFile]] = {}
    for kind in ("schema", "manifest", "data", "mydata", "changelog"):
        for file in golden_files(kind):
            tables.setdefault((file.writer, file.table), []).append(file)
    return tables


def place_of(entry: ManifestEntry, schema: TableSchema) -> str:
    """The path of the entry's file below its table."""
    settings, fields = TableSettings(schema.options), schema.partition_fields
    values = decode_arity_row(entry.partition, [f.type for f in fields])
    default_name, legacy = settings.partitions.default_name, settings.partitions.legacy_name
    partition = paths.partition_path(values, fields, default_name, legacy)
    return paths.data_file_path(paths.bucket_path("t", partition, entry.bucket, settings), entry.file).removeprefix(
        "t/"
    )


@pytest.mark.parametrize("value", [None, "", " ", "\t \u3000", "\u2003"])
def test_null_and_blank_texts_take_the_default_name(value: str | None) -> None:
    assert paths.partition_path([value], [DataField(0, "p", STRING)], "N%A", True) == "p=N%25A/"


@pytest.mark.parametrize("value", ["\u00a0", "\u2007", "\u202f", "\x85", "x"])
def test_what_java_does_not_call_blank_is_kept(value: str) -> None:
    assert paths.partition_path([value], [DataField(0, "p", STRING)], "N", True) == f"p={value}/"


def test_partitions_of_several_columns_and_of_none() -> None:
    fields = [DataField(0, "a=b", STRING), DataField(1, "n", INT)]
    assert paths.partition_path(["x/y", -3], fields, DEFAULT_NAME, True) == "a%3Db=x%2Fy/n=-3/"
    assert paths.partition_path([], [], DEFAULT_NAME, True) == ""


@pytest.mark.parametrize("text", ["ARRAY<INT>", "MAP<INT, INT>", "BYTES"])
def test_types_without_a_stable_text_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match="partition by another column"):
        paths.partition_path([b""], [DataField(0, "p", parse_type(text))], DEFAULT_NAME, True)


@given(st.text())
@settings(max_examples=examples(200))
def test_escaping_is_undone(text: str) -> None:
    escaped = paths.escape(text)
    assert paths.unescape(escaped) == text
    assert "/" not in escaped
    assert "=" not in escaped


def test_long_decimals_keep_all_digits() -> None:
    digits = Decimal("12345678901234567890123456789012345.678")
    assert paths.decimal_text(digits, 3) == "12345678901234567890123456789012345.678"
    assert paths.decimal_text(Decimal("1E+3"), 2) == "1000.00"


# ---------------------------------------------------------------------------------------------------------- Java texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (100.0, "100.0"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (1e-3, "0.001"),
        (9.99e-4, "9.99E-4"),
        (123456.789, "123456.789"),
        (-1.5e300, "-1.5E300"),
        (4.9e-324, "4.9E-324"),
        (1e23, "1.0E23"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (2.0, "2.0"),
        (12345678.9, "1.23456789E7"),
    ],
)
def test_doubles_as_java_prints_them(value: float, text: str) -> None:
    assert java_text.double_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (1.4e-45, "1.4E-45"),
        (3.4028235e38, "3.4028235E38"),
        (16777216.0, "1.6777216E7"),
        (1.1, "1.1"),
        (33554432.0, "3.3554432E7"),
    ],
)
def test_floats_as_java_prints_them(value: float, text: str) -> None:
    assert java_text.float_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=examples(300))
def test_printed_doubles_read_back(value: float) -> None:
    assert float(java_text.double_text(value)) == value


@pytest.mark.parametrize(
    ("days", "text"),
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (19700, "2023-12-09"),
        (11016, "2000-02-29"),
        (-719162, "0001-01-01"),
        (2932896, "9999-12-31"),
    ],
)
def test_dates(days: int, text: str) -> None:
    assert java_text.date_text(days) == text


@pytest.mark.parametrize(
    ("millis", "precision", "text"),
    [
        (0, 0, "00:00:00"),
        (0, 3, "00:00:00.0"),
        (45296789, 0, "12:34:56"),
        (45296789, 2, "12:34:56.78"),
        (45296780, 9, "12:34:56.78"),
        (86399999, 3, "23:59:59.999"),
    ],
)
def test_times(millis: int, precision: int, text: str) -> None:
    assert java_text.time_text(millis, precision) == text


@pytest.mark.parametrize(
    ("nanos", "precision", "cast", "iso"),
    [
        (0, 0, "1970-01-01 00:00:00", "1970-01-01T00:00"),
        (1, 9, "1970-01-01 00:00:00.000000001", "1970-01-01T00:00:00.000000001"),
        (-1_000, 6, "1969-12-31 23:59:59.999999", "1969-12-31T23:59:59.999999"),
        (60_000_000_000, 3, "1970-01-01 00:01:00.000", "1970-01-01T00:01"),
        (1_500_000_000, 3, "1970-01-01 00:00:01.500", "1970-01-01T00:00:01.500"),
        (253_402_300_800_000_000_000, 0, "0000-01-01 00:00:00", "+10000-01-01T00:00"),
    ],
)
def test_timestamps(nanos: int, precision: int, cast: str, iso: str) -> None:
    assert java_text.timestamp_text(nanos, precision) == cast
    assert java_text.timestamp_iso_text(nanos) == iso


def test_timestamps_before_year_zero_have_a_sign() -> None:
    assert java_text.timestamp_iso_text(-62_198_755_200_000_000_000) == "-0001-01-01T00:00"


# -------------------------------------------------------------------------------------------------------------- places


def test_metadata_of_a_branch_lies_in_the_branch() -> None:
    assert paths.schema_path("/t", 0) == "/t/schema/schema-0"
    assert paths.schema_path("/t", 0, "b") == "/t/branch/branch-b/schema/schema-0"
    assert paths.snapshot_path("/t", 7) == "/t/snapshot/snapshot-7"
    assert paths.snapshot_path("/t", 7, "b") == "/t/branch/branch-b/snapshot/snapshot-7"
    assert paths.latest_hint_path("/t", "b") == "/t/branch/branch-b/snapshot/LATEST"
    assert paths.earliest_hint_path("/t") == "/t/snapshot/EARLIEST"
    assert paths.tag_path("/t", "v1", "b") == "/t/branch/branch-b/tag/tag-v1"
    assert paths.changelog_path("/t", 3) == "/t/changelog/changelog-3"
    assert paths.consumer_path("/t", "c", "b") == "/t/branch/branch-b/consumer/consumer-c"
    assert paths.branch_root("/t", "b").startswith(paths.branches_directory("/t") + "/")


def test_manifests_indexes_and_statistics_lie_in_the_table() -> None:
    assert paths.manifest_path("/t", "manifest-u-0") == "/t/manifest/manifest-u-0"
    assert paths.index_path("/t", paths.index_name("u", 3)) == "/t/index/index-u-3"
    assert paths.statistics_path("/t", "stat-u-0") == "/t/statistics/stat-u-0"


def test_buckets_and_data_files() -> None:
    assert paths.bucket_path("/t", "", 0, NO_OPTIONS) == "/t/bucket-0"
    assert paths.bucket_path("/t", "k=v/", -2, NO_OPTIONS) == "/t/k=v/bucket-postpone"
    assert (
        paths.bucket_path("/t", "k=v/", 3, TableSettings({"data-file.path-directory": "data"}))
        == "/t/data/k=v/bucket-3"
    )
    assert paths.data_file_path("/t/bucket-0", FILE) == "/t/bucket-0/data-u-0.parquet"
    elsewhere = FILE._replace(external_path="s3://b/x/data-u-0.parquet")
    assert paths.data_file_path("/t/bucket-0", elsewhere) == "s3://b/x/data-u-0.parquet"
    assert paths.extra_file_path("/t/bucket-0", FILE, "a.index") == "/t/bucket-0/a.index"
    assert paths.extra_file_path("/t/bucket-0", elsewhere, "a.index") == "s3://b/x/a.index"


def test_index_files() -> None:
    in_bucket = TableSettings({"index-file-in-data-file-dir": "true"})
    assert paths.index_file_path("/t", "/t/bucket-0", INDEX, NO_OPTIONS) == "/t/index/index-u-0"
    assert paths.index_file_path("/t", "/t/bucket-0", INDEX, in_bucket) == "/t/bucket-0/index-u-0"
    assert paths.index_file_path("/t", "/t/bucket-0", replace(INDEX, external_path="s3://i"), in_bucket) == "s3://i"


@pytest.mark.parametrize(
    ("file_format", "compression", "name"),
    [
        ("parquet", None, "data-u-7.parquet"),
        ("parquet", "zstd", "data-u-7.zst.parquet"),
        ("orc", "LZ4", "data-u-7.lz4.orc"),
        ("avro", "none", "data-u-7.avro"),
        ("csv", "gzip", "data-u-7.csv.gz"),
        ("parquet", "brotli", "data-u-7.brotli.parquet"),
    ],
)
def test_data_file_names_tell_their_format(file_format: str, compression: str | None, name: str) -> None:
    assert paths.data_file_name("data-", "u", 7, file_format, compression) == name
    assert paths.file_format_of(name) == file_format


@pytest.mark.parametrize("name", ["data-u-7", ""])
def test_a_name_without_extension_is_refused(name: str) -> None:
    with pytest.raises(CorruptFile, match="extension"):
        paths.file_format_of(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("snapshot-12", 12),
        ("snapshot-0", 0),
        ("snapshot-06", None),
        ("snapshot-", None),
        ("snapshot-1x", None),
        ("LATEST", None),
        ("12", None),
        ("snapshot-\u0663", None),
        (".snapshot-1.tmp", None),
    ],
)
def test_ids_in_names(name: str, expected: int | None) -> None:
    assert paths.id_of(name, paths.SNAPSHOT_PREFIX) == expected


def test_every_type_of_partition_has_a_text() -> None:
    values: dict[Root, Any] = {Root.BOOLEAN: True, Root.DECIMAL: Decimal("1.5"), Root.CHAR: "x", Root.VARCHAR: "x"}
    for root in Root:
        data_type = DataType(root, length=5, precision=9, scale=2)
        if root in BINARIES or root in UNORDERED:
            continue
        for legacy in (True, False):
            assert paths.partition_text(values.get(root, 1), data_type, legacy)
