"""The ``bloom-filter`` index: may the file hold a value? (format section 9; Java: BloomFilterFileIndex, FastHash).

The library of XXH64 is imported with the first text that is hashed: most tables have no index.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.keys import float_bits, key_form
from paimon_spark.format.file_index.kinds import (
    BLOOM_FILTER,
    DEFAULT_FALSE_POSITIVES,
    DEFAULT_ITEMS,
    check_bloom_size,
)
from paimon_spark.format.types import BINARIES, FLOATS, DataType, Root

_LONG = 2**64 - 1
_MIXES = ((24, 1 + 8 + 256), (14, 1 + 4 + 16), (28, 1 + (1 << 31)))  # a shift to the right, a sum of shifts to the left
_AT_ONCE = 1 << 14  # numbers: what is computed of them stays in the cache
_PLACES_AT_ONCE, _LEAST_AT_ONCE = 3 << 14, 1 << 8  # bits of hashes; hashes
_MOST_FLAGS = 1 << 27  # bytes, one for each bit of a filter; of a larger filter the bits themselves are set

Hashes: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint64]]


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
