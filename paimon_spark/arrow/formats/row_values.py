"""Values of the row format as Arrow arrays (Java: RowBlockReader, release 2.0): rows one after the other, in a block.

A row has a bit for each column, which says that it is NULL, and then the values of the others. Their places follow from
the lengths of those before, so each column is decoded for all rows of a block at once, the first column first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.arrow.types import NANOS_PER_UNIT, arrow_field, arrow_type, timestamp_unit
from paimon_spark.format.spans import expand
from paimon_spark.format.types import BINARIES, STRINGS, TIMESTAMPS, DataField, DataType, Root

Longs: TypeAlias = npt.NDArray[np.int64]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Nulls: TypeAlias = npt.NDArray[np.bool_]

FIXED: dict[Root, np.dtype] = {
    Root.BOOLEAN: np.dtype("u1"),
    Root.TINYINT: np.dtype("i1"),
    Root.SMALLINT: np.dtype("<i2"),
    Root.INT: np.dtype("<i4"),
    Root.DATE: np.dtype("<i4"),
    Root.TIME: np.dtype("<i4"),
    Root.BIGINT: np.dtype("<i8"),
    Root.FLOAT: np.dtype("<f4"),
    Root.DOUBLE: np.dtype("<f8"),
}
"""The types whose values have one length, as they lie in a file."""
COMPACT_DECIMAL = 18  # digits that fit into eight bytes
COMPACT_TIMESTAMP = 3  # of a second
_COUNT = DataType(Root.INT, nullable=False)
_LAST_INT32 = 2**31 - 1


def width_of(data_type: DataType) -> int | None:
    """The bytes of each value of a type; None: they differ."""
    fixed = FIXED.get(data_type.root)
    if fixed is not None:
        return fixed.itemsize
    if data_type.root is Root.DECIMAL:
        return 8 if (data_type.precision or 10) <= COMPACT_DECIMAL else None
    if data_type.root in TIMESTAMPS:
        return 8 if _digits(data_type) <= COMPACT_TIMESTAMP else None
    return None


def decode_rows(data: Bytes, starts: Longs, fields: Sequence[DataField], wanted: set[str]) -> dict[str, pa.Array]:
    """Some columns of rows.

    Args:
        data: the block.
        starts: where each row begins.
        fields: all columns of the file.
        wanted: the names of those that are wanted.

    Raises:
        ValueError: the bytes are no rows of these columns.
    """
    nulls, places = _null_bits(data, starts, len(fields))
    left = len(wanted & {field.name for field in fields})
    found: dict[str, pa.Array] = {}
    for number, field in enumerate(fields):
        if not left:
            break
        values, places = _nullable(field.type, data, places, nulls[:, number])
        if field.name in wanted:
            found[field.name], left = values, left - 1
    return found


def _digits(data_type: DataType) -> int:
    return 6 if data_type.precision is None else data_type.precision


def _check(data: Bytes, places: Longs, size: int | Longs) -> None:
    if len(places) and (int(places.min()) < 0 or int((places + size).max()) > len(data)):
        raise ValueError("a value lies outside of its block")


def _null_bits(data: Bytes, places: Longs, count: int) -> tuple[npt.NDArray[np.bool_], Longs]:
    """Which of some parts are NULL, in a row for each place; and where the values begin."""
    size = (count + 7) // 8
    _check(data, places, size)
    head = data[places[:, None] + np.arange(size)]
    return np.unpackbits(head, axis=1, bitorder="little")[:, :count].astype(np.bool_), places + size


def _nullable(data_type: DataType, data: Bytes, places: Longs, nulls: Nulls) -> tuple[pa.Array, Longs]:
    """The values at some places, where they are not NULL, and where the next ones begin."""
    if not nulls.any():
        return _values(data_type, data, places)
    there = np.flatnonzero(~nulls)
    values, ends = _values(data_type, data, places[there])
    after = places.copy()
    after[there] = ends
    return _spread(values, nulls), after


def _spread(values: pa.Array, nulls: Nulls) -> pa.Array:
    """Values with NULLs between them."""
    return values.take(pa.array(np.cumsum(~nulls) - 1, pa.int64(), mask=nulls))


def _values(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs]:
    root = data_type.root
    if root in FIXED:
        return _fixed(data_type, data, places)
    if root in STRINGS or root in BINARIES or root is Root.BLOB:
        starts, lengths, ends = _spans(data, places)
        return _texts(arrow_type(data_type), data, starts, lengths), ends
    if root is Root.DECIMAL:
        return _decimals(data_type, data, places)
    if root in TIMESTAMPS:
        return _timestamps(data_type, data, places)
    if root is Root.VARIANT:
        kind, parts = arrow_type(data_type), []
        for part in kind:
            starts, lengths, places = _spans(data, places)
            parts.append(_texts(part.type, data, starts, lengths))
        return pa.StructArray.from_arrays(parts, fields=list(kind)), places
    if root is Root.ROW:
        return _struct(data_type, data, places)
    if root is Root.VECTOR:
        return _vectors(data_type, data, places)
    if root is Root.ARRAY:
        elements, offsets, ends = _elements(data_type.inner, data, places)
        return pa.ListArray.from_arrays(_int32(offsets), elements, type=arrow_type(data_type)), ends
    is_multiset = root is Root.MULTISET
    key = data_type.inner if is_multiset else data_type.key_type
    keys, offsets, places = _elements(key, data, places)
    items, other, ends = _elements(_COUNT if is_multiset else data_type.inner, data, places)
    if keys.null_count or not np.array_equal(offsets, other):
        raise ValueError("a map has a key that is NULL, or more keys than values")
    return pa.MapArray.from_arrays(_int32(offsets), keys, items, type=arrow_type(data_type)), ends


def _int32(offsets: Longs) -> pa.Array:
    if len(offsets) and int(offsets[-1]) > _LAST_INT32:
        raise ValueError("a block has too many elements")
    return pa.array(offsets.astype(np.int32))


def _raw(data: Bytes, places: Longs, kind: np.dtype) -> Any:
    _check(data, places, kind.itemsize)
    return data[places[:, None] + np.arange(kind.itemsize)].reshape(-1).view(kind)


def _fixed(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs]:
    kind = FIXED[data_type.root]
    raw = _raw(data, places, kind)
    if data_type.root is Root.BOOLEAN:
        return pa.array(raw != 0), places + 1
    found = pa.Array.from_buffers(arrow_type(data_type), len(raw), [None, pa.py_buffer(raw)])
    return found, places + kind.itemsize


def _var_ints(data: Bytes, places: Longs) -> tuple[Longs, Longs]:
    """Numbers of seven bits a byte, and where the next values begin."""
    found, at = np.zeros(len(places), np.int64), places.copy()
    active = np.arange(len(places))
    for shift in range(0, 35, 7):
        _check(data, at[active], 1)
        part = data[at[active]].astype(np.int64)
        found[active] |= (part & 0x7F) << shift
        at[active] += 1
        active = active[part >= 0x80]
        if not len(active):
            break
    if len(active) or (len(found) and int(found.max()) > _LAST_INT32):
        raise ValueError("a length is no number of 31 bits")
    return found, at


def _spans(data: Bytes, places: Longs) -> tuple[Longs, Longs, Longs]:
    """Where values with their lengths in front begin, the lengths, and where the next values begin."""
    lengths, starts = _var_ints(data, places)
    _check(data, starts, lengths)
    return starts, lengths, starts + lengths


def _texts(kind: pa.DataType, data: Bytes, starts: Longs, lengths: Longs) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if int(offsets[-1]) > _LAST_INT32:
        raise ValueError("a block has values of more than 2 GB")
    found = data[expand(starts, lengths)]
    return pa.Array.from_buffers(kind, len(starts), [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(found)])


def _decimals(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs]:
    kind = arrow_type(data_type)
    if width_of(data_type) is not None:
        low = _raw(data, places, np.dtype("<i8")).astype(np.int64)
        whole = np.stack([low, low >> 63], axis=1)
        return pa.Array.from_buffers(kind, len(low), [None, pa.py_buffer(whole)]), places + 8
    starts, lengths, ends = _spans(data, places)
    if len(lengths) and (int(lengths.min()) < 1 or int(lengths.max()) > 16):
        raise ValueError("a decimal has no byte, or more than 16")
    digits = np.where(data[starts] >= 0x80, 0xFF, 0).astype(np.uint8)[:, None].repeat(16, axis=1)
    for place in range(16):
        long = np.flatnonzero(lengths > place)
        digits[long, place] = data[starts[long] + lengths[long] - 1 - place]
    return pa.Array.from_buffers(kind, len(starts), [None, pa.py_buffer(digits)]), ends


def _timestamps(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs]:
    kind, unit = arrow_type(data_type), timestamp_unit(data_type.precision)
    values, places = _raw(data, places, np.dtype("<i8")).astype(np.int64), places + 8
    if width_of(data_type) is None:
        nanos, places = _var_ints(data, places)
        per_milli = NANOS_PER_UNIT["ms"] // NANOS_PER_UNIT[unit]
        found = values * per_milli + nanos // NANOS_PER_UNIT[unit]  # wraps around beyond 64 bits, and back again
        too_far = (values < -(2**63) // per_milli) | (values > (2**63 - 1) // per_milli)
        too_far |= np.where(values < 0, found > 2**62, found < 0)
        if too_far.any():
            raise ValueError(f"a time is too far away for {unit}")
        values = found
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)]), places


def _struct(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs]:
    nulls, places = _null_bits(data, places, len(data_type.fields))
    parts = []
    for number, field in enumerate(data_type.fields):
        values, places = _nullable(field.type, data, places, nulls[:, number])
        parts.append(values)
    if not parts:
        return pa.array([{}] * len(places), pa.struct([])), places
    return pa.StructArray.from_arrays(parts, fields=[arrow_field(field) for field in data_type.fields]), places


def _vectors(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs]:
    lengths, places = _var_ints(data, places)
    count, width = data_type.length or 0, width_of(data_type.inner)
    if width is None or (len(lengths) and (int(lengths.min()), int(lengths.max())) != (count, count)):
        raise ValueError(f"a vector has not {count} elements")
    _check(data, places, count * width)
    starts = (places[:, None] + np.arange(count) * width).reshape(-1)
    values, _ = _values(data_type.inner, data, starts)
    return pa.FixedSizeListArray.from_arrays(values, type=arrow_type(data_type)), places + count * width


def _elements(data_type: DataType, data: Bytes, places: Longs) -> tuple[pa.Array, Longs, Longs]:
    """The elements of arrays, the number of the first of each array and of all, and where the next values begin."""
    sizes, heads = _var_ints(data, places)
    masks = (sizes + 7) // 8
    _check(data, heads, masks)
    if int(masks.sum()) > len(data):
        raise ValueError("arrays lie upon each other")
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    number = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], sizes)  # of an element in its array
    nulls = (data[np.repeat(heads, sizes) + number // 8] >> (number % 8).astype(np.uint8)) & 1 != 0
    owner = np.repeat(np.arange(len(sizes)), sizes)[~nulls]
    counts = np.bincount(owner, minlength=len(sizes)).astype(np.int64)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = width_of(data_type)
    if width is not None:
        starts = (heads + masks)[owner] + rank * width
        values, _ = _values(data_type, data, starts)
        ends = heads + masks + counts * width
    else:
        values, ends = _one_by_one(data_type, data, heads + masks, counts)
    return (_spread(values, nulls) if nulls.any() else values), offsets, ends


def _one_by_one(data_type: DataType, data: Bytes, places: Longs, counts: Longs) -> tuple[pa.Array, Longs]:
    """Elements whose places follow from those before: the first of all arrays, then the second ones, and so on."""
    first, places = np.cumsum(counts) - counts, places.copy()
    taken = np.zeros(int(counts.sum()), np.int64)
    parts, done = [_values(data_type, data, places[:0])[0]], 0
    for number in range(int(counts.max()) if len(counts) else 0):
        arrays = np.flatnonzero(counts > number)
        values, places[arrays] = _values(data_type, data, places[arrays])
        parts.append(values)
        taken[first[arrays] + number] = np.arange(done, done + len(arrays))
        done += len(arrays)
    return pa.concat_arrays(parts).take(pa.array(taken)), places
