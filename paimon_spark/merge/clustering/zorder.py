"""Interleaves the bits of columns, a whole batch at a time (Java: ZOrderByteUtils.interleaveBits)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""One row of bytes for each row: a matrix."""

_WIDEST = 8  # the bits of one byte of so many columns fit into a 64-bit number
_ROWS = 16_384  # at once: what they need stays in the cache


def interleave(columns: Sequence[Bytes]) -> Bytes:
    """The z-values of rows: the first bits of all columns, then their second bits, and so on.

    A column that has no more bytes takes no part from there on, so columns may have different widths.

    Args:
        columns: at least one, each of shape (rows, its width), bytes in the order of their weight.

    Returns:
        Shape (rows, the sum of the widths); compared byte by byte.
    """
    rows = len(columns[0])
    values = np.empty((rows, sum(column.shape[1] for column in columns)), np.uint8)
    width = max(column.shape[1] for column in columns)
    for start in range(0, rows, _ROWS):
        parts = [column[start : start + _ROWS] for column in columns]
        at = 0
        for place in range(width):
            taken = [part[:, place] for part in parts if part.shape[1] > place]
            values[start : start + _ROWS, at : at + len(taken)] = _interleaved(taken)
            at += len(taken)
    return values


def _interleaved(columns: Sequence[npt.NDArray[np.uint8]]) -> Bytes:
    """The bits of one byte of each column."""
    count = len(columns)
    if count == 1:
        return columns[0].reshape(-1, 1)
    if count > _WIDEST:
        bits = np.unpackbits(np.stack(columns, axis=1), axis=1).reshape(-1, count, 8)
        return np.packbits(bits.transpose(0, 2, 1).reshape(-1, 8 * count), axis=1)
    spread = _spread(count)
    joined = spread[0].take(columns[0])
    for table, column in zip(spread[1:], columns[1:], strict=True):
        joined |= table.take(column)
    size = joined.dtype.itemsize
    return joined.byteswap().view(np.uint8).reshape(-1, size)[:, size - count :]


@cache
def _spread(count: int) -> list[npt.NDArray[np.unsignedinteger]]:
    """For each column, and each byte of it, the number that has its bits, from the highest of `count` bytes on."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8).reshape(-1, 1), axis=1).astype(np.uint64)
    places = np.array([count * (8 - bit) - 1 for bit in range(8)], np.uint64)
    first: npt.NDArray[np.uint64] = (bits << places).sum(axis=1, dtype=np.uint64)
    narrow = np.uint16 if count == 2 else np.uint32 if count <= 4 else np.uint64
    return [(first >> np.uint64(number)).astype(narrow) for number in range(count)]
