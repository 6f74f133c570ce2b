"""Arrays and maps of blobs: annotated bytes, what comes back, and bytes gone wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import CorruptFile
from paimon_spark.format.blob_nested import (
    begin_array,
    begin_map,
    decode_array,
    decode_map,
    encode_key,
    end_array,
    end_map,
)
from paimon_spark.format.type_text import parse_type

STRING = parse_type("STRING")
ELEMENTS = st.lists(st.none() | st.binary(max_size=300), max_size=8)
ARRAY = bytes.fromhex(
    "42434241"  # the magic number 1094861634
    "01"  # version
    "03000000"  # three elements
    "6162"  # the first, "ab"; the second is NULL, the third is empty
    "040502"  # lengths 2, -1, 0 as zigzag varints of their differences 2, -3, 1
    "03000000"  # bytes of these
)
MAP = bytes.fromhex(
    "4243424d"  # the magic number 0x4D424342
    "01"
    "02000000"
    "6b6b32"  # the keys "k" and "k2"
    "ff"  # the element of the first; that of the second is NULL
    "0202"  # lengths of the keys: 1, 2
    "0203"  # lengths of the elements: 1, -1
    "02000000"
    "02000000"
)


def lengths(elements: Sequence[bytes | None]) -> list[int]:
    return [-1 if element is None else len(element) for element in elements]


def array_of(elements: Sequence[bytes | None]) -> bytes:
    return begin_array(len(elements)) + b"".join(e or b"" for e in elements) + end_array(lengths(elements))


def reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda start, size: data[start : start + size]


def test_annotated_bytes() -> None:
    assert array_of([b"ab", None, b""]) == ARRAY
    keys = [encode_key("k", STRING), encode_key("k2", STRING)]
    assert begin_map(keys) + b"\xff" + end_map(keys, [1, -1]) == MAP
    assert decode_map(reader(MAP), len(MAP), STRING, "f") == [("k", (12, 1)), ("k2", None)]
    for text, key, data in (("TINYINT", -2, "fe"), ("SMALLINT", 258, "0201"), ("BIGINT", -1, "ff" * 8)):
        assert encode_key(key, parse_type(text)) == bytes.fromhex(data)


@given(ELEMENTS)
def test_arrays_come_back(elements: list[bytes | None]) -> None:
    data = array_of(elements)
    places = decode_array(reader(data), len(data), "f")
    assert [None if p is None else data[p[0] : p[0] + p[1]] for p in places] == elements


@given(st.dictionaries(st.integers(-(2**31), 2**31 - 1), st.none() | st.binary(max_size=300), max_size=8))
def test_maps_come_back(entries: dict[int, bytes | None]) -> None:
    key_type = parse_type("INT")
    keys = [encode_key(key, key_type) for key in entries]
    elements = list(entries.values())
    data = begin_map(keys) + b"".join(e or b"" for e in elements) + end_map(keys, lengths(elements))
    found = decode_map(reader(data), len(data), key_type, "f")
    assert {key: None if p is None else data[p[0] : p[0] + p[1]] for key, p in found} == entries


@given(st.integers(0, 100), st.binary(max_size=6), st.integers(0, 6))
def test_bytes_gone_wrong(place: int, new: bytes, gone: int) -> None:
    """Only CorruptFile may come of them, or places that lie within the value."""
    for whole in (ARRAY, MAP):
        at = place % (len(whole) + 1)
        data = whole[:at] + new + whole[at + gone :]
        try:
            if whole is ARRAY:
                places = decode_array(reader(data), len(data), "f")
            else:
                places = [found for _, found in decode_map(reader(data), len(data), STRING, "f")]
        except CorruptFile:
            continue
        assert all(p is None or 0 <= p[0] <= p[0] + p[1] <= len(data) for p in places)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it has 0 bytes"),
        (b"\0" * 20, "it begins with 0, version 0, 0 elements"),
        (ARRAY[:4] + b"\2" + ARRAY[5:], "version 2"),
        (ARRAY[:5] + b"\xff\xff\xff\xff" + ARRAY[9:], "-1 elements"),
        (ARRAY[:-4] + b"\xff\0\0\0", "its index has 255 bytes"),
        (ARRAY[:5] + b"\4" + ARRAY[6:], "the lengths of its 4 elements do not fit"),
        (ARRAY[:9] + b"x" + ARRAY[9:], "do not fit the 3 bytes"),
    ],
)
def test_what_is_no_array_is_named(data: bytes, message: str) -> None:
    with pytest.raises(CorruptFile, match=message):
        decode_array(reader(data), len(data), "f")


def test_what_is_no_map_is_named() -> None:
    for data, key_type, message in (
        (MAP, parse_type("INT"), "one of its keys is no INT"),
        (MAP.replace(b"k2", b"\xff2"), STRING, "one of its keys is no VARCHAR"),
        (MAP[:-8] + b"\x09" + MAP[-7:], STRING, "its indexes have 9 and 2 bytes"),
        (MAP[:-12] + b"\x01" + MAP[-11:], STRING, "it has 2 entries, and 2 keys, or one that is NULL"),
    ):
        with pytest.raises(CorruptFile, match=message):
            decode_map(reader(data), len(data), key_type, "f")
