"""Keys as numpy integers whose order is Paimon's key order: exact, whole columns at a time (format section 7.2).

Three forms, each made from the one before:

* Arrow columns, as read from files.
* *Key columns*: for fixed-width types a numpy array of integers in key order (two for a wide DECIMAL), for strings and
  binary the Arrow array itself. They are made once per batch, mostly without a copy, and serve to search for a key.
* *Words*: unsigned 64-bit arrays for the rows of one window; comparing the words of two rows one after the other
  compares their keys. Bits that all rows share are left out and the rest is packed, so that a key of several columns
  often is a single word.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.raw_values import to_numpy
from paimon_spark.errors import UnsupportedFeature

Words: TypeAlias = npt.NDArray[np.uint64]
Ints: TypeAlias = npt.NDArray[Any]
KeyColumn: TypeAlias = Any  # an integer numpy array, or a pyarrow array of binary
Key: TypeAlias = tuple[int | bytes, ...]

MAX_WORDS = 8  # of one string column after the prefix that all rows share; longer ones are ranked instead
_WORD = 8
_ALL_BITS = 2**64 - 1
_INT_MAX = 2**31 - 1
_KEEP_BYTES = np.array([_ALL_BITS ^ ((1 << (64 - 8 * kept)) - 1) for kept in range(_WORD + 1)], np.uint64)


def key_columns(batch: pa.RecordBatch, names: Sequence[str]) -> tuple[KeyColumn, ...]:
    """The key columns of a batch.

    Args:
        batch: rows that hold the columns, without nulls; sliced arrays are fine.
        names: the key columns in key order.

    Raises:
        UnsupportedFeature: a type that cannot be a key.
    """
    columns: list[KeyColumn] = []
    for name in names:
        columns.extend(ordered_columns(batch.column(name), name))
    return tuple(columns)


def ordered_columns(array: pa.Array, name: str) -> list[KeyColumn]:
    """One Arrow array as key columns. The values at nulls are arbitrary: the caller checks validity.

    Raises:
        UnsupportedFeature: a type without an order; the message holds name and type.
    """
    arrow = array.type
    if pt.is_string(arrow) or pt.is_binary(arrow):
        return [array.cast(pa.binary())]
    if pt.is_boolean(arrow):
        return [_fixed(array.cast(pa.uint8()), np.uint8)]
    if pt.is_integer(arrow):
        return [_fixed(array, arrow.to_pandas_dtype())]
    if pt.is_date32(arrow) or pt.is_time32(arrow):
        return [_fixed(array, np.int32)]
    if pt.is_timestamp(arrow) or pt.is_time64(arrow):
        return [_fixed(array, np.int64)]
    if pt.is_float64(arrow):
        return [_float_order(_fixed(array, np.float64), np.int64, 0x7FF8 << 48)]
    if pt.is_float32(arrow):
        return [_float_order(_fixed(array, np.float32), np.int32, 0x7FC0 << 16)]
    if pt.is_decimal128(arrow):
        return _decimal_order(array)
    if pt.is_large_string(arrow) or pt.is_large_binary(arrow):
        return [array.cast(pa.large_binary())]
    raise UnsupportedFeature(
        f"ordering rows by column '{name}': type {arrow} has no order in Paimon; use a column of another type"
    )


def row_key(columns: Sequence[KeyColumn], row: int) -> Key:
    """The key of one row, as a tuple that Python compares in key order."""
    return tuple([int(c[row]) if isinstance(c, np.ndarray) else c[row].as_py() for c in columns])


def rows_up_to(columns: Sequence[KeyColumn], key: Key, low: int, high: int) -> int:
    """The first row of low..high whose key is greater than key, or high. The rows are sorted."""
    for column, value in zip(columns, key, strict=True):
        if isinstance(column, np.ndarray):
            part, same = column[low:high], column.dtype.type(value)  # an int of another type would be compared as float
            left, right = low + int(part.searchsorted(same)), low + int(part.searchsorted(same, "right"))
        else:
            left, right = _search_binary(column, value, low, high)
        if left == right:
            return left
        low, high = left, right
    return high


def has_repeats(columns: Sequence[KeyColumn]) -> bool:
    """True if any row has the same key as the row before it."""
    repeated: npt.NDArray[np.bool_] | None = None
    for column in columns:
        if isinstance(column, np.ndarray):
            equal = column[1:] == column[:-1]
        else:
            equal = to_numpy(pc.equal(column[1:], column[:-1]))
        repeated = equal if repeated is None else repeated & equal
        if not repeated.any():
            return False
    return True


def concat_columns(parts: Sequence[Sequence[KeyColumn]]) -> list[KeyColumn]:
    """The key columns of several pieces, one after the other."""
    if len(parts) == 1:
        return list(parts[0])
    return [_concat(columns) for columns in zip(*parts, strict=True)]


def key_words(columns: Sequence[KeyColumn], starts: Sequence[int] | None, width: int = 64) -> list[Words]:
    """The keys of some rows as words: row a is before row b exactly when its words are.

    Args:
        columns: key columns of at least one row.
        starts: the rows at which a non-empty piece starts that is sorted by key; None: the rows are in no order.
        width: how many bits of a word to use.

    Returns:
        At least one array with a word per row. Words hold only what differs between these rows, so words of two calls
        must not be compared.
    """
    fields: list[Ints] = []
    for position, column in enumerate(columns):
        if isinstance(column, np.ndarray):
            fields.append(column)
        else:
            skip = 0 if starts is None or position else _shared_prefix(column, starts)
            fields.extend(_binary_fields(column, skip))
    return pack_fields(fields, len(columns[0]), width)


def order_fields(array: pa.Array, name: str) -> list[Ints]:
    """The values of an unsorted array as integer columns, for ``pack_fields``; the values at nulls are arbitrary.

    Raises:
        UnsupportedFeature: a type without an order; the message holds name and type.
    """
    fields: list[Ints] = []
    for column in ordered_columns(array, name):
        fields.extend([column] if isinstance(column, np.ndarray) else _binary_fields(column, 0))
    return fields


def _fixed(array: pa.Array, dtype: npt.DTypeLike) -> Ints:
    """The values of a fixed-width array as a view of its buffer."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        return np.empty(0, dtype)
    return np.frombuffer(buffer, dtype, count=array.offset + len(array))[array.offset :]


