"""Values of columns as bytes of a z-order, and as coordinates of a Hilbert curve (Java: ZIndexer, HilbertIndexer).

Whole numbers, dates, times, timestamps (their milliseconds), booleans and the first bytes of texts are those of Java
2.0.0. Java's bytes of fractions, decimals and short texts are not in the order of the values; these are. Positions on
the Hilbert curve are computed by Skilling's algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import valid_mask
from paimon_spark.merge.clustering.strategy import Clustering, Strategy
from paimon_spark.merge.keys.key_words import Words, ordered_columns

_SIGN = np.uint64(1 << 63)
_COORDINATE = np.uint64(2**63 - 1)
_TRUE = 0x81 << 56  # Java's byte of true in a z-order, the first of eight
_TICKS = {"s": (1000, 1), "ms": (1, 1), "us": (1, 1000), "ns": (1, 1_000_000)}  # to milliseconds: times, divided by
BITS = 63
"""Of a coordinate, as in Java."""
Bytes: TypeAlias = npt.NDArray[np.uint8]
"""One row of bytes for each row: a matrix."""
_WIDEST, _WIDEST_PAIRS = 8, 4  # the bits of one byte of so many columns fit into a 64-bit number, and those of two
_NUMBERS = (1, 2, 4, 8)  # widths
_ROWS = 16_384  # at once: what they need stays in the cache


def curve_values(batch: pa.RecordBatch, clustering: Clustering) -> Bytes:
    """The place of each row on the curve, as bytes in order: a null is the first value of a z-order, the last of a
    Hilbert curve, as in Java.

    Args:
        batch: holds the columns.
        clustering: by a curve.
    """
    columns = [batch.column(name) for name in clustering.names]
    if clustering.strategy is Strategy.ZORDER:
        return interleave([_z_bytes(column, clustering.text_bytes) for column in columns])
    return hilbert_positions([_coordinate(column) for column in columns])


def _z_bytes(column: pa.Array, text_bytes: int) -> Bytes:
    if _is_bytes(column.type):
        return _first_bytes(column, text_bytes)
    if pt.is_boolean(column.type):
        word: Words = _integers(column).view(np.uint64) * np.uint64(_TRUE)
    else:
        word = _integers(column).view(np.uint64) ^ _SIGN
    return _with(word, column, 0).astype(">u8").view(np.uint8).reshape(-1, 8)


def _coordinate(column: pa.Array) -> Words:
    if _is_bytes(column.type):
        word: Words = _first_bytes(column, 8).view(">u8").reshape(-1).astype(np.uint64) >> np.uint64(1)
    elif pt.is_boolean(column.type):
        word = _integers(column).view(np.uint64) * _COORDINATE
    elif pt.is_floating(column.type) or _is_wide(column.type):
        word = (_integers(column).view(np.uint64) ^ _SIGN) >> np.uint64(1)
    else:
        # A negative number comes after the greatest one, as in Java: the cells are turned, each as small as before.
        word = _integers(column).view(np.uint64) & _COORDINATE
    return _with(word, column, int(_COORDINATE))


def _is_bytes(arrow: pa.DataType) -> bool:
    return bool(pt.is_string(arrow) or pt.is_binary(arrow) or pt.is_large_string(arrow) or pt.is_large_binary(arrow))


def _is_wide(arrow: pa.DataType) -> bool:
    """True if it is a decimal of more than 64 bits, which counts as the nearest fraction."""
    return bool(pt.is_decimal(arrow) and arrow.precision > 18)


def _integers(column: pa.Array) -> npt.NDArray[np.int64]:
    """Signed numbers in the order of the values; those at nulls are arbitrary."""
    arrow = column.type
    if pt.is_float32(arrow) or _is_wide(arrow):
        column = column.cast(pa.float64(), safe=False)
    [values] = ordered_columns(column, "")
    numbers: npt.NDArray[np.int64] = values.astype(np.int64, copy=False)
    if pt.is_timestamp(arrow) or pt.is_time(arrow):
        times, divided_by = _TICKS[arrow.unit]
        numbers = numbers * times // divided_by
    return numbers


def _with(words: Words, column: pa.Array, null: int) -> Words:
    if not column.null_count:
        return words
    found: Words = np.where(valid_mask(column), words, np.uint64(null))
    return found


def _first_bytes(column: pa.Array, width: int) -> Bytes:
    """The first bytes of each value, followed by zeros; all zeros for null."""
    if column.null_count:
        column = column.fill_null("" if pt.is_string(column.type) or pt.is_large_string(column.type) else b"")
    binary = column.cast(pa.large_binary())
    offsets = np.frombuffer(binary.buffers()[1], np.int64, len(binary) + 1, binary.offset * 8)
    data = np.frombuffer(binary.buffers()[2] or b"\0", np.uint8)
    places = np.arange(width)
    taken: Bytes = data.take(np.minimum(offsets[:-1, None] + places, max(len(data) - 1, 0)))
    taken[places >= (offsets[1:] - offsets[:-1])[:, None]] = 0
    return taken


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
