"""Deletion vectors and HASH indexes: genuine bytes both ways, random positions, damage of every byte."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64
from support.draws.format_values import damaged, decoded_or_named_error, golden_cases
from support.index_files import decode_vectors, encode_vectors
from support.long_runs import examples

from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.bucket import decode_hashes, encode_hashes
from paimon_spark.format.deletion_vector import (
    decode_vector,
    deleted_positions,
    encode_vector,
    range_to_read,
    recorded_length,
)
from paimon_spark.format.manifest import DeletionRange

ENTRIES = golden_cases("java-2.1/dv_entries.json")


@pytest.mark.parametrize("case", ENTRIES, ids=lambda c: f"{c['bitmap64']}-{c['positions'][-1]}")
def test_genuine_entries(case: dict[str, Any]) -> None:
    entry, bits = bytes.fromhex(case["hex"]), 64 if case["bitmap64"] else 32
    vector = decode_vector(entry, "v", case["recorded_length"])
    assert isinstance(vector, BitMap64 if bits == 64 else BitMap)
    assert len(vector) == case["cardinality"]
    assert deleted_positions(vector).tolist() == case["positions"]
    assert encode_vector(case["positions"], bits) == entry
    assert encode_vector(vector, bits) == entry
    assert encode_vector(np.array(case["positions"][::-1]), bits) == entry
    assert recorded_length(entry) == case["recorded_length"]


@pytest.mark.parametrize("case", golden_cases("dv_index_files.json"), ids=lambda c: c["table"])
def test_genuine_index_files(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    ranges = tuple(DeletionRange(r["f0"], r["f1"], r["f2"], r["_CARDINALITY"]) for r in case["ranges"])
    vectors = decode_vectors(data, ranges, "f")
    assert [len(vectors[r.data_file]) for r in ranges] == [r.cardinality for r in ranges]
    assert encode_vectors(vectors, 64 if case["table"].endswith("64") else 32) == (data, ranges)


def test_an_index_file_without_vectors_is_one_byte() -> None:
    assert encode_vectors({}) == (b"\x01", ())
    assert decode_vectors(b"\x01", (), "f") == {}


@given(st.dictionaries(st.text(max_size=5), st.sets(st.integers(0, 2**31 - 1) | st.integers(0, 70_000)), max_size=3))
@settings(max_examples=examples(80))
def test_random_vectors_of_32_bits_survive(positions: dict[str, set[int]]) -> None:
    assert_survive(positions, 32)


@given(st.dictionaries(st.text(max_size=5), st.sets(st.integers(0, 2**35) | st.integers(0, 100)), max_size=3))
@settings(max_examples=examples(80))
def test_random_vectors_of_64_bits_survive(positions: dict[str, set[int]]) -> None:
    assert_survive(positions, 64)


def assert_survive(positions: dict[str, set[int]], bits: int) -> None:
    data, ranges = encode_vectors({name: sorted(rows) for name, rows in positions.items()}, bits)
    vectors = decode_vectors(data, ranges, "f")
    assert {name: deleted_positions(vector).tolist() for name, vector in vectors.items()} == {
        name: sorted(rows) for name, rows in positions.items()
    }
    for r in ranges:
        start, end = range_to_read(r.offset, r.length)
        assert deleted_positions(decode_vector(data[start:end], "v", r.length)).tolist() == sorted(
            positions[r.data_file]
        )


@pytest.mark.parametrize(("position", "bits"), [(-1, 32), (2**31, 32), (-1, 64)])
def test_positions_that_do_not_fit_are_refused(position: int, bits: int) -> None:
    with pytest.raises(DataError, match=str(position)):
        encode_vector([0, position], bits)


@pytest.mark.parametrize("bits", [32, 64])
def test_damaged_entries_are_refused(bits: int) -> None:
    entry = encode_vector([1, 5, 70_000], bits)
    for data in damaged(entry):
        vector = decoded_or_named_error(lambda d, where: decode_vector(d, where, recorded_length(entry)), data)
        assert vector is None


def test_another_length_than_recorded_is_refused() -> None:
    entry = encode_vector([1, 5], 32)
    with pytest.raises(CorruptFile, match="recorded a length of 30"):
        decode_vector(entry, "v", 30)


@pytest.mark.parametrize(("offset", "length"), [(-5, 22), (1, 2**31 - 1), (500, 22), (1, -1)])
def test_ranges_outside_of_the_file_are_refused(offset: int, length: int) -> None:
    data, _ = encode_vectors({"a": [1]})
    with pytest.raises(CorruptFile, match="index-1"):
        decode_vectors(data, (DeletionRange("a", offset, length),), "index-1")


@pytest.mark.parametrize("case", golden_cases("hash_index.json"), ids=lambda c: f"{c['writer']}-{c['bucket']}")
def test_genuine_hash_indexes(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    hashes = decode_hashes(data)
    assert hashes.dtype == np.int32
    assert hashes.tolist() == case["hashes"]
    assert encode_hashes(hashes) == data


def test_a_hash_index_cut_within_a_hash_is_refused() -> None:
    assert decode_hashes(b"").tolist() == []
    with pytest.raises(CorruptFile, match="index-7"):
        decode_hashes(b"\x00" * 7, "index-7")