def _float_order(values: Ints, integer: npt.DTypeLike, nan: int) -> Ints:
    """Signed integers in the order of Java's Double.compare: all bits of negative floats but the sign are inverted."""
    bits = values.view(integer)
    ordered: Ints = bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)
    nans = np.isnan(values)
    if nans.any():
        ordered[nans] = nan
    return ordered


def _decimal_order(array: pa.Array) -> list[KeyColumn]:
    """One signed word where the value fits into 64 bits, else the high word and the low word."""
    buffer = array.buffers()[1]
    if buffer is None or len(array) == 0:
        halves = np.empty((0, 2), np.int64)
    else:
        end = array.offset + len(array)
        halves = np.frombuffer(buffer, np.int64, count=2 * end).reshape(-1, 2)[array.offset :]
    low = np.ascontiguousarray(halves[:, 0])
    if array.type.precision <= 18:
        return [low]
    return [np.ascontiguousarray(halves[:, 1]), low.view(np.uint64)]


def _search_binary(column: pa.Array, value: Any, low: int, high: int) -> tuple[int, int]:
    offsets, data = _buffers(column)
    view = data.data

    def at(row: int) -> bytes:
        return bytes(view[offsets[row] : offsets[row + 1]])

    rows = range(len(column))
    left = bisect.bisect_left(rows, value, low, high, key=at)
    return left, bisect.bisect_right(rows, value, left, high, key=at)


