"""Per-file indexes: genuine vectors both ways, random values back and forth, damaged bytes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.index_files import (
    decode_bitmap,
    decode_bloom,
    decode_bsi,
    decode_range_bitmap,
    encode_bitmap,
    encode_bloom,
    encode_bsi,
    encode_range_bitmap,
    row_values,
)
from support.paths import GOLDEN

from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.file_index.bloom import hash64
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.container import decode_container, encode_container
from paimon_spark.format.file_index.range_bitmap import open_range_bitmap
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import TIMESTAMPS, DataType, Root

BYTES = GOLDEN / "bytes"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def golden_cases(name: str) -> list[Any]:
    cases = []
    for file in sorted(BYTES.glob(f"java-*/{name}.json")):
        for number, case in enumerate(json.loads(file.read_text("utf-8"))["cases"]):
            cases.append(pytest.param(case, id=f"{file.parent.name}-{number}-{case.get('type', '')}"))
    return cases


def internal(text: Any, data_type: DataType) -> Any:
    """A golden value as an internal value."""
    if text is None:
        return None
    if data_type.root in TIMESTAMPS:
        whole, _, digits = text.partition(".")
        seconds = (datetime.fromisoformat(whole + "+00:00") - EPOCH) // (EPOCH.resolution * 10**6)
        return seconds * 10**9 + int(digits.ljust(9, "0") if digits else 0)
    if data_type.root is Root.DECIMAL:
        return Decimal(text)
    if data_type.root in (Root.FLOAT, Root.DOUBLE):
        return float(text)
    if data_type.root in (Root.BINARY, Root.VARBINARY):
        return bytes.fromhex(text.removeprefix("0x"))
    return text


def type_and_values(case: dict[str, Any]) -> tuple[DataType, list[Any]]:
    data_type = parse_type(case["type"])
    return data_type, [internal(value, data_type) for value in case["values"]]


def size(text: str | None) -> int | None:
    return None if text is None else int(text.removesuffix("b"))


@pytest.mark.parametrize("case", golden_cases("bloom_hash"))
def test_genuine_hashes(case: dict[str, Any]) -> None:
    data_type = parse_type(case["type"])
    assert hash64(internal(case["value"], data_type), data_type) == int(case["hash64"])


@pytest.mark.parametrize("case", golden_cases("bloom_index"))
def test_genuine_bloom_filters(case: dict[str, Any]) -> None:
    data_type, values = type_and_values(case)
    raw = bytes.fromhex(case["hex"])
    options = case["options"]
    assert encode_bloom(values, data_type, int(options["items"]), float(options["fpp"])) == raw
    assert all(decode_bloom(raw, "x").may_hold(value, data_type) for value in values if value is not None)


@pytest.mark.parametrize("case", golden_cases("bitmap_index"))
def test_genuine_bitmaps(case: dict[str, Any]) -> None:
    data_type, values = type_and_values(case)
    raw = bytes.fromhex(case["hex"])
    index = decode_bitmap(raw, data_type, "x")
    assert row_values(index) == values
    for value in values:
        found = index.nulls if value is None else index.rows_of_key(index.form.key(value))
        assert list(found) == [row for row, other in enumerate(values) if other == value]
    written = encode_bitmap(
        values, data_type, int(case["options"]["version"]), size(case["options"].get("index-block-size")) or 2**14
    )
    assert row_values(decode_bitmap(written, data_type, "x")) == values
    assert len(written) == len(raw)
    repeated = {value for value in values if value is not None and values.count(value) > 1}
    if case["options"]["version"] == "2" and len(repeated) < 2:  # else the order of bodies is that of a hash map
        assert written == raw


@pytest.mark.parametrize("case", golden_cases("bsi_index"))
def test_genuine_bit_slices(case: dict[str, Any]) -> None:
    data_type, values = type_and_values(case)
    raw = bytes.fromhex(case["hex"])
    assert row_values(decode_bsi(raw, data_type, "x")) == values
    assert encode_bsi(values, data_type) == raw


@pytest.mark.parametrize("case", golden_cases("range_bitmap_index"))
def test_genuine_range_bitmaps(case: dict[str, Any]) -> None:
    data_type, values = type_and_values(case)
    raw = bytes.fromhex(case["hex"])
    assert row_values(decode_range_bitmap(raw, data_type, "x")) == values
    assert encode_range_bitmap(values, data_type, size(case["options"].get("chunk-size"))) == raw


@pytest.mark.parametrize("case", golden_cases("file_index_container"))
def test_genuine_containers(case: dict[str, Any]) -> None:
    columns = {
        column: {name: None if text is None else bytes.fromhex(text) for name, text in indexes.items()}
        for column, indexes in case["columns"].items()
    }
    raw = bytes.fromhex(case["hex"])
    assert decode_container(raw, "x") == columns
    assert encode_container(columns) == raw


def test_there_are_genuine_vectors_of_every_kind() -> None:
    counts = {
        name: len(golden_cases(name))
        for name in (
            "bloom_hash",
            "bloom_index",
            "bitmap_index",
            "bsi_index",
            "range_bitmap_index",
            "file_index_container",
        )
    }
    assert counts == {
        "bloom_hash": 58,
        "bloom_index": 10,
        "bitmap_index": 40,
        "bsi_index": 7,
        "range_bitmap_index": 15,
        "file_index_container": 2,
    }


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63) + 1, 2**63 - 1),
    "FLOAT": st.floats(width=32),
    "DOUBLE": st.floats(),
    "DECIMAL(18, 4)": st.decimals(-(10**14) + 1, 10**14 - 1, places=4),
    "STRING": st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    "DATE": st.integers(-(10**5), 10**5),
    "TIME(3)": st.integers(0, 86_399_999),
    "TIMESTAMP(3)": st.integers(-(10**12), 10**12).map(lambda millis: millis * 10**6),
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": st.integers(-(10**12), 10**12).map(lambda micros: micros * 1000),
}
INTEGER_LIKE = [name for name in VALUES if name not in ("BOOLEAN", "FLOAT", "DOUBLE", "STRING")]


def columns(names: list[str]) -> st.SearchStrategy[tuple[str, list[Any]]]:
    """A type and up to 40 values of it, many of them equal, some null."""
    return st.sampled_from(names).flatmap(
        lambda name: st.tuples(
            st.just(name),
            st.lists(VALUES[name], min_size=1, max_size=5).flatmap(
                lambda pool: st.lists(st.sampled_from([None, *pool]), max_size=40)
            ),
        )
    )


def same(found: list[Any], values: list[Any]) -> bool:
    """Equal, with -0.0 apart from 0.0 and NaN equal to itself."""
    return [(type(v), math.copysign(1, v) if v == 0 else str(v)) if isinstance(v, float) else v for v in found] == [
        (type(v), math.copysign(1, v) if v == 0 else str(v)) if isinstance(v, float) else v for v in values
    ]


@settings(deadline=None)
@given(
    columns([name for name in VALUES if not name.startswith("DECIMAL")]), st.sampled_from([1, 2]), st.integers(50, 200)
)
def test_any_bitmap_back_and_forth(column: tuple[str, list[Any]], version: int, block: int) -> None:
    data_type = parse_type(column[0])
    assert same(
        row_values(decode_bitmap(encode_bitmap(column[1], data_type, version, block), data_type, "x")), column[1]
    )


@settings(deadline=None)
@given(columns(INTEGER_LIKE))
def test_any_bit_slices_back_and_forth(column: tuple[str, list[Any]]) -> None:
    data_type = parse_type(column[0])
    assert row_values(decode_bsi(encode_bsi(column[1], data_type), data_type, "x")) == column[1]


@settings(deadline=None)
@given(columns(list(VALUES)), st.sampled_from([None, 0, 8, 30]))
def test_any_range_bitmap_back_and_forth(column: tuple[str, list[Any]], chunk: int | None) -> None:
    data_type = parse_type(column[0])
    assert same(
        row_values(decode_range_bitmap(encode_range_bitmap(column[1], data_type, chunk), data_type, "x")), column[1]
    )


@settings(deadline=None)
@given(columns(list(VALUES)), st.sampled_from([None, 0, 8, 30]), st.integers(1, 6), st.booleans())
def test_the_first_keys_of_any_range_bitmap(
    column: tuple[str, list[Any]], chunk: int | None, count: int, greatest: bool
) -> None:
    data_type = parse_type(column[0])
    reader = ByteReader(encode_range_bitmap(column[1], data_type, chunk), "x")
    index = open_range_bitmap(reader, data_type)
    keys = {row: index.form.key(value) for row, value in enumerate(column[1]) if value is not None}
    expected = sorted(set(keys.values()), reverse=greatest)[:count]
    assert index.first_keys(count, greatest) == expected
    assert set(index.present) == set(keys)
    for last in expected:
        wanted = {row for row, key in keys.items() if (key >= last if greatest else key <= last)}
        assert set(index.until(last, greatest)) == wanted


@settings(deadline=None)
@given(columns([name for name in VALUES if name != "BOOLEAN" and not name.startswith("DECIMAL")]))
def test_a_bloom_filter_never_denies_what_it_holds(column: tuple[str, list[Any]]) -> None:
    data_type = parse_type(column[0])
    bloom = decode_bloom(encode_bloom(column[1], data_type, 50, 0.2), "x")
    assert all(bloom.may_hold(value, data_type) for value in column[1] if value is not None)


def test_a_bloom_filter_denies_most_of_what_it_does_not_hold() -> None:
    bigint = parse_type("BIGINT")
    bloom = decode_bloom(encode_bloom(range(1000), bigint, 1000, 0.05), "x")
    assert sum(bloom.may_hold(value, bigint) for value in range(1000, 11000)) < 800


NAMES = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(NAMES, st.dictionaries(st.sampled_from(["a", "b"]), st.none() | st.binary())))
def test_any_container_back_and_forth(indexes: dict[str, dict[str, bytes | None]]) -> None:
    assert decode_container(encode_container(indexes), "x") == indexes


def test_names_are_modified_utf8() -> None:
    """Java's DataOutput.writeUTF: NUL as c0 80, U+1F600 as the surrogates d83d de00 of three bytes each."""
    raw = encode_container({"\0\U0001f600": {}})
    assert bytes.fromhex("0008c080eda0bdedb880") in raw


