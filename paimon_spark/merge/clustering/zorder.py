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


def interleave(columns: Sequence[Bytes]) -> Bytes:
    """The z-values of rows: the first bits of all columns, then their second bits, and so on.

    A column that has no more bytes takes no part from there on, so columns may have different widths.

    Args:
        columns: at least one, each of shape (rows, its width), bytes in the order of their weight.

    Returns:
        Shape (rows, the sum of the widths); compared byte by byte.
    """
    width = max(column.shape[1] for column in columns)
    parts = [_interleaved([c[:, place] for c in columns if c.shape[1] > place]) for place in range(width)]
    return np.concatenate(parts, axis=1)


def _interleaved(columns: Sequence[npt.NDArray[np.uint8]]) -> Bytes:
    """The bits of one byte of each column."""
    count = len(columns)
    if count == 1:
        return columns[0].reshape(-1, 1)
    if count > _WIDEST:
        bits = np.unpackbits(np.stack(columns, axis=1), axis=1).reshape(-1, count, 8)
        return np.packbits(bits.transpose(0, 2, 1).reshape(-1, 8 * count), axis=1)
    spread = _spread(count)
    joined = spread.take(columns[0])
    for number, column in enumerate(columns[1:], 1):
        joined |= spread.take(column) >> np.uint64(number)
    return joined.astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - count :]


@cache
def _spread(count: int) -> npt.NDArray[np.uint64]:
    """For each byte the number whose bits, from the highest of `count` bytes on, are `count` apart."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8).reshape(-1, 1), axis=1).astype(np.uint64)
    places = np.array([count * (8 - bit) - 1 for bit in range(8)], np.uint64)
    found: npt.NDArray[np.uint64] = (bits << places).sum(axis=1, dtype=np.uint64)
    return found
