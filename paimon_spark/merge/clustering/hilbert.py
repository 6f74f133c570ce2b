"""Positions of points on the Hilbert curve, a whole batch at a time (Java: HilbertIndexer, by Skilling's algorithm)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paimon_spark.merge.clustering.zorder import Bytes, interleave
from paimon_spark.merge.keys.key_words import Words

BITS = 63
"""Of a coordinate, as in Java."""


def hilbert_positions(coordinates: Sequence[Words], bits: int = BITS) -> Bytes:
    """The positions of points on the curve; neighbours on it are neighbours in space.

    J. Skilling, Programming the Hilbert curve (2004): the axes are turned into the transposed position, whose bits are
    interleaved.

    Args:
        coordinates: of each of at least two axes, below 2**bits.
        bits: of a coordinate.

    Returns:
        Shape (rows, 8 x axes), compared byte by byte; the position is at the high end, zero bits follow.
    """
    axes = [np.array(axis, np.uint64) for axis in coordinates]
    _untwist(axes, bits)
    _gray_encode(axes)
    left = np.uint64(64 - bits)
    return interleave([(axis << left).astype(">u8").view(np.uint8).reshape(-1, 8) for axis in axes])


def _untwist(axes: list[Words], bits: int) -> None:
    """Undoes the turns and reflections of the cells, from the largest to the smallest."""
    used = max((int(axis.max()).bit_length() for axis in axes if len(axis)), default=0)
    for _ in range(used, bits):  # no point has these bits: each such cell only exchanges the axes
        for number in range(1, len(axes)):
            axes[0], axes[number] = axes[number], axes[0]
    for bit in range(min(used, bits) - 1, 0, -1):
        lower = np.uint64((1 << bit) - 1)
        first = axes[0]
        first ^= _mask(first, bit) & lower
        for axis in axes[1:]:
            is_set = _mask(axis, bit)
            first ^= is_set & lower
            exchanged = (first ^ axis) & ~is_set & lower
            first ^= exchanged
            axis ^= exchanged


def _mask(axis: Words, bit: int) -> Words:
    """All bits of a row where it has the bit."""
    found: Words = np.uint64(0) - ((axis >> np.uint64(bit)) & np.uint64(1))
    return found


def _gray_encode(axes: list[Words]) -> None:
    for number in range(1, len(axes)):
        axes[number] ^= axes[number - 1]
    parity = axes[-1] >> np.uint64(1)  # each bit: the parity of the higher bits of the last axis
    for shift in (1, 2, 4, 8, 16, 32):
        parity ^= parity >> np.uint64(shift)
    for axis in axes:
        axis ^= parity
