"""Manifests, manifest lists and index manifests record by record: genuine files of every writer, random values."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.draws.format_values import BYTES
from support.draws.golden_metadata import golden_files
from support.draws.manifest_values import entries, index_entries, manifest_metas
from support.long_runs import examples

from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.avro.file import read_records, write_records
from paimon_spark.format.avro.schemas import INDEX_MANIFEST, MANIFEST, MANIFEST_LIST
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta, ManifestEntry
from paimon_spark.format.manifests.codec import (
    check_size,
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
)
from paimon_spark.format.manifests.index_manifest import decode_index_manifest, encode_index_manifest

Codec = tuple[Callable[[bytes, str], list[Any]], Callable[..., bytes]]
CODECS: dict[str, Codec] = {
    "manifest": (decode_manifest, encode_manifest),
    "manifest-list": (decode_manifest_list, encode_manifest_list),
    "index-manifest": (decode_index_manifest, encode_index_manifest),
}
FILE = DataFileMeta("f.parquet", 10, 5, b"k", b"l", EMPTY_STATS, EMPTY_STATS, 0, 4, 0, 5)
ENTRY = ManifestEntry(0, b"p", 1, 4, FILE)


def kind_of(path: Path) -> str:
    """The kind of file, from a golden name such as java-2.1.manifest-list-base.avro."""
    name = path.name.removesuffix(".avro")
    return next(kind for kind in ("index-manifest", "manifest-list", "manifest") if kind in name)


GENUINE = sorted(path for path in (BYTES / "avro").glob("*.avro") if "data-" not in path.name)


def as_golden(value: Any) -> Any:
    """A record as the JSON beside the file says it."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, dict):
        return {k: {"millis": v} if k == "_CREATION_TIME" and v is not None else as_golden(v) for k, v in value.items()}
    return [as_golden(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.name)
def test_genuine_files_decode_to_the_records_beside_them(path: Path) -> None:
    records = list(read_records(path.read_bytes(), path.name))
    assert as_golden(records) == json.loads(path.with_suffix(".json").read_text("utf-8"))["records"]


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.name)
def test_genuine_files_become_values_and_come_back(path: Path) -> None:
    decode, encode = CODECS[kind_of(path)]
    values = decode(path.read_bytes(), path.name)
    assert len(values) == len(json.loads(path.with_suffix(".json").read_text("utf-8"))["records"])
    assert decode(encode(values), "again") == values


@pytest.mark.parametrize("kind", CODECS)
def test_every_file_of_the_golden_tables_comes_back(kind: str) -> None:
    decode, encode = CODECS[kind]
    files = golden_files(kind)
    assert len(files) > 15
    for file in files:
        values = decode(file.data, str(file))
        assert decode(encode(values), str(file)) == values


def test_our_schemas_are_those_of_java() -> None:
    genuine = json.loads((BYTES / "avro" / "schemas_by_writer.json").read_text("utf-8"))["java-2.1"]
    assert genuine["manifest"] == MANIFEST
    assert genuine["manifest-list-base"] == MANIFEST_LIST
    assert genuine["index-manifest-hash"] == INDEX_MANIFEST


@given(st.lists(entries, max_size=4))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
def test_random_manifests_survive(values: list[Any]) -> None:
    assert decode_manifest(encode_manifest(values), "m") == values


@given(st.lists(manifest_metas, max_size=4))
@settings(max_examples=examples(60))
def test_random_manifest_lists_survive(values: list[Any]) -> None:
    assert decode_manifest_list(encode_manifest_list(values), "m") == values


@given(st.lists(index_entries, max_size=4))
@settings(max_examples=examples(60))
def test_random_index_manifests_survive(values: list[Any]) -> None:
    assert decode_index_manifest(encode_index_manifest(values), "m") == values


@pytest.mark.parametrize("compression", ["zstd", "ZSTD", "snappy", "deflate", "bzip2", "xz", "null", "none"])
def test_every_compression_survives(compression: str) -> None:
    data = encode_manifest([ENTRY] * 500, compression)
    assert decode_manifest(data, "m") == [ENTRY] * 500


