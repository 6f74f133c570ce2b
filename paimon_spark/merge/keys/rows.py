"""Takes, slices, filters and combines rows of record batches by their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import from_numpy
from paimon_spark.merge.keys.winners import Mask, Rows

COPY_BYTES = 2**28  # copied at once at most: bounds memory, and 32-bit offsets of strings never overflow
_SMALL = 16  # a batch of less than 1/16 of the wanted rows is put together with others
_FEW = 1 << 9  # of so few rows no column is looked at
MOST_BYTES = 2**31 - 1  # of the values of one array: 32-bit offsets of texts never overflow


def count_only(rows: int) -> pa.RecordBatch:
    """A batch with this number of rows and no columns."""
    return pa.record_batch({"row": pa.nulls(rows)}).select([])


def filter_rows(pieces: Sequence[pa.RecordBatch], mask: Mask | None) -> Iterator[pa.RecordBatch]:
    """The rows of the pieces for which mask is true, piece by piece; a piece that is kept whole is not copied.

    Args:
        mask: as long as all pieces together; None: all rows.
    """
    start = 0
    for piece in pieces:
        part = None if mask is None else mask[start : start + piece.num_rows]
        start += piece.num_rows
        count = piece.num_rows if part is None else int(np.count_nonzero(part))
        if count == piece.num_rows or piece.num_columns == 0:
            if count:
                yield piece.slice(0, count)
        elif part is not None and count:
            yield piece.filter(from_numpy(part))


def take_rows(pieces: Sequence[pa.RecordBatch], rows: Rows, copy_bytes: int = COPY_BYTES) -> Iterator[pa.RecordBatch]:
    """The rows of these numbers, in this order; numbers count through all pieces.

    The numbers of one piece must ascend. So a part of the numbers needs only a part of each piece, and rows that are
    too large to copy at once are taken part by part.
    """
    if len(rows) == 0:
        return
    if pieces[0].num_columns == 0:
        yield count_only(len(rows))
        return
    if len(pieces) == 1:
        mask = np.zeros(pieces[0].num_rows, np.bool_)
        mask[rows] = True
        yield from filter_rows(pieces, mask)
        return
    ends = np.cumsum([piece.num_rows for piece in pieces])
    if len(rows) == 1:
        piece = int(np.searchsorted(ends, rows[0], side="right"))
        yield pieces[piece].slice(int(rows[0] - ends[piece]) + pieces[piece].num_rows, 1)
        return
    if sum(piece.nbytes for piece in pieces) <= copy_bytes:
        yield take(pa.concat_batches(pieces), rows)
        return
    half = len(rows) // 2
    for part in (rows[:half], rows[half:]):
        yield from take_rows(*_used_slices(pieces, ends, part), copy_bytes)


def _used_slices(pieces: Sequence[pa.RecordBatch], ends: Rows, rows: Rows) -> tuple[list[pa.RecordBatch], Rows]:
    """Of each piece the slice from the first to the last of the rows, and the rows renumbered to these slices."""
    used = np.sort(rows)
    lengths = np.array([piece.num_rows for piece in pieces])
    starts = ends - lengths
    first, last = np.searchsorted(used, starts), np.searchsorted(used, ends)
    empty = first == last
    low = np.where(empty, starts, used.take(first, mode="clip"))
    high = np.where(empty, starts, used.take(last - 1, mode="clip") + 1)
    slices = [
        piece.slice(int(at), int(count))
        for piece, at, count in zip(pieces, low - starts, high - low, strict=True)
        if count
    ]
    dropped = np.cumsum(low - starts + np.append(0, (ends - high)[:-1]))
    return slices, rows - dropped[np.searchsorted(ends, rows, side="right")]


def one_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The rows of all batches, at least one; a single one is not copied, as ``pa.concat_batches`` does."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def combine_rows(
    batches: Iterable[pa.RecordBatch], batch_rows: int, ordered: bool, copy_bytes: int = COPY_BYTES
) -> Iterator[pa.RecordBatch]:
    """Combines rows into batches of about batch_rows: small batches are joined, large ones pass unchanged.

    Args:
        batches: the rows.
        batch_rows: the wanted number of rows of a batch.
        ordered: True keeps the order of the rows; False lets a large batch overtake small ones that wait.
        copy_bytes: the most bytes that are copied at once.
    """
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        big = batch.num_rows * _SMALL >= batch_rows
        if big and not (ordered and waiting):
            yield batch
            continue
        if waiting and size + batch.nbytes > copy_bytes:
            yield one_batch(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= batch_rows or (big and ordered):
            yield one_batch(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield one_batch(waiting)


class Gather:
    """Takes rows of one batch, several times."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Looks at the lengths of texts, and copies nothing."""
        self._batch = batch
        self._columns = [_fixed(column) for column in batch.columns] if batch.num_rows >= _FEW else batch.columns

    def take(self, rows: npt.NDArray[Any]) -> pa.RecordBatch:
        """The rows of these numbers, in this order, as ``batch.take`` gives them.

        Args:
            rows: whole numbers from 0 to the number of rows of the batch, less one.
        """
        numbers, batch = from_numpy(rows), self._batch
        if not batch.num_columns:
            return batch.take(numbers)
        columns = zip(batch.columns, self._columns, strict=True)
        return pa.RecordBatch.from_arrays([_taken(*column, numbers) for column in columns], schema=batch.schema)


def take(batch: pa.RecordBatch, rows: npt.NDArray[Any]) -> pa.RecordBatch:
    """The rows of these numbers, in this order; see Gather."""
    return Gather(batch).take(rows)


def _taken(column: pa.Array, fixed: pa.Array, numbers: pa.Array) -> pa.Array:
    """The values of these numbers of a column, which is given in the form of _fixed too."""
    if fixed.type == column.type or fixed.type.byte_width * len(numbers) > MOST_BYTES:
        return column.take(numbers)
    offsets = np.arange(len(numbers) + 1, dtype=np.int32)
    offsets *= fixed.type.byte_width
    buffers = [None, pa.py_buffer(offsets), fixed.take(numbers).buffers()[1]]
    return pa.Array.from_buffers(column.type, len(numbers), buffers, 0)


def _fixed(column: pa.Array) -> pa.Array:
    """A column of texts or bytes of one length, without nulls, as bytes of this width; another column as it is.

    A value of a fixed width is found without its offset, and a width of 8 or 16 is copied as a number is.
    """
    if not (pt.is_string(column.type) or pt.is_binary(column.type)) or column.null_count:
        return column
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, 4 * column.offset)
    first, width, half = int(offsets[0]), int(offsets[1] - offsets[0]), len(column) // 2
    # The first test mostly tells at once that lengths differ.
    if not width or int(offsets[half]) - first != width * half or (offsets[1:] - offsets[:-1] != width).any():
        return column
    data = column.buffers()[2].slice(first, width * len(column))
    return pa.Array.from_buffers(pa.binary(width), len(column), [None, data])
