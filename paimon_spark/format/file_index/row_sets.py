"""Sets of row numbers of a data file."""

from __future__ import annotations

from array import array
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

RowSet: TypeAlias = BitMap
Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


def row_set(rows: npt.NDArray[Any]) -> RowSet:
    """The rows of these numbers. (From an array of numpy itself the library takes one number after the other.)"""
    numbers = array("I")
    numbers.frombytes(np.ascontiguousarray(rows, np.uint32).tobytes())
    return BitMap(numbers)


def rows_until(count: int) -> RowSet:
    """The rows 0 to count - 1."""
    return BitMap(range(count))


def encode_rows(rows: RowSet) -> bytes:
    """The rows as bytes; decode_rows turns them back."""
    return bytes(rows.serialize())


def decode_rows(data: bytes) -> Ints:
    """The numbers of the rows of encode_rows, ascending."""
    return np.frombuffer(BitMap.deserialize(data).to_array(), np.uint32).astype(np.int64)
