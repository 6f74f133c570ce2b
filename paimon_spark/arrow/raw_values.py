"""Converts fixed-width Arrow arrays to numpy arrays of their raw values, and back with nulls."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int64s: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Booleans: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Numbers or booleans as an Arrow array without nulls; contiguous numbers share the memory.

    ``pa.array`` does the same, but imports pandas first, to see whether it was given a Series.
    """
    if values.dtype == np.bool_:
        bits = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    plain = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(plain.dtype), len(plain), [None, pa.py_buffer(plain)])


def scalar_of(value: bool | int | float | Decimal | str | bytes, arrow: pa.DataType) -> pa.Scalar:
    """A value of a boolean, number, text or binary type as a scalar of Arrow; of a decimal type, how many units it has.

    ``pa.scalar`` does the same, but imports pandas first, to see whether it was given a NaT: a process that reads once
    with a condition would wait for that longer than for the rows.

    Raises:
        ValueError, OverflowError: the value does not fit.
    """
    if pa.types.is_boolean(arrow):
        return _only(arrow, bytes([bool(value)]))
    if pa.types.is_decimal(arrow):
        return _only(arrow, int(value).to_bytes(arrow.byte_width, "little", signed=True))
    if pa.types.is_integer(arrow):
        signed = not pa.types.is_unsigned_integer(arrow)
        return _only(arrow, int(value).to_bytes(arrow.byte_width, "little", signed=signed))
    if pa.types.is_floating(arrow):
        with np.errstate(over="ignore"):
            return _only(arrow, np.array(value, f"<f{arrow.byte_width}").tobytes())
    if isinstance(value, str | bytes) and arrow in (pa.string(), pa.binary()):
        data = value.encode() if isinstance(value, str) else value
        return _only(arrow, np.array([0, len(data)], "<i4").tobytes(), data)
    return pa.scalar(value, arrow)


def _only(arrow: pa.DataType, *buffers: bytes) -> pa.Scalar:
    return pa.Array.from_buffers(arrow, 1, [None, *map(pa.py_buffer, buffers)])[0]


def to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """The numbers or booleans of an array without nulls; numbers share the memory.

    ``array.to_numpy`` does the same, but imports pandas first.
    """
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)
        end = array.offset + len(array)
        return np.unpackbits(bits, count=end, bitorder="little")[array.offset :].view(np.bool_)
    dtype = np.dtype(array.type.to_pandas_dtype())
    return np.frombuffer(array.buffers()[1] or b"", dtype, len(array), array.offset * dtype.itemsize)


def masked(values: npt.NDArray[Any], absent: Booleans) -> pa.Array:
    """Numbers or booleans as an Arrow array, null where they are absent. ``pa.array`` imports pandas first."""
    array = from_numpy(values)
    if not absent.any():
        return array
    return pa.Array.from_buffers(array.type, len(array), [from_numpy(~absent).buffers()[1], array.buffers()[1]])


def text_array(texts: Sequence[str | None]) -> pa.Array:
    """Texts as an Arrow array; None is null. ``pa.array`` does the same, but imports pandas first.

    Raises:
        OverflowError: they take 2 GiB or more.
    """
    data = [b"" if text is None else text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, data)], dtype=np.int64)
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{len(data)} texts take {ends[-1]} bytes, and an array of them at most {2**31 - 1}")
    validity = None
    if None in texts:
        validity = from_numpy(np.array([text is not None for text in texts])).buffers()[1]
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.Array.from_buffers(pa.string(), len(data), [validity, offsets, pa.py_buffer(b"".join(data))])


def int64_values(array: pa.Array) -> Int64s:
    """The raw 64-bit values of a fixed-width array, sharing its memory; values at nulls are arbitrary."""
    return np.frombuffer(array.buffers()[1] or b"", np.int64, len(array), array.offset * 8)


def int64_array(values: Int64s, nulls_of: pa.Array, target: pa.DataType) -> pa.Array:
    """Raw 64-bit values with the nulls of another array of the same length."""
    return with_nulls(from_numpy(values), nulls_of).view(target)


def with_nulls(array: pa.Array, nulls_of: pa.Array) -> pa.Array:
    """The fixed-width array without nulls, with the nulls of another one of the same length."""
    if not nulls_of.null_count:
        return array
    validity = nulls_of.is_valid().buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [validity, array.buffers()[1]], -1, 0)


def valid_mask(array: pa.Array) -> Booleans:
    """One boolean a row: not null."""
    mask: Booleans = to_numpy(array.is_valid())
    return mask


def placed(numbers: Int64s, present: Booleans | None) -> pa.Array:
    """Numbers as an Arrow array: one for each row that is present, and null for the others; None: all rows are."""
    if present is None:
        return from_numpy(numbers)
    spread = np.zeros(len(present), np.int64)
    spread[present] = numbers
    bits = from_numpy(np.ascontiguousarray(present)).buffers()[1]
    return pa.Array.from_buffers(pa.int64(), len(spread), [bits, pa.py_buffer(spread)])
