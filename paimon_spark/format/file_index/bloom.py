"""The ``bloom-filter`` index: may the file hold a value? (format section 9; Java: BloomFilterFileIndex, FastHash).

The library of XXH64 is imported with the first text that is hashed: most tables have no index.

Texts of one length are hashed together with XXH64 (https://github.com/Cyan4973/xxHash, the specification). Texts of 32
bytes and more, and texts of rare lengths, are hashed one by one by the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.keys import float_bits, key_form
from paimon_spark.format.file_index.settings import (
    BLOOM_FILTER,
    DEFAULT_FALSE_POSITIVES,
    DEFAULT_ITEMS,
    check_bloom_size,
)
from paimon_spark.format.types import BINARIES, FLOATS, DataType, Root

_MIXES = ((24, 1 + 8 + 256), (14, 1 + 4 + 16), (28, 1 + (1 << 31)))  # a shift to the right, a sum of shifts to the left
_AT_ONCE = 1 << 14  # numbers: what is computed of them stays in the cache
_PLACES_AT_ONCE, _LEAST_AT_ONCE = 3 << 14, 1 << 8  # bits of hashes; hashes
_MOST_FLAGS = 1 << 27  # bytes, one for each bit of a filter; of a larger filter the bits themselves are set
Hashes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
LONG = 32  # bytes; from here on the hash has four lanes
_FEW = 64  # of so few texts the library is faster
Words = np.ndarray[tuple[int], np.dtype[np.uint64]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


@dataclass(frozen=True)
class BloomFilter:
    """hash_count bits are set for every value; bits are read when they are asked for."""

    hash_count: int
    bits: ByteReader

    def may_hold(self, value: Any, data_type: DataType) -> bool:
        """False only if it is certain that the file does not hold the value, which must not be None."""
        hashed = hash64(value, data_type)
        return all(
            self.bits.part(position >> 3, 1).take(1)[0] >> (position & 7) & 1
            for position in _positions(hashed, self.hash_count, 8 * self.bits.rest)
        )


class BloomBuilder:
    """A filter to which the values of a column are added in parts."""

    def __init__(self, items: int = DEFAULT_ITEMS, false_positives: float = DEFAULT_FALSE_POSITIVES) -> None:
        """An empty filter.

        Args:
            items: the index option ``items``, the expected number of distinct values.
            false_positives: the index option ``fpp``; with items it determines the size.

        Raises:
            OptionError: the numbers give no size of a filter.
        """
        self._bit_count = check_bloom_size(items, false_positives)
        self._hash_count = max(1, math.floor(self._bit_count / items * math.log(2) + 0.5))
        self._bits = np.zeros(self._bit_count // 8, np.uint8)
        self._flags = np.zeros(self._bit_count if self._bit_count <= _MOST_FLAGS else 0, np.bool_)
        self._at_once = max(_PLACES_AT_ONCE // self._hash_count, _LEAST_AT_ONCE)
        shape = (self._hash_count, self._at_once)
        self._room = np.empty(shape, np.int32), np.empty(shape, np.int32)
        self._room_of_places = np.empty(shape, np.int64)

    def add(self, hashes: Hashes) -> None:
        """Adds the values with these hashes."""
        for start in range(0, len(hashes), self._at_once):
            places = self._places(hashes[start : start + self._at_once])
            if len(self._flags):  # a flag is set faster than a bit
                self._flags[places] = True
            else:
                np.bitwise_or.at(self._bits, places >> 3, np.left_shift(1, places & 7).astype(np.uint8))

    def to_bytes(self) -> bytes:
        """The index."""
        bits = np.packbits(self._flags, bitorder="little")
        self._bits[: len(bits)] |= bits
        return self._hash_count.to_bytes(4, "big") + self._bits.tobytes()

    def _places(self, hashes: Hashes) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """The bits of hashes, as _positions, in memory that the next call uses again: a row for each hash function."""
        totals, scratch = (room[:, : len(hashes)] for room in self._room)
        places = self._room_of_places[:, : len(hashes)]
        halves = hashes.astype("<u8", copy=False).view("<i4").reshape(-1, 2)
        np.add(halves[:, 0], halves[:, 1], out=totals[0])
        for number in range(1, self._hash_count):
            np.add(totals[number - 1], halves[:, 1], out=totals[number])
        np.right_shift(totals, 31, out=scratch)
        totals ^= scratch  # the complement of a negative number
        np.floor_divide(totals, self._bit_count, out=scratch)
        scratch *= self._bit_count
        np.subtract(totals, scratch, out=places)  # numpy's % takes three times as long
        return places


def open_bloom(reader: ByteReader) -> BloomFilter:
    """The filter that begins at the reader's position. Raises CorruptFile where the bytes are no filter."""
    hash_count = reader.int32()
    if hash_count < 1 or not reader.rest:
        raise reader.corrupt(f"it has {hash_count} hash functions and {reader.rest} bytes of bits")
    return BloomFilter(hash_count, reader.part(reader.position, reader.rest))


def hash64(value: Any, data_type: DataType) -> int:
    """The signed 64-bit hash of a value: XXH64 of strings and binary, else a mix of the number as 64 bits.

    Raises:
        UnsupportedFeature: BOOLEAN, DECIMAL and nested types.
    """
    root = data_type.root
    if root in BINARIES:
        return int(hash_bytes([value]).view(np.int64)[0])
    form = key_form(data_type, BLOOM_FILTER)
    key = float_bits(value, 4 if root is Root.FLOAT else 8) if root in FLOATS else form.key(value)
    if isinstance(key, bytes):
        return int(hash_bytes([key]).view(np.int64)[0])
    return int(hash_numbers(np.array([key], np.int64)).view(np.int64)[0])


