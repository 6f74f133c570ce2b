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
_AT_ONCE = 1 << 14  # texts: what is computed of them stays in the cache

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


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
