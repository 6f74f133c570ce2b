"""Interleaves the bits of columns, a whole batch at a time (Java: ZOrderByteUtils.interleaveBits)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = npt.NDArray[np.uint8]
"""One row of bytes for each row: a matrix."""

_WIDEST, _WIDEST_PAIRS = 8, 4  # the bits of one byte of so many columns fit into a 64-bit number, and those of two
_NUMBERS = (1, 2, 4, 8)  # widths
_ROWS = 16_384  # at once: what they need stays in the cache


def interleave(columns: Sequence[Bytes]) -> Bytes:
    """The z-values of rows: the first bits of all columns, then their second bits, and so on.

    A column that has no more bytes takes no part from there on, so columns may have different widths.

    Args:
        columns: at least one, each of shape (rows, its width), bytes in the order of their weight.

    Returns:
        Shape (rows, the sum of the widths); compared byte by byte.
    """
    rows, widths = len(columns[0]), [column.shape[1] for column in columns]
    steps = _steps(widths)
    values = np.empty(rows, [(str(number), *step.column_type) for number, step in enumerate(steps)])
    for start in range(0, rows, _ROWS):
        parts = [column[start : start + _ROWS] for column in columns]
        pairs = [np.ascontiguousarray(part[:, : part.shape[1] // 2 * 2]).view(">u2") for part in parts]
        for number, step in enumerate(steps):
            taken = [(pairs[at] if step.width == 2 else parts[at])[:, step.place // step.width] for at in step.columns]
            values[str(number)][start : start + _ROWS] = _mixed(taken, step)
    return values.view(np.uint8).reshape(rows, sum(widths))


@dataclass(frozen=True)
class _Step:
    """A part of the z-values: the bits of one byte, or of two, of each column that has them.

    Attributes:
        columns: their numbers.
        place: of the first byte.
        width: 1 or 2.
    """

    columns: tuple[int, ...]
    place: int
    width: int

    @property
    def column_type(self) -> tuple[Any, ...]:
        """The type of the part, and its shape where no number has its width."""
        size = self.width * len(self.columns)
        return (f">u{size}",) if size in _NUMBERS and len(self.columns) <= _WIDEST else (np.uint8, (size,))


def _steps(widths: Sequence[int]) -> list[_Step]:
    """The parts of z-values of columns of these widths."""
    steps: list[_Step] = []
    place = 0
    while place < max(widths):
        taken = tuple(number for number, width in enumerate(widths) if width > place)
        is_pair = place % 2 == 0 and len(taken) <= _WIDEST_PAIRS and all(widths[at] > place + 1 for at in taken)
        steps.append(_Step(taken, place, 2 if is_pair else 1))
        place += steps[-1].width
    return steps


def _mixed(columns: Sequence[npt.NDArray[np.unsignedinteger]], step: _Step) -> npt.NDArray[np.unsignedinteger]:
    """The values of a part: numbers where there are some of its width, else bytes."""
    count = len(columns)
    if count > _WIDEST:
        bits = np.unpackbits(np.stack(columns, axis=1), axis=1).reshape(-1, count, 8)
        return np.packbits(bits.transpose(0, 2, 1).reshape(-1, 8 * count), axis=1)
    table = _spread(count, step.width)
    if all((column == column[0]).all() for column in columns):  # such as the first bytes of small numbers
        columns = [column[:1] for column in columns]
    joined = table.take(columns[0].astype(np.intp))
    for column in columns[1:]:
        joined <<= 1
        joined |= table.take(column.astype(np.intp))
    size = joined.dtype.itemsize
    if size == step.width * count:
        return joined
    return joined.byteswap().view(np.uint8).reshape(-1, size)[:, size - step.width * count :]


@cache
def _spread(count: int, width: int) -> npt.NDArray[np.unsignedinteger]:
    """For each number of one or two bytes the one that has its bits in every `count`-th place, from the last one on."""
    numbers = np.arange(256**width, dtype=np.uint64)
    spread = np.zeros(len(numbers), np.uint64)
    for bit in range(8 * width):
        spread |= (numbers >> np.uint64(bit) & np.uint64(1)) << np.uint64(count * bit)
    size = width * count
    return spread.astype(f"u{next(width for width in _NUMBERS if width >= size)}")