INT, STRING = parse_type("INT"), parse_type("STRING")
WHOLE: list[tuple[str, bytes, Callable[[bytes], Any]]] = [
    ("bitmap 1", encode_bitmap([1, 2, 1, None], INT, 1), lambda b: decode_bitmap(b, INT, "f.orc")),
    ("bitmap 2", encode_bitmap(["a", "b", "a"], STRING), lambda b: decode_bitmap(b, STRING, "f.orc")),
    ("bsi", encode_bsi([1, -7, None], INT), lambda b: decode_bsi(b, INT, "f.orc")),
    ("range", encode_range_bitmap(["a", None, "b"], STRING), lambda b: decode_range_bitmap(b, STRING, "f.orc")),
    ("container", encode_container({"a": {"bsi": b"1"}}), lambda b: decode_container(b, "f.orc")),
]


@pytest.mark.parametrize(("name", "raw", "decode"), WHOLE, ids=[name for name, _, _ in WHOLE])
def test_damaged_bytes_are_named_or_harmless(name: str, raw: bytes, decode: Callable[[bytes], Any]) -> None:
    decode(raw)
    for end in range(len(raw)):
        with pytest.raises(CorruptFile, match=r"f\.orc"):
            decode(raw[:end])
    for place in range(len(raw)):
        for flip in (1, 0x80, 0xFF):
            garbled = bytearray(raw)
            garbled[place] ^= flip
            try:
                decode(bytes(garbled))
            except CorruptFile as error:
                assert "f.orc" in str(error)  # noqa: PT017


