"""Murmur3 with the seed and the tail rule of BinaryRow and BinaryString (format section 5.3; Java: MurmurHashUtils)."""

from __future__ import annotations

import struct

SEED = 42
_MASK = 0xFFFFFFFF


def murmur_hash(data: bytes) -> int:
    """The signed 32-bit hash of data. Bytes after the last whole word are mixed one at a time, as signed integers."""
    whole = len(data) // 4 * 4
    words = struct.unpack_from(f"<{whole // 4}I", data)
    tail = struct.unpack_from(f"<{len(data) - whole}b", data, whole)
    h = SEED
    for k in (*words, *tail):
        k = k * 0xCC9E2D51 & _MASK
        k = (k << 15 | k >> 17) & _MASK
        h ^= k * 0x1B873593 & _MASK
        h = (h << 13 | h >> 19) & _MASK
        h = (h * 5 + 0xE6546B64) & _MASK
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - 2**32 if h >= 2**31 else h
