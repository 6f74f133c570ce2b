"""Deletion vectors: which rows of data files are deleted (format section 8.1; Java: DeletionVectorsIndexFile).

An index file is the byte 1, then entries: size (4 bytes, big-endian), that many bytes of data, their CRC-32. The data
begin with a magic number, which is different for 32-bit and 64-bit vectors. Positions count the physical rows of a data
file from 0.
"""

from __future__ import annotations

import struct
import zlib
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap, BitMap64

from paimon_spark import limits
from paimon_spark.errors import CorruptFile, DataError
from paimon_spark.format.manifest import DeletionRange

FILE_VERSION = 1
MAGIC_32 = 1581511376
MAGIC_64 = 1681511377
MAX_POSITION_32 = 2**31 - 1
_MAX_POSITION_64 = 2**63 - 1
_FRAME = 8  # size before and checksum behind the data

Positions: TypeAlias = Sequence[int] | npt.NDArray[np.int64] | BitMap | BitMap64


@dataclass(frozen=True, slots=True)
class EncodedVector:
    """The bytes of a data file's vector in an index file, and the number of rows that it deletes."""

    data_file: str
    entry: bytes
    cardinality: int


def range_to_read(offset: int, recorded_length: int) -> tuple[int, int]:
    """Start and end of the bytes of an index file to read for an entry, by its offset and recorded length.

    The recorded length of a 64-bit vector includes its frame, that of a 32-bit one does not. The range is long enough
    for both, so its end may lie after the entry, or after the end of the file.
    """
    return offset, offset + recorded_length + _FRAME


def decode_vector(entry: bytes, where: str, recorded_length: int | None = None) -> BitMap | BitMap64:
    """The positions in an entry. Bytes behind the entry are ignored.

    Raises:
        CorruptFile: truncated, a wrong checksum, an unknown kind, or not of the recorded length.
    """
    size = int.from_bytes(entry[:4], "big")
    data, checksum = entry[4 : 4 + size], entry[4 + size : 8 + size]
    if len(entry) < 12 or len(checksum) < 4:
        raise _corrupt(where, f"it announces {size} bytes, but only {len(entry)} are there")
    if zlib.crc32(data) != int.from_bytes(checksum, "big"):
        raise _corrupt(where, "its checksum does not match")
    is_64 = int.from_bytes(data[:4], "little") == MAGIC_64
    if not is_64 and int.from_bytes(data[:4], "big") != MAGIC_32:
        raise _corrupt(where, f"its magic number is {data[:4].hex()}")
    if recorded_length is not None and recorded_length != (size + _FRAME if is_64 else size):
        raise _corrupt(where, f"it has {size} bytes of data, the index manifest recorded a length of {recorded_length}")
    try:
        vector = BitMap64.deserialize(data[4:]) if is_64 else BitMap.deserialize(data[4:])
    except ValueError as error:
        raise _corrupt(where, str(error)) from None
    if len(vector) > limits.MAX_DELETED_ROWS:
        raise _corrupt(where, f"it deletes {len(vector)} rows, more than {limits.MAX_DELETED_ROWS} ({limits.ADVICE})")
    return vector


def _corrupt(where: str, why: str) -> CorruptFile:
    return CorruptFile(f"cannot read the deletion vector {where}: {why}; the index file is truncated or damaged")


def deleted_positions(vector: BitMap | BitMap64) -> npt.NDArray[np.int64]:
    """The positions of a vector, ascending."""
    return np.array(vector.to_array(), np.int64)


def encode_vector(positions: Positions, bits: int = 32) -> bytes:
    """The entry of a vector: size, data and checksum.

    Args:
        positions: row numbers, in any order.
        bits: 32, which every release reads, or 64 (since 1.2).

    Raises:
        DataError: a position does not fit.
    """
    if isinstance(positions, BitMap | BitMap64):
        positions = positions.to_array()
    ordered = np.unique(np.asarray(positions, np.int64))
    limit = MAX_POSITION_32 if bits == 32 else _MAX_POSITION_64
    if len(ordered) and not 0 <= ordered[0] <= ordered[-1] <= limit:
        found = f"{ordered[0]} to {ordered[-1]}"
        raise DataError(f"a deletion vector of {bits} bits holds row numbers from 0 to {limit}, found {found}")
    data = _encode_64(ordered) if bits == 64 else struct.pack(">i", MAGIC_32) + _roaring(ordered)
    return struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data))


def recorded_length(entry: bytes) -> int:
    """The length that index manifests record of an entry: that of the data alone for 32 bits, of the whole for 64."""
    return len(entry) if int.from_bytes(entry[4:8], "little") == MAGIC_64 else len(entry) - _FRAME


def join_vectors(vectors: Iterable[EncodedVector]) -> tuple[bytes, tuple[DeletionRange, ...]]:
    """A whole index file of vectors that are encoded already, and where each lies in it."""
    pieces, ranges, offset = [bytes([FILE_VERSION])], [], 1
    for vector in vectors:
        ranges.append(DeletionRange(vector.data_file, offset, recorded_length(vector.entry), vector.cardinality))
        pieces.append(vector.entry)
        offset += len(vector.entry)
    return b"".join(pieces), tuple(ranges)


def _roaring(positions: npt.NDArray[np.int64]) -> bytes:
    bitmap = BitMap(array("I", positions.astype(np.uint32).tobytes()))
    bitmap.run_optimize()
    return bytes(bitmap.serialize())


def _encode_64(positions: npt.NDArray[np.int64]) -> bytes:
    """Iceberg's layout: one 32-bit bitmap for each high half from 0 on, empty ones included."""
    count = int(positions[-1] >> 32) + 1 if len(positions) else 0
    edges = np.searchsorted(positions, np.arange(count + 1) << 32)
    bitmaps = (
        struct.pack("<i", high) + _roaring(positions[edges[high] : edges[high + 1]] & 0xFFFFFFFF)
        for high in range(count)
    )
    return struct.pack("<iq", MAGIC_64, count) + b"".join(bitmaps)