def _buffers(column: pa.Array) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Offsets (one more than rows) and bytes of a binary array."""
    dtype = np.int64 if pt.is_large_binary(column.type) else np.int32
    _, offsets, data = column.buffers()
    if offsets is None or len(column) == 0:
        return np.zeros(1, dtype), np.empty(0, np.uint8)
    end = column.offset + len(column) + 1
    positions = np.frombuffer(offsets, dtype, count=end)[column.offset :]
    return positions, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _concat(columns: Sequence[KeyColumn]) -> KeyColumn:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    if sum(int(offsets[-1]) - int(offsets[0]) for offsets, _ in map(_buffers, columns)) > _INT_MAX:
        columns = [column.cast(pa.large_binary()) for column in columns]
    return pa.concat_arrays(columns)


def _shared_prefix(column: pa.Array, starts: Sequence[int]) -> int:
    """The length of the prefix that all values share: that of the first and last values of the sorted pieces."""
    edges = [*starts, *(start - 1 for start in starts[1:]), len(column) - 1]
    values = [column[row].as_py() for row in edges]
    first, last = min(values), max(values)
    for i, (a, b) in enumerate(zip(first, last, strict=False)):
        if a != b:
            return i
    return min(len(first), len(last))


def _binary_fields(column: pa.Array, skip: int) -> list[Ints]:
    """Binary values as integers in order: their bytes after skip, eight a word, then the length.

    Short values are padded with zero bytes; the length, which is last, separates "a" from "a\0" and keeps the order.
    """
    offsets, data = _buffers(column)
    lengths = offsets[1:] - offsets[:-1]
    shortest, longest = int(lengths.min()) - skip, int(lengths.max()) - skip
    count = -(-longest // _WORD)
    if count > MAX_WORDS:
        return [to_numpy(pc.rank(column, tiebreaker="dense"))]
    first, end = int(offsets[0]), int(offsets[-1])
    padded = end + _WORD * (count + 1)  # the last words of a short value reach over the end of the data
    if len(data) < padded:
        data = np.concatenate([data[first:end], np.zeros(padded - end, np.uint8)])
        offsets = offsets - first
    if shortest == longest:
        return _uniform_fields(data, int(offsets[0]) + skip, longest + skip, len(lengths), longest)
    words = np.ndarray((len(data) - _WORD + 1,), "<u8", data, strides=(1,))
    at = offsets[:-1].astype(np.int64) + skip
    fields: list[Ints] = []
    for i in range(count):
        word = words[at + _WORD * i].byteswap()
        if shortest < _WORD * (i + 1):
            word &= _KEEP_BYTES.take(np.clip(lengths - (skip + _WORD * i), 0, _WORD))
        fields.append(word)
    return [*fields, lengths]


def _uniform_fields(data: npt.NDArray[np.uint8], start: int, stride: int, rows: int, width: int) -> list[Ints]:
    """Binary values of one length as integers in order: their bytes after skip, eight a word, without a length."""
    fields: list[Ints] = []
    for i in range(0, width, _WORD):
        word = np.ndarray((rows,), ">u8", data, start + i, (stride,)).astype(np.uint64)
        if width - i < _WORD:
            word &= _KEEP_BYTES[width - i]
        fields.append(word)
    return fields


def pack_fields(fields: Sequence[Ints], rows: int, width: int = 64) -> list[Words]:
    """Integer columns packed into few words: each column minus its minimum, in as many bits as its range needs.

    A column that does not fit into the rest of a word is split: its high bits are in this word, its low bits in the
    next. This keeps the order and fills the first word, which is the sort key.

    Args:
        fields: integer arrays of at least one row, the most important first.
        rows: the number of rows.
        width: how many bits of a word to use.
    """
    words: list[Words] = []
    free = 0
    for field in fields:
        low = int(field.min())
        bits = (int(field.max()) - low).bit_length()
        if not bits:
            continue
        value: Words = field.astype(np.int64 if field.dtype.kind == "i" else np.uint64, copy=False).view(np.uint64)
        if low:
            value = value - np.uint64(low & _ALL_BITS)
        while bits:
            here = min(bits, free or width)
            bits -= here
            part = value >> np.uint64(bits) if bits else value
            if free:
                words[-1] = words[-1] << np.uint64(here) | part
            else:
                words.append(part)
            free = (free or width) - here
            if bits:
                value = value & np.uint64((1 << bits) - 1)
    return words or [np.zeros(rows, np.uint64)]
