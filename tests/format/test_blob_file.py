"""Files of BLOB columns and references to blobs: golden bytes, and bytes gone wrong."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.golden_tables import GoldenTable

from paimon_spark.errors import CorruptFile
from paimon_spark.format.blob_file import (
    NULL,
    PLACEHOLDER,
    TAIL,
    BlobDescriptor,
    check_entries,
    decode_descriptor,
    decode_index,
    index_length,
)


def entry(value: bytes) -> bytes:
    """A value as the format says that it is written."""
    whole = struct.pack("<i", 1481511375) + value + struct.pack("<q", len(value) + 16)
    return whole + struct.pack("<I", zlib.crc32(whole))


def varints(lengths: list[int]) -> bytes:
    """Lengths as zigzag varints of the differences, one by one."""
    data, before = bytearray(), 0
    for length in lengths:
        delta, before = length - before, length
        number = delta * 2 if delta >= 0 else -delta * 2 - 1
        while number > 0x7F:
            data.append(number & 0x7F | 0x80)
            number >>= 7
        data.append(number)
    return bytes(data)


@given(st.lists(st.none() | st.just(PLACEHOLDER) | st.integers(16, 2**40), max_size=30))
def test_an_index_has_the_lengths_that_were_written(drawn: list[int | None]) -> None:
    lengths = [NULL if length is None else length for length in drawn]
    size = sum(length for length in lengths if length > 0)
    found, starts = decode_index(varints(lengths), size, len(lengths), "f")
    assert found.tolist() == lengths
    before = 0
    for start, length in zip(starts.tolist(), lengths, strict=True):
        assert length < 0 or start == before
        before += max(length, 0)


@pytest.mark.parametrize(
    ("index", "size", "rows", "message"),
    [
        (varints([16, 20]), 36, 3, "has 2 rows, and the manifest says 3"),
        (varints([16, 20]), 35, 2, "36 bytes by its index, and 35 are there"),
        (varints([15]), 15, 1, "an entry has 15 bytes"),
        (varints([-3]), 0, 1, "an entry has -3 bytes"),
        (varints([2**62, 2**62, 2**62, 2**62]), 0, 4, "an entry has"),
        (b"\x80", 0, 1, "breaks off"),
        (b"\x80" * 10 + b"\x00", 0, 1, "longer than 64 bits"),
    ],
)
def test_a_damaged_index_is_named(index: bytes, size: int, rows: int, message: str) -> None:
    with pytest.raises(CorruptFile, match=f"the blob file f: .*{message}"):
        decode_index(index, size, rows, "f")


def test_the_golden_file(tmp_path: Path) -> None:
    """It has a text, NULL, an empty value and 300 zeros."""
    (path,) = GoldenTable("java-2.1", "blob").unpack(tmp_path).glob("bucket-0/*.blob")
    data = path.read_bytes()
    length = index_length(data[-TAIL:], "f")
    entries = data[: -TAIL - length]
    lengths, starts = decode_index(data[len(entries) : -TAIL], len(entries), 4, "f")
    assert lengths.tolist()[1] == NULL
    check_entries(entries, lengths[lengths >= 0], "f")
    assert entries == b"".join(map(entry, (b"hello blob", b"", bytes(lengths[3] - 16))))
    assert starts[3] == len(entries) - lengths[3]


@pytest.mark.parametrize("place", [0, 3, 4, 6, 8, 15, 16, 19])
def test_a_damaged_entry_is_named(place: int) -> None:
    data = bytearray(entry(b"abcd"))
    check_entries(bytes(data), np.array([20]), "f")
    data[place] ^= 1
    with pytest.raises(CorruptFile, match="the blob file f"):
        check_entries(bytes(data), np.array([20]), "f")


@pytest.mark.parametrize("tail", [b"", b"\1\0\0\0\2", b"\1\0\0\0\0", b"\xff\xff\xff\xff\1"])
def test_a_file_of_another_kind_is_named(tail: bytes) -> None:
    with pytest.raises(CorruptFile, match="the blob file f"):
        index_length(tail, "f")


def test_references() -> None:
    made = BlobDescriptor("file:/a/é.blob", 4, 2**40)
    data = made.encode()
    assert data == (
        b"\x02" + struct.pack("<q", 0x424C4F4244455343) + struct.pack("<i", 15) + "file:/a/é.blob".encode()
        + struct.pack("<qq", 4, 2**40)
    )  # fmt: skip
    assert decode_descriptor(data, "x") == made
    older = b"\x01" + data[9:]  # without the magic number
    assert decode_descriptor(older, "x") == made
    for wrong in (
        b"",
        b"hello",
        b"\x03" + data[1:],
        data[:-1],
        data[:20],
        b"\x02" + bytes(40),
        b"\x01\xff\xff\xff\xff",
    ):
        with pytest.raises(CorruptFile, match="reading x: "):
            decode_descriptor(wrong, "x")
    with pytest.raises(CorruptFile, match="not UTF-8"):
        decode_descriptor(data.replace("é".encode(), b"\xff\xfe"), "x")