def test_a_large_bloom_filter_has_the_bits_of_its_values() -> None:
    """Without a byte for each of its bits: that would be more memory than the file."""
    bigint = parse_type("BIGINT")
    data = encode_bloom([0, -1, None, 2**62], bigint, 30_000_000, 0.1)
    bloom = decode_bloom(data, "x")
    assert len(data) > 2**24
    assert all(bloom.may_hold(value, bigint) for value in (0, -1, 2**62))
    assert sum(byte.bit_count() for byte in data[4:] if byte) <= 3 * 4
    assert not any(bloom.may_hold(value, bigint) for value in range(1, 1000))


def test_an_empty_bloom_filter_is_corrupt() -> None:
    with pytest.raises(CorruptFile, match=r"bloom-filter index of f\.orc"):
        decode_bloom(b"\0\0\0\1", "f.orc")


@pytest.mark.parametrize(
    ("encode", "text"),
    [
        (encode_bloom, "BOOLEAN"),
        (encode_bloom, "DECIMAL(5, 2)"),
        (encode_bitmap, "DECIMAL(5, 2)"),
        (encode_bitmap, "BYTES"),
        (encode_bsi, "STRING"),
        (encode_bsi, "DOUBLE"),
        (encode_range_bitmap, "BYTES"),
        (encode_range_bitmap, "DECIMAL(19, 2)"),
        (encode_range_bitmap, "TIMESTAMP(7)"),
    ],
)
def test_a_type_without_this_index_is_refused_by_name(encode: Callable[..., bytes], text: str) -> None:
    data_type = parse_type(text)
    with pytest.raises(UnsupportedFeature, match=str(data_type.root)):
        encode([], data_type)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(OptionError, match="index-block-size"):
        encode_bitmap(["x" * 100], parse_type("STRING"), block_size=50)


def test_finer_timestamps_share_a_key() -> None:
    nanos = parse_type("TIMESTAMP(9)")
    index = decode_bitmap(encode_bitmap([1, 999, 1000, -1], nanos), nanos, "x")
    assert list(index.rows_of_key(index.form.key(500))) == [0, 1]
    assert list(index.rows_of_key(index.form.key(-1000))) == [3]


@pytest.mark.parametrize("value", [5, -5])
def test_a_bsi_index_that_names_a_row_behind_the_last_is_damaged(value: int) -> None:
    raw = bytearray(encode_bsi([None, value], INT))
    assert raw[1:5] == (2).to_bytes(4, "big")
    raw[4] = 1
    with pytest.raises(CorruptFile, match=r"f\.orc.*names row 1 of 1"):
        decode_bsi(bytes(raw), INT, "f.orc")
