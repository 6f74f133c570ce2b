"""Blocks of index files: compressed bytes with a checksum; and numbers of any length in them.

Java: BlockTrailer, BlockCompressionType, VarLengthIntUtils (release 2.0).
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import cramjam
import numpy as np
import zstandard
from pyroaring import BitMap64

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.global_index.keys import varint
from paimon_spark.limits import MAX_FILE_BYTES

Octets: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]
Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
TRAILER = 5
_LZ4_HEAD = 8
_CODES: Mapping[str, int] = MappingProxyType({"none": 0, "zstd": 1, "lz4": 2})
_LONGEST = 9  # bytes of a number of 63 bits


def _unzstd(data: bytes, size: int) -> bytes:
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=size)


def _unlz4(data: bytes, size: int) -> bytes:
    return bytes(cramjam.lz4.decompress_block(data[_LZ4_HEAD:], output_len=size))


_DECODERS: Mapping[int, Callable[[bytes, int], bytes]] = MappingProxyType({1: _unzstd, 2: _unlz4})


def take(data: Bytes, offset: int, size: int, where: str) -> bytes:
    """Some bytes of a file.

    Raises:
        CorruptFile: the file does not have them.
    """
    if offset < 0 or size < 0 or offset + size > len(data):
        raise damaged(where, f"bytes {offset} to {offset + size} are announced, and it has {len(data)}")
    return data[offset : offset + size]


def damaged(where: str, why: str) -> CorruptFile:
    """The error for an index file that cannot be read."""
    return CorruptFile(
        f"cannot read the index file {where}: {why}; the file is damaged: drop the index and create it again, or read "
        "with 'global-index.enabled' = 'false'"
    )


def read_block(data: Bytes, offset: int, size: int, where: str) -> bytes:
    """A block without its trailer, as it was before it was compressed.

    Raises:
        CorruptFile: it is damaged.
        UnsupportedFeature: it is compressed by a codec that this release does not have.
    """
    raw = take(data, offset, size + TRAILER, where)
    block, code = raw[:size], raw[size]
    if zlib.crc32(raw[size : size + 1], zlib.crc32(block)) != int.from_bytes(raw[size + 1 :], "little"):
        raise damaged(where, f"the checksum of the block at byte {offset} is wrong")
    if code == 0:
        return block
    if code not in _DECODERS:
        raise UnsupportedFeature(f"the index file {where} has blocks of codec {code}, which this release does not read")
    unpacked, used = _varint_at(block)
    if unpacked > MAX_FILE_BYTES:
        raise damaged(where, f"a block of {unpacked} bytes is announced")
    try:
        found = _DECODERS[code](block[used:], unpacked)
    except (zstandard.ZstdError, cramjam.DecompressionError, ValueError) as error:
        raise damaged(where, f"the block at byte {offset} cannot be unpacked: {error}") from None
    if len(found) != unpacked:
        raise damaged(where, f"the block at byte {offset} has {len(found)} bytes, and {unpacked} are announced")
    return found


def _varint_at(data: bytes) -> tuple[int, int]:
    number = 0
    for place, byte in enumerate(data[:_LONGEST]):
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number, place + 1
    return number, min(len(data), _LONGEST)


def packed_block(block: bytes, codec: str) -> tuple[bytes, int]:
    """A block with its trailer, and its size without that. It is packed if that saves an eighth of it."""
    code, packed = 0, block
    if codec != "none" and block:
        if codec == "zstd":
            made = zstandard.ZstdCompressor(level=1).compress(block)
        else:
            raw = bytes(cramjam.lz4.compress_block(block, store_size=False))
            made = len(raw).to_bytes(4, "little") + len(block).to_bytes(4, "little") + raw
        made = varint(len(block)) + made
        if len(made) < len(block) - len(block) // 8:
            code, packed = _CODES[codec], made
    check = zlib.crc32(bytes([code]), zlib.crc32(packed))
    return packed + bytes([code]) + check.to_bytes(4, "little"), len(packed)


def decode_varints(data: Octets, where: str) -> Ints:
    """Numbers that stand one after the other.

    Raises:
        CorruptFile: the last one does not end, or one is too long.
    """
    if not len(data):
        return np.empty(0, np.int64)
    ends = np.flatnonzero(data < 128)
    if not len(ends) or ends[-1] != len(data) - 1:
        raise damaged(where, "a number does not end")
    starts = np.append(0, ends[:-1] + 1)
    lengths = ends - starts + 1
    if lengths.max() > _LONGEST:
        raise damaged(where, "a number is too long")
    places = np.arange(len(data)) - np.repeat(starts, lengths)
    return np.add.reduceat((data & 127).astype(np.int64) << (7 * places), starts)


def encode_varints(numbers: Ints) -> tuple[Octets, Ints]:
    """Numbers that are not negative one after the other, and the bytes of each."""
    lengths = np.ones(len(numbers), np.int64)
    for place in range(1, _LONGEST):
        lengths += numbers >> 7 * place > 0
    ends = np.cumsum(lengths)
    found = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    starts = ends - lengths
    for place in range(int(lengths.max(initial=0))):
        longer = lengths > place
        septets = (numbers[longer] >> 7 * place) & 127
        found[starts[longer] + place] = septets | np.where(lengths[longer] > place + 1, 128, 0)
    return found, lengths


def numbers_at(data: Octets, places: Ints, where: str) -> tuple[Ints, Ints]:
    """The numbers that begin at some places, and the places after them.

    Raises:
        CorruptFile: a place is outside, or a number does not end.
    """
    found, after, open_ = np.zeros(len(places), np.int64), places.copy(), np.ones(len(places), np.bool_)
    for place in range(_LONGEST):
        if not open_.any():
            return found, after
        at = after[open_]
        if at.min() < 0 or at.max() >= len(data):
            raise damaged(where, "a number is outside of its block")
        octets = data[at].astype(np.int64)
        found[open_] |= (octets & 127) << 7 * place
        after[open_] += 1
        open_[np.flatnonzero(open_)[octets < 128]] = False
    if open_.any():
        raise damaged(where, "a number is too long")
    return found, after


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The numbers of all ranges, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    found: Ints = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    return found


def read_rows(data: bytes, where: str) -> BitMap64:
    """A set of row numbers in the portable format of 64 bits.

    Raises:
        CorruptFile: the bytes are no such set.
    """
    try:
        return BitMap64.deserialize(data)
    except (ValueError, MemoryError):
        raise damaged(where, "a bitmap of rows is not whole") from None


def rows_bytes(rows: BitMap64) -> bytes:
    """The portable bytes, with runs where they are shorter, as the Java system writes them."""
    copy = BitMap64(rows)
    copy.run_optimize()
    return bytes(copy.serialize())


def row_numbers(numbers: Ints) -> BitMap64:
    """The set of some row numbers."""
    given = array("Q")
    given.frombytes(np.ascontiguousarray(numbers, np.uint64).tobytes())
    return BitMap64(given)
