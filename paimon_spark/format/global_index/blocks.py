"""Blocks of index files: compressed bytes with a checksum; and sets of rows.

Java: BlockTrailer, BlockCompressionType (release 2.0).
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Mapping
from types import MappingProxyType

import cramjam
import numpy as np
import zstandard
from pyroaring import BitMap64

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.global_index.numbers import Ints, damaged, number_at, varint
from paimon_spark.limits import MAX_FILE_BYTES

TRAILER = 5
_LZ4_HEAD = 8
_CODES: Mapping[str, int] = MappingProxyType({"none": 0, "zstd": 1, "lz4": 2})


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
    unpacked, used = number_at(block, 0, where)
    if unpacked > MAX_FILE_BYTES:
        raise damaged(where, f"a block of {unpacked} bytes is announced")
    try:
        found = _DECODERS[code](block[used:], unpacked)
    except (zstandard.ZstdError, cramjam.DecompressionError, ValueError) as error:
        raise damaged(where, f"the block at byte {offset} cannot be unpacked: {error}") from None
    if len(found) != unpacked:
        raise damaged(where, f"the block at byte {offset} has {len(found)} bytes, and {unpacked} are announced")
    return found


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
