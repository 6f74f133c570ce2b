"""XXH64 of many texts at once, those of one length together (https://github.com/Cyan4973/xxHash, the specification).

Texts of 32 bytes and more, and texts of rare lengths, are hashed one by one by the library, which is imported with the
first of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

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
_AT_ONCE = 1 << 13  # texts: what is computed of them stays in the cache

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]


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
    for first in range(0, len(starts), _AT_ONCE):
        hashes[first : first + _AT_ONCE] = _of_some(data, starts[first : first + _AT_ONCE], length)
    return hashes


def _of_some(data: npt.NDArray[np.uint8], starts: npt.NDArray[Any], length: int) -> Words:
    padded = np.zeros((len(starts), -(-max(length, 1) // 8) * 8), np.uint8)
    first, last = int(starts[0]), int(starts[-1])
    if last - first == (len(starts) - 1) * length:  # one behind the other: texts do not overlap
        padded[:, :length] = data[first : last + length].reshape(-1, length) if length else 0
    else:
        padded[:, :length] = data[starts[:, None] + np.arange(length)]
    words = padded.view("<u8")
    hashed = np.full(len(starts), _P5 + np.uint64(length), np.uint64)
    for lane in range(length // 8):
        hashed ^= _turned(words[:, lane] * _P2, 31) * _P1
        hashed = _turned(hashed, 27) * _P1 + _P4
    rest = length - length % 8
    if length % 8 >= 4:
        hashed ^= padded[:, rest : rest + 4].copy().view("<u4")[:, 0].astype(np.uint64) * _P1
        hashed = _turned(hashed, 23) * _P2 + _P3
        rest += 4
    for place in range(rest, length):
        hashed ^= padded[:, place].astype(np.uint64) * _P5
        hashed = _turned(hashed, 11) * _P1
    hashed ^= hashed >> np.uint64(33)
    hashed *= _P2
    hashed ^= hashed >> np.uint64(29)
    hashed *= _P3
    hashed ^= hashed >> np.uint64(32)
    return hashed


def _turned(words: Words, bits: int) -> Words:
    """The words with their bits rotated to the left."""
    turned = words << np.uint64(bits)
    turned |= words >> np.uint64(64 - bits)
    return turned
