"""Manifests as columns: equal to the reference on genuine, random and damaged files."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.draws.golden_metadata import golden_files
from support.draws.manifest_values import entries
from support.long_runs import CI_SHARE, LONG, examples

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.avro.file import read_records, write_records
from paimon_spark.format.avro.schemas import MANIFEST
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta, ManifestEntry, SimpleStats
from paimon_spark.format.manifests.codec import decode_manifest, encode_manifest
from paimon_spark.format.manifests.columns import ManifestColumns, columns_of_entries, decode_manifests
from paimon_spark.format.manifests.join import join_columns, split_columns

STATS = SimpleStats(b"min", b"max", (0, None, 5, 2**40))
FILE = DataFileMeta(
    "f-é.parquet", 1000, 5, b"k", b"l", EMPTY_STATS, STATS, 0, 4, 0, 5, ("x.index",), 17, 1, b"idx", 0, ("a", "ü"), "s3://x/bucket-0/f-é.parquet",
    3, ("a",), (1, -2),
)  # fmt: skip
BARE = DataFileMeta("g.parquet", 7, 5, b"", b"", EMPTY_STATS, SimpleStats(b"", b"", None), 0, 4, 0, 0)
ENTRIES = [
    ManifestEntry(0, b"p1", 1, 4, FILE),
    ManifestEntry(1, b"p2", 2, 4, BARE),
    ManifestEntry(0, b"p1", 3, 4, BARE),
]


def assert_equal_to_reference(columns: ManifestColumns, expected: Sequence[ManifestEntry]) -> None:
    assert len(columns) == len(expected)
    everything = list(range(len(expected)))
    assert columns.entries(everything) == list(expected)
    assert columns.entries(everything[::-2]) == list(expected)[::-2]
    assert columns.kind.tolist() == [e.kind for e in expected]
    assert columns.bucket.tolist() == [e.bucket for e in expected]
    assert columns.total_buckets.tolist() == [e.total_buckets for e in expected]
    assert columns.level.tolist() == [e.file.level for e in expected]
    assert columns.schema_id.tolist() == [e.file.schema_id for e in expected]
    assert columns.row_count.tolist() == [e.file.row_count for e in expected]
    assert columns.file_size.tolist() == [e.file.file_size for e in expected]
    assert columns.needed_integers("min_sequence_number").tolist() == [e.file.min_sequence_number for e in expected]
    assert columns.max_sequence_number.tolist() == [e.file.max_sequence_number for e in expected]
    assert columns.file_names == [e.file.file_name for e in expected]
    assert columns.with_extra_files().tolist() == [i for i, e in enumerate(expected) if e.file.extra_files]
    assert [columns.partitions[code] for code in columns.partition_code] == [e.partition for e in expected]
    assert len(set(columns.partitions)) == len(columns.partitions)


def test_genuine_manifests_of_all_writers_in_one_go() -> None:
    """Writers of five generations have five schemas; the top-level union of the oldest is among them."""
    files = golden_files("manifest")
    expected = [entry for file in files for entry in decode_manifest(file.data, str(file))]
    assert len(expected) > 500
    assert_equal_to_reference(decode_manifests([(str(file), file.data) for file in files]), expected)


def test_the_names_of_genuine_manifests_alone() -> None:
    files = [(str(file), file.data) for file in golden_files("manifest")]
    named, whole = decode_manifests(files, only_names=True), decode_manifests(files)
    assert named.file_names == whole.file_names
    assert len(named) == len(whole) > 500
    assert named.with_extra_files().tolist() == whole.with_extra_files().tolist() != []
    path, some = ("_FILE", "_EXTRA_FILES"), whole.with_extra_files()
    assert named.lists(path, some) == whole.lists(path, some)


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b"])
def test_a_name_that_is_none_is_refused_where_names_alone_are_decoded(name: str) -> None:
    files = [
        ("m", encode_manifest(ENTRIES)),
        ("bad", encode_manifest([ENTRIES[1]._replace(file=BARE._replace(file_name=name))])),
    ]
    named = decode_manifests(files, only_names=True)
    with pytest.raises(CorruptFile, match="cannot read bad: field '_FILE_NAME'"):
        len(named.file_names)


@pytest.mark.parametrize("writer", ["java-0.7", "java-0.9", "java-2.1", "pypaimon-2.1.0", "pypaimon-rust-0.4.0"])
def test_genuine_manifests_one_by_one(writer: str) -> None:
    for file in golden_files("manifest", writer):
        assert_equal_to_reference(decode_manifests([(str(file), file.data)]), decode_manifest(file.data, str(file)))


@given(st.lists(st.lists(entries, max_size=6), max_size=3), st.sampled_from(["zstd", "null", "snappy"]))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_random_manifests(manifests: list[list[Any]], compression: str) -> None:
    files = [(f"m{i}", encode_manifest(m, compression)) for i, m in enumerate(manifests)]
    assert_equal_to_reference(decode_manifests(files), [entry for manifest in manifests for entry in manifest])


@given(st.lists(st.lists(entries, max_size=6), max_size=3))
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_columns_of_entries_that_were_never_encoded(manifests: list[list[Any]]) -> None:
    parts = [columns_of_entries(f"m{i}", manifest) for i, manifest in enumerate(manifests)]
    for i, (part, manifest) in enumerate(zip(parts, manifests, strict=True)):
        assert_equal_to_reference(part, manifest)
        read, every = decode_manifests([(f"m{i}", encode_manifest(manifest))]), np.arange(len(manifest))
        (codes, shapes), (read_codes, read_shapes) = part.stats_shapes(every), read.stats_shapes(every)
        assert (codes.tolist(), shapes) == (read_codes.tolist(), read_shapes)
    together = join_columns([*parts, decode_manifests([("read", encode_manifest(ENTRIES))])])
    assert_equal_to_reference(together, [*(entry for manifest in manifests for entry in manifest), *ENTRIES])


near = st.tuples(st.integers(8, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 2)), max_size=2))


@given(st.lists(near, max_size=12))
@settings(max_examples=examples(60))
def test_partitions_that_differ_in_one_byte(rows: list[tuple[int, list[tuple[int, int]]]]) -> None:
    """Rows of neighbours are compared word by word; a row that ends within a word has its last byte in another one."""
    partitions = [bytes(dict(marks).get(place, 7) for place in range(size)) for size, marks in rows]
    expected = [ManifestEntry(0, partition, 0, 1, BARE) for partition in partitions]
    assert_equal_to_reference(decode_manifests([("m", encode_manifest(expected))]), expected)


@given(st.lists(st.lists(entries, max_size=4), max_size=4))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_columns_that_are_split_and_joined_again(manifests: list[list[Any]]) -> None:
    files = [(f"m{i}", encode_manifest(m)) for i, m in enumerate(manifests)]
    parts = split_columns(decode_manifests(files))
    for part, manifest in zip(parts, manifests, strict=True):
        assert_equal_to_reference(part, manifest)
    joined = join_columns(parts)
    assert_equal_to_reference(joined, [entry for manifest in manifests for entry in manifest])
    assert [joined.file_of(i) for i in range(len(joined))] == [f"m{i}" for i, m in enumerate(manifests) for _ in m]


def test_columns_of_all_writers_split_and_joined_again() -> None:
    files = [(str(file), file.data) for file in golden_files("manifest")]
    expected = [entry for name, data in files for entry in decode_manifest(data, name)]
    alone = [decode_manifests([file]) for file in files]
    assert_equal_to_reference(join_columns(alone), expected)
    assert_equal_to_reference(join_columns(split_columns(decode_manifests(files))), expected)


def test_no_manifests_and_manifests_without_entries() -> None:
    assert_equal_to_reference(decode_manifests([]), [])
    assert_equal_to_reference(decode_manifests([("a", encode_manifest([])), ("b", encode_manifest([]))]), [])


def test_one_entry_and_the_entries_of_an_array_of_numbers() -> None:
    columns = decode_manifests([("m", encode_manifest(ENTRIES))])
    assert columns.entry(1) == ENTRIES[1]
    assert columns.entries(np.array([2, 0])) == [ENTRIES[2], ENTRIES[0]]
    assert columns.entries([]) == []
    assert [columns.file_of(i) for i in range(3)] == ["m"] * 3


def test_files_with_and_without_statistics() -> None:
    columns = decode_manifests([("m", encode_manifest(ENTRIES))])
    files = [entry.file for entry in ENTRIES]
    assert columns.data_files([2, 1, 0]) == files[::-1]
    bare = [f._replace(key_stats=EMPTY_STATS, value_stats=EMPTY_STATS, value_stats_cols=()) for f in files]
    assert columns.data_files(range(3), stats=False) == bare


def test_making_entries_leaves_the_garbage_collector_as_it_was() -> None:
    columns = decode_manifests([("m", encode_manifest(ENTRIES))])
    gc.disable()
    try:
        columns.entry(0)
        assert not gc.isenabled()
    finally:
        gc.enable()
    columns.entry(0)
    assert gc.isenabled()


def rewritten(entry: ManifestEntry, change: Any) -> bytes:
    """A manifest whose schema and record were changed."""
    (record,) = read_records(encode_manifest([entry]), "m")
    schema = {**MANIFEST, "fields": [dict(f) for f in MANIFEST["fields"]]}
    change(schema, record)
    return write_records([record], schema)


def with_a_map(schema: Any, record: Any) -> None:
    schema["fields"].insert(0, {"name": "_TAGS", "type": {"type": "map", "values": "long"}})
    record["_TAGS"] = {"a": 1}


def test_a_schema_that_lanes_do_not_cover_is_read_by_the_reference() -> None:
    files = [("plain", encode_manifest(ENTRIES)), ("odd", rewritten(ENTRIES[0], with_a_map))]
    assert_equal_to_reference(decode_manifests(files), [*ENTRIES, ENTRIES[0]])


def without(name: str) -> Any:
    def change(schema: Any, record: Any) -> None:
        schema["fields"] = [f for f in schema["fields"] if f["name"] != name]

    return change


def nullable(name: str) -> Any:
    def change(schema: Any, record: Any) -> None:
        field = next(f for f in schema["fields"] if f["name"] == name)
        field["type"] = ["null", field["type"]]
        record[name] = None

    return change


@pytest.mark.parametrize("change", [without, nullable])
@pytest.mark.parametrize("name", ["_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_FILE", "_VERSION"])
def test_an_entry_without_what_it_needs_names_the_file(change: Any, name: str) -> None:
    files = [("good", encode_manifest(ENTRIES)), ("bad", rewritten(ENTRIES[0], change(name)))]
    with pytest.raises(CorruptFile, match="cannot read bad"):
        decode_manifests(files)


def test_a_source_that_is_none_names_the_file() -> None:
    def change(schema: Any, record: Any) -> None:
        record["_FILE"]["_FILE_SOURCE"] = 1 << 20

    bad = rewritten(ENTRIES[0], change)
    with pytest.raises(CorruptFile, match=r"cannot read bad.*_FILE_SOURCE"):
        decode_manifests([("good", encode_manifest(ENTRIES)), ("bad", bad)])
    with pytest.raises(CorruptFile, match="_FILE_SOURCE"):
        decode_manifest(bad, "bad")


def test_another_version_names_the_file() -> None:
    def change(schema: Any, record: Any) -> None:
        record["_VERSION"] = 3

    with pytest.raises(UnsupportedFeature, match=r"cannot read bad.*version 3"):
        decode_manifests([("good", encode_manifest(ENTRIES)), ("bad", rewritten(ENTRIES[0], change))])


@pytest.mark.parametrize("text", [b"f-\xc3\xa9.parquet", "ü".encode()])
def test_a_name_that_is_no_text_names_the_file(text: bytes) -> None:
    bad = encode_manifest(ENTRIES, "null").replace(text, b"\xff" * len(text))
    columns = decode_manifests([("good", encode_manifest(ENTRIES)), ("bad", bad)])
    assert columns.entries(range(3)) == ENTRIES
    with pytest.raises(CorruptFile, match=r"cannot read bad.*not UTF-8"):
        columns.entries(range(6))


def read_both(data: bytes) -> tuple[Any, Any]:
    """The entries by lanes and by the reference; None for a CorruptFile or UnsupportedFeature, which name the file."""
    results: list[Any] = []
    for decode in (
        lambda: decode_manifests([("the-file", data)]).entries(range(3)),
        lambda: decode_manifest(data, "the-file"),
    ):
        try:
            results.append(decode())
        except (CorruptFile, UnsupportedFeature) as error:
            results.append(None if "the-file" in str(error) else error)
    return results[0], results[1]


@pytest.mark.parametrize("compression", ["null", "zstd"])
def test_a_manifest_cut_anywhere_is_refused(compression: str) -> None:
    data = encode_manifest(ENTRIES, compression)
    header = data.index(data[-16:]) + 16
    for length in range(len(data)):
        if length == header:
            assert len(decode_manifests([("cut", data[:length])])) == 0  # what check_size is for
        else:
            with pytest.raises(CorruptFile, match="cut"):
                decode_manifests([("cut", data[:length])])


@pytest.mark.parametrize("compression", ["null", "zstd"])
def test_changed_bytes_give_an_error_or_what_the_reference_reads(compression: str) -> None:
    data = encode_manifest([*ENTRIES[:2], ENTRIES[2]._replace(bucket=7)], compression)
    for at in range(0, len(data), 1 if LONG else CI_SHARE):
        changed = data[:at] + bytes([data[at] ^ 0x05]) + data[at + 1 :]
        lanes, reference = read_both(changed)
        assert lanes is None or lanes == reference, at