def test_an_unknown_compression_is_refused() -> None:
    with pytest.raises(OptionError, match=r"lz5.*zstd"):
        encode_manifest([], "lz5")


NULLABLE = {
    "_CREATION_TIME", "_DELETE_ROW_COUNT", "_EMBEDDED_FILE_INDEX", "_FILE_SOURCE", "_VALUE_STATS_COLS",
    "_EXTERNAL_PATH", "_FIRST_ROW_ID", "_WRITE_COLS", "_WRITE_COLS_SEQUENCES",
}  # fmt: skip


def records_of(entry: ManifestEntry) -> dict[str, Any]:
    (record,) = read_records(encode_manifest([entry]), "m")
    return record


def test_a_field_that_old_writers_lack_is_none() -> None:
    old = without_fields(MANIFEST, {f for f in NULLABLE if f != "_CREATION_TIME"})
    assert decode_manifest(write_records([records_of(ENTRY)], old), "m") == [ENTRY]


def without_fields(schema: Any, names: set[str]) -> Any:
    if isinstance(schema, list):
        return [
            without_fields(item, names) for item in schema if not (isinstance(item, dict) and item.get("name") in names)
        ]
    return {k: without_fields(v, names) for k, v in schema.items()} if isinstance(schema, dict) else schema


@pytest.mark.parametrize("name", ["_KIND", "_PARTITION", "_FILE", "_FILE_NAME", "_MIN_KEY", "_LEVEL", "_MIN_VALUES"])
def test_a_field_that_must_be_there_is_named(name: str) -> None:
    data = write_records([records_of(ENTRY)], without_fields(MANIFEST, {name}))
    with pytest.raises(CorruptFile, match=f"manifest-1.*{name}"):
        decode_manifest(data, "manifest-1")


@pytest.mark.parametrize("version", [1, 3])
def test_another_version_is_refused(version: int) -> None:
    data = write_records([{**records_of(ENTRY), "_VERSION": version}], MANIFEST)
    with pytest.raises(UnsupportedFeature, match=f"manifest-1.*version {version}"):
        decode_manifest(data, "manifest-1")


@pytest.mark.parametrize("number", [-(2**31) - 1, 2**31])
def test_a_bucket_that_no_int_of_java_holds_names_the_file(number: int) -> None:
    with pytest.raises(CorruptFile, match=r"manifest-1.*_BUCKET"):
        decode_manifest(write_records([{**records_of(ENTRY), "_BUCKET": number}], longs(MANIFEST)), "manifest-1")


def longs(schema: Any) -> Any:
    """The schema with long in place of int: fastavro writes no int that is out of its range."""
    if isinstance(schema, list):
        return [longs(item) for item in schema]
    return (
        {k: longs(v) for k, v in schema.items()} if isinstance(schema, dict) else "long" if schema == "int" else schema
    )


def test_creation_times_no_calendar_holds_stay_integers() -> None:
    entry = ENTRY._replace(file=FILE._replace(creation_time=2**62))
    assert decode_manifest(encode_manifest([entry]), "m") == [entry]


def test_fastavro_alone_reads_what_we_write() -> None:
    path = next(path for path in GENUINE if path.name == "java-2.1.manifest.avro")
    values = decode_manifest(path.read_bytes(), "m")
    with path.open("rb") as genuine:
        expected = list(fastavro.reader(genuine))
    assert list(fastavro.reader(io.BytesIO(encode_manifest(values)))) == expected


def test_another_size_than_recorded_is_an_error() -> None:
    check_size(b"abc", 3, "m")
    check_size(b"abc", None, "m")
    with pytest.raises(CorruptFile, match=r"manifest-1.*3 bytes.*4"):
        check_size(b"abc", 4, "manifest-1")


@pytest.mark.parametrize("field", ["_KIND", "_FILE_SOURCE"])
def test_a_kind_that_is_none_names_the_file(field: str) -> None:
    record = records_of(ENTRY)
    record = {**record, field: 2} if field in record else {**record, "_FILE": {**record["_FILE"], field: 2}}
    with pytest.raises(CorruptFile, match=f"manifest-1.*{field}"):
        decode_manifest(write_records([record], MANIFEST), "manifest-1")
