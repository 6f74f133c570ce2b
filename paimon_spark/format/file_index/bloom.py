"""The ``bloom-filter`` index: may the file hold a value? (format section 9; Java: BloomFilterFileIndex, FastHash)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from xxhash import xxh64_intdigest

from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.keys import float_bits, key_form
from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root

BLOOM_FILTER = "bloom-filter"
DEFAULT_ITEMS = 1_000_000
DEFAULT_FALSE_POSITIVES = 0.1

_ROOTS = INTEGERS | FLOATS | STRINGS | BINARIES | TIMESTAMPS | {Root.DATE, Root.TIME}
_LONG = 2**64 - 1


@dataclass(frozen=True)
class BloomFilter:
    """hash_count bits are set for every value."""

    hash_count: int
    bits: bytes

    def may_hold(self, value: Any, data_type: DataType) -> bool:
        """False only if it is certain that the file does not hold the value, which must not be None."""
        positions = _positions(hash64(value, data_type), self.hash_count, 8 * len(self.bits))
        return all(self.bits[position >> 3] >> (position & 7) & 1 for position in positions)


def decode_bloom(data: bytes, where: str) -> BloomFilter:
    """Raises CorruptFile where the bytes are no filter."""
    reader = ByteReader(data, f"the {BLOOM_FILTER} index of {where}")
    hash_count = reader.int32()
    if hash_count < 1 or not reader.rest:
        raise reader.corrupt(f"it has {hash_count} hash functions and {reader.rest} bytes of bits")
    return BloomFilter(hash_count, reader.take(reader.rest))


def encode_bloom(
    values: Iterable[Any],
    data_type: DataType,
    items: int = DEFAULT_ITEMS,
    false_positives: float = DEFAULT_FALSE_POSITIVES,
) -> bytes:
    """A filter of the values; None is left out.

    Args:
        items: the index option ``items``, the expected number of distinct values.
        false_positives: the index option ``fpp``; with items it determines the size.

    Raises:
        UnsupportedFeature: BOOLEAN, DECIMAL and nested types.
    """
    key_form(data_type, _ROOTS, BLOOM_FILTER)
    whole = int(-items * math.log(false_positives) / (math.log(2) * math.log(2)))
    bit_count = whole + (8 - whole % 8)
    hash_count = max(1, math.floor(bit_count / items * math.log(2) + 0.5))
    bits = bytearray(bit_count // 8)
    for value in values:
        if value is not None:
            for position in _positions(hash64(value, data_type), hash_count, bit_count):
                bits[position >> 3] |= 1 << (position & 7)
    return hash_count.to_bytes(4, "big") + bytes(bits)


def hash64(value: Any, data_type: DataType) -> int:
    """The signed 64-bit hash of a value: XXH64 of strings and binary, else a mix of the number as 64 bits.

    Raises:
        UnsupportedFeature: BOOLEAN, DECIMAL and nested types.
    """
    root = data_type.root
    if root in BINARIES:
        return _signed(xxh64_intdigest(value))
    form = key_form(data_type, _ROOTS, BLOOM_FILTER)
    if root in FLOATS:
        return _mix(float_bits(value, 4 if root is Root.FLOAT else 8))
    key = form.key(value)
    return _signed(xxh64_intdigest(key)) if isinstance(key, bytes) else _mix(key)


def _positions(hashed: int, hash_count: int, bit_count: int) -> list[int]:
    """The bits of a hash: multiples of its high half added to its low half, as 32-bit integers."""
    low, high = hashed & 0xFFFFFFFF, hashed >> 32
    sums = ((low + i * high) & 0xFFFFFFFF for i in range(1, hash_count + 1))
    return [(total if total < 2**31 else total ^ 0xFFFFFFFF) % bit_count for total in sums]


def _mix(key: int) -> int:
    """Thomas Wang's mix of 64 bits, with the sign kept by the shifts to the right."""
    key = _signed(~key + (key << 21))
    key ^= key >> 24
    key = _signed(key + (key << 3) + (key << 8))
    key ^= key >> 14
    key = _signed(key + (key << 2) + (key << 4))
    key ^= key >> 28
    return _signed(key + (key << 31))


def _signed(value: int) -> int:
    value &= _LONG
    return value - 2**64 if value >= 2**63 else value
