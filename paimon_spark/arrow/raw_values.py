"""The raw values behind fixed-width Arrow arrays as numpy arrays, and back with nulls."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa

Int64s: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Booleans: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]


def int64_values(array: pa.Array) -> Int64s:
    """The raw 64-bit values of a fixed-width array, whatever stands at nulls; shares the memory."""
    return np.frombuffer(array.buffers()[1] or b"", np.int64, len(array), array.offset * 8)


def int64_array(values: Int64s, nulls_of: pa.Array, target: pa.DataType) -> pa.Array:
    """Raw 64-bit values with the nulls of another array of the same length."""
    plain = pa.array(np.ascontiguousarray(values))
    return with_nulls(plain, nulls_of).view(target)


def with_nulls(array: pa.Array, nulls_of: pa.Array) -> pa.Array:
    """The fixed-width array without nulls, with the nulls of another one of the same length."""
    if not nulls_of.null_count:
        return array
    validity = nulls_of.is_valid().buffers()[1]
    return pa.Array.from_buffers(array.type, len(array), [validity, array.buffers()[1]], -1, 0)


def valid_mask(array: pa.Array) -> Booleans:
    """One boolean a row: not null."""
    mask: Booleans = array.is_valid().to_numpy(zero_copy_only=False)
    return mask
