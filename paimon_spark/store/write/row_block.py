"""One batch of the rows that come to a task (Java: SortBufferWriteBuffer, whose rows wait in pages of memory).

Rows are copied into the block as they come, so that a task holds them once. Kept in the batches in which they came,
they would have to be joined before they are sorted, and the task would hold them twice.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import from_numpy, valid_mask
from paimon_spark.format.options.option import MB
from paimon_spark.merge.keys.rows import one_batch

_JOIN_BYTES = 4 * MB  # rows are copied when so many bytes wait, as each copy costs some calls for each column,
_COLUMN_BYTES = 4096  # or so many for each column, if that is more
_SLACK = 1.25  # what is reserved over what is expected, as rows differ in size

Bytes: TypeAlias = npt.NDArray[np.uint8]


class RowBlock:
    """Rows that are joined as they come.

    Attributes:
        rows: how many there are.
        bytes: that they take.
    """

    def __init__(self, expected_bytes: int, join_bytes: int | None = None) -> None:
        """Reserves no memory yet.

        Args:
            expected_bytes: of all rows; if more come, a column is copied when it grows.
            join_bytes: of rows that wait to be copied; None: a number that suits the columns.
        """
        self.rows = 0
        self.bytes = 0
        self._expected, self._join_bytes = expected_bytes, join_bytes
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._columns: list[_Column] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes a batch, whose memory is free after one of the next calls. All batches have one schema."""
        enough = self._join_bytes or max(_JOIN_BYTES, _COLUMN_BYTES * batch.num_columns)
        if self._waiting_bytes >= enough:
            self._join()  # only now: the rows of a single batch are never copied
        size = batch.nbytes
        self._waiting.append(batch)
        self._waiting_bytes += size
        self.bytes += size
        self.rows += batch.num_rows

    def joined(self) -> pa.RecordBatch:
        """All rows in the order in which they came, of one batch at least. The block takes no rows after this."""
        if not self._columns:
            return one_batch(self._waiting)
        schema = self._waiting[0].schema
        self._join()
        return pa.RecordBatch.from_arrays([column.joined() for column in self._columns], schema=schema)

    def _join(self) -> None:
        """Copies the rows that wait."""
        batch = one_batch(self._waiting)
        if not self._columns:
            share = _SLACK * self._expected / max(self._waiting_bytes, 1)
            self._columns = [_new_column(column.type, max(share, 1)) for column in batch.columns]
        for column, values in zip(self._columns, batch.columns, strict=True):
            column.add(values)
        self._waiting, self._waiting_bytes = [], 0


class _Memory:
    """Bytes in one piece. What is reserved takes no memory of the machine before it is written.

    Attributes:
        length: how many bytes were added.
    """

    def __init__(self, share: float) -> None:
        """
        Args:
            share: how many times as many bytes come as are added first.
        """
        self._share = share
        self._bytes: Bytes = np.empty(0, np.uint8)
        self.length = 0

    def add(self, values: npt.NDArray[Any]) -> None:
        data = values.view(np.uint8)
        start, self.length = self.length, self.length + len(data)
        if self.length > len(self._bytes):
            room = max(self.length, 2 * start) if start else int(self.length * self._share)
            before, self._bytes = self._bytes, np.empty(room, np.uint8)
            self._bytes[:start] = before[:start]
        self._bytes[start : self.length] = data

    def buffer(self) -> pa.Buffer:
        return pa.py_buffer(self._bytes[: self.length])


class _Column(Protocol):
    """The values of one column."""

    def add(self, values: pa.Array) -> None:
        """Copies values."""
        ...

    def joined(self) -> pa.Array:
        """All values that were added."""
        ...


def _new_column(arrow: pa.DataType, share: float) -> _Column:
    """
    Args:
        arrow: the type of the values.
        share: how many times as many values come as are added first.
    """
    if pt.is_string(arrow) or pt.is_binary(arrow):
        return _TextColumn(arrow, share)
    fixed = pt.is_primitive(arrow) and not pt.is_boolean(arrow)
    if fixed or pt.is_decimal(arrow) or pt.is_fixed_size_binary(arrow):
        return _FixedColumn(arrow, share)
    return _OtherColumn()


class _FixedColumn:
    """Values that take a fixed number of bytes each."""

    def __init__(self, arrow: pa.DataType, share: float) -> None:
        self._type = arrow
        self._width = arrow.byte_width
        self._values = _Memory(share)
        self._validity = _Validity(share)

    def add(self, values: pa.Array) -> None:
        self._validity.add(values)
        size = self._width * len(values)
        self._values.add(np.frombuffer(values.buffers()[1], np.uint8, size, self._width * values.offset))

    def joined(self) -> pa.Array:
        rows, validity = self._validity.rows, self._validity.buffer()
        return pa.Array.from_buffers(self._type, rows, [validity, self._values.buffer()])


class _TextColumn:
    """Texts or bytes, of at most 2 GiB."""

    def __init__(self, arrow: pa.DataType, share: float) -> None:
        self._type = arrow
        self._ends = _Memory(share)
        self._data = _Memory(share)
        self._validity = _Validity(share)

    def add(self, values: pa.Array) -> None:
        ends = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, 4 * values.offset)
        first, last = int(ends[0]), int(ends[-1])
        # Where the first value starts is known, except for the first of all.
        self._ends.add(ends[1 if self._validity.rows else 0 :] + np.int32(self._data.length - first))
        self._data.add(np.frombuffer(values.buffers()[2] or b"", np.uint8)[first:last])
        self._validity.add(values)

    def joined(self) -> pa.Array:
        buffers = [self._validity.buffer(), self._ends.buffer(), self._data.buffer()]
        return pa.Array.from_buffers(self._type, self._validity.rows, buffers)


class _OtherColumn:
    """Values of a type that only Arrow can join: these are copied once more at the end."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []

    def add(self, values: pa.Array) -> None:
        # Arrow copies two arrays, and hands back a single one, whose memory is that of a whole batch.
        self._parts.append(pa.concat_arrays([values, values[:0]]))

    def joined(self) -> pa.Array:
        return pa.concat_arrays(self._parts)


class _Validity:
    """Which values of a column are not null.

    Attributes:
        rows: how many values there are.
    """

    def __init__(self, share: float) -> None:
        self.rows = 0
        self._share = share
        self._bytes: _Memory | None = None  # one for each value, from the first null on

    def add(self, values: pa.Array) -> None:
        if values.null_count and self._bytes is None:
            self._bytes = _Memory(self._share)
            self._bytes.add(np.ones(self.rows, np.bool_))
        if self._bytes is not None:
            self._bytes.add(valid_mask(values))
        self.rows += len(values)

    def buffer(self) -> pa.Buffer | None:
        if self._bytes is None:
            return None
        bits: pa.Buffer = from_numpy(np.frombuffer(self._bytes.buffer(), np.bool_)).buffers()[1]
        return bits
