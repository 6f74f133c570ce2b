"""Takes rows of a batch by their numbers. Texts of one length are taken several times as fast as pyarrow does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import from_numpy

_FEW = 1 << 9  # of so few rows no column is looked at
_MOST_BYTES = 2**31 - 1  # of the texts of one array


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
    if fixed.type == column.type or fixed.type.byte_width * len(numbers) > _MOST_BYTES:
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
