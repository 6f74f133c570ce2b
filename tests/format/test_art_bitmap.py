"""Bytes of Java's Roaring64Bitmap: genuine ones read and written alike, damage is told, any set comes back."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64
from support.long_runs import examples
from support.paths import GOLDEN

from paimon_spark.format.art_bitmap import decode_art_bitmap, encode_art_bitmap

VECTORS = GOLDEN / "bytes" / "java-2.0.0" / "function_bytes.json"
GENUINE: list[dict[str, Any]] = [
    case for case in json.loads(VECTORS.read_text("utf-8"))["cases"] if case["function"] == "rbm64"
]
SINGLE = [case["inputs"][0] for case in GENUINE if len(case["inputs"]) == 1]


def numbers(ranges: list[list[int]]) -> BitMap64:
    return BitMap64([first + i * step for first, count, step in ranges for i in range(count)])


@pytest.mark.parametrize("value", SINGLE, ids=lambda value: str(value["numbers"])[:40])
def test_genuine_bitmaps_read_and_written_alike(value: dict[str, Any]) -> None:
    expected = numbers(value["numbers"])
    assert decode_art_bitmap(bytes.fromhex(value["hex"])) == expected
    assert encode_art_bitmap(expected).hex() == value["hex"]


@pytest.mark.parametrize(
    "case", [case for case in GENUINE if len(case["inputs"]) > 1], ids=lambda c: str(len(c["fold"]))
)
def test_genuine_unions_are_read(case: dict[str, Any]) -> None:
    """A union has containers in the order in which they came, and empty slots."""
    expected = BitMap64.union(BitMap64(), *[numbers(value["numbers"]) for value in case["inputs"]])
    assert decode_art_bitmap(bytes.fromhex(case["fold"])) == expected


BOUNDS = [0, 2**16 - 1, 2**16, 2**32 - 1, 2**32, 2**48, 2**63 - 1, 2**63, 2**64 - 1]
NUMBER = st.one_of(st.sampled_from(BOUNDS), st.integers(0, 2**64 - 1), st.integers(0, 2**20))
CHUNK = st.builds(
    lambda start, count, shift: [(start + (i << shift)) % 2**64 for i in range(count)],
    NUMBER,
    st.integers(0, 300),
    st.sampled_from([0, 1, 8, 16, 24, 32, 40, 48, 56]),
)


@settings(max_examples=examples(150))
@given(st.lists(CHUNK, max_size=4))
def test_any_set_comes_back(chunks: list[list[int]]) -> None:
    expected = BitMap64([number for chunk in chunks for number in chunk])
    assert decode_art_bitmap(encode_art_bitmap(expected)) == expected


def test_the_bitmap_that_is_written_stays_as_it_is() -> None:
    dense = BitMap64(range(1000))
    before = dense.serialize()
    encode_art_bitmap(dense)
    assert dense.serialize() == before


@pytest.mark.parametrize("value", SINGLE[1:], ids=lambda value: str(value["numbers"])[:40])
def test_bytes_that_end_too_early_or_go_on(value: dict[str, Any]) -> None:
    data = bytes.fromhex(value["hex"])
    ends = range(len(data)) if len(data) < 300 else random.Random(0).sample(range(len(data)), 100)
    for end in ends:
        with pytest.raises(ValueError, match="bytes are missing"):
            decode_art_bitmap(data[:end])
    with pytest.raises(ValueError, match="1 bytes follow the bitmap"):
        decode_art_bitmap(data + b"\0")


@pytest.mark.parametrize(
    ("hexes", "message"),
    [
        ("02", "the first byte is 2"),
        ("0001", "1 bytes follow"),
        ("01" + "01" + "00" * 7 + "05000000", "a node is of the unknown kind 5"),
        (
            "01" + "01" + "00" * 7 + "04000000" + "00" * 6 + "07" + "00" * 7 + "00000000" + "00" * 16,
            "there is no container 7",
        ),
        (
            "01" + "01" + "00" * 7 + "04000000" + "00" * 14 + "01000000" + "fe01000000" + "02",
            "a container is marked with 2",
        ),
        (
            "01" + "01" + "00" * 7 + "04000000" + "00" * 14 + "01000000" + "fe01000000" + "01" + "03" + "01000000",
            "a container is of the unknown kind 3",
        ),
        (
            "01" + "01" + "00" * 7 + "04000000" + "00" * 14 + "01000000" + "fe01000000" + "01" + "02" + "00000000",
            "a container has 0 values",
        ),
    ],
)
def test_damage_is_named(hexes: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_art_bitmap(bytes.fromhex(hexes))


def test_any_damage_is_a_value_error() -> None:
    r = random.Random(3)
    for value in SINGLE:
        data = bytes.fromhex(value["hex"])
        for _ in range(60 if len(data) < 5000 else 5):
            damaged = bytearray(data)
            for _ in range(r.randint(1, 3)):
                damaged[r.randrange(min(len(data), 400))] = r.randrange(256)
            try:
                decode_art_bitmap(bytes(damaged))
            except ValueError:
                continue