def hash_bytes(values: Iterable[bytes]) -> Hashes:
    """XXH64 of every value. There is one call for each value, so give it distinct ones."""
    from xxhash import xxh64_intdigest

    return np.fromiter(map(xxh64_intdigest, values), np.uint64)


def hash_numbers(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Hashes:
    """Thomas Wang's mix of 64 bits of every number, with the sign kept by the shifts to the right."""
    hashes = np.empty(len(numbers), np.int64)
    shifted = np.empty(min(len(numbers), _AT_ONCE), np.int64)
    for start in range(0, len(numbers), _AT_ONCE):
        key = hashes[start : start + _AT_ONCE]
        other = shifted[: len(key)]
        np.multiply(numbers[start : start + _AT_ONCE], (1 << 21) - 1, out=key)  # (number << 21) - number
        key -= 1
        for bits, factor in _MIXES:
            np.right_shift(key, bits, out=other)
            key ^= other
            key *= factor
    return hashes.view(np.uint64)


def _positions(hashed: int, hash_count: int, bit_count: int) -> list[int]:
    """The bits of a hash: multiples of its high half added to its low half, as 32-bit integers."""
    low, high = hashed & 0xFFFFFFFF, hashed >> 32
    sums = ((low + i * high) & 0xFFFFFFFF for i in range(1, hash_count + 1))
    return [(total if total < 2**31 else total ^ 0xFFFFFFFF) % bit_count for total in sums]


def hash_texts(data: npt.NDArray[np.uint8], starts: npt.NDArray[Any], lengths: npt.NDArray[Any]) -> Words:
    """The hashes of texts.

    Args:
        data: the bytes of all texts.
        starts: where each text begins.
        lengths: how many bytes it has.
    """
    hashes = np.empty(len(starts), np.uint64)
    length = int(lengths[0]) if len(lengths) else 0
    if length < LONG and len(starts) >= _FEW and (lengths == length).all():
        return _of_length(data, starts, length, hashes)
    counts = np.bincount(np.minimum(lengths, LONG), minlength=LONG + 1)
    one_by_one = np.flatnonzero((counts < _FEW)[np.minimum(lengths, LONG)] | (lengths >= LONG))
    if len(one_by_one):
        from xxhash import xxh64_intdigest

        spans = zip(starts[one_by_one].tolist(), lengths[one_by_one].tolist(), strict=True)
        whole = data.data
        found = (xxh64_intdigest(whole[start : start + length]) for start, length in spans)
        hashes[one_by_one] = np.fromiter(found, np.uint64, len(one_by_one))
    for length in np.flatnonzero(counts[:LONG] >= _FEW).tolist():
        rows = np.flatnonzero(lengths == length)
        hashes[rows] = _of_length(data, starts[rows], length, np.empty(len(rows), np.uint64))
    return hashes


def _of_length(data: npt.NDArray[np.uint8], starts: npt.NDArray[Any], length: int, hashes: Words) -> Words:
    """The hashes of texts of this length, below 32; they are put where the last argument says."""
    room = np.empty(min(len(starts), _AT_ONCE), np.uint64), np.empty(min(len(starts), _AT_ONCE), np.uint64)
    for first in range(0, len(starts), _AT_ONCE):
        some = starts[first : first + _AT_ONCE]
        _hash_some(
            _rows_of(data, some, length), length, hashes[first : first + _AT_ONCE], *(r[: len(some)] for r in room)
        )
    return hashes


def _rows_of(data: npt.NDArray[np.uint8], starts: npt.NDArray[Any], length: int) -> Matrix:
    """The bytes of texts, a row for each, with zeros behind them up to whole words."""
    first, last = int(starts[0]), int(starts[-1])
    joined = last - first == (len(starts) - 1) * length  # one behind the other: texts do not overlap
    if joined and length and length % 8 == 0 and (data.ctypes.data + first) % 8 == 0:
        return data[first : last + length].reshape(-1, length)
    padded = np.zeros((len(starts), -(-max(length, 1) // 8) * 8), np.uint8)
    if joined:
        padded[:, :length] = data[first : last + length].reshape(-1, length) if length else 0
    else:
        padded[:, :length] = data[starts[:, None] + np.arange(length)]
    return padded


def _hash_some(rows: Matrix, length: int, hashed: Words, lane: Words, other: Words) -> None:
    """Hashes the bytes of rows into ``hashed``; the last two are memory to compute in."""
    words = rows.view("<u8")
    hashed[:] = _P5 + np.uint64(length)
    for number in range(length // 8):
        np.multiply(words[:, number], _P2, out=lane)
        _turn(lane, 31, other)
        lane *= _P1
        hashed ^= lane
        _turn(hashed, 27, other)
        hashed *= _P1
        hashed += _P4
    rest = length - length % 8
    if length % 8 >= 4:
        hashed ^= rows[:, rest : rest + 4].copy().view("<u4")[:, 0].astype(np.uint64) * _P1
        _turn(hashed, 23, other)
        hashed *= _P2
        hashed += _P3
        rest += 4
    for place in range(rest, length):
        hashed ^= rows[:, place].astype(np.uint64) * _P5
        _turn(hashed, 11, other)
        hashed *= _P1
    for bits, factor in ((33, _P2), (29, _P3), (32, np.uint64(1))):
        np.right_shift(hashed, np.uint64(bits), out=other)
        hashed ^= other
        hashed *= factor


def _turn(words: Words, bits: int, other: Words) -> None:
    """Rotates the bits of words to the left, in place."""
    np.right_shift(words, np.uint64(64 - bits), out=other)
    np.left_shift(words, np.uint64(bits), out=words)
    words |= other
