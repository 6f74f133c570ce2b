"""Puts bytes of VARIANT together for all values of a column at once: scalars, objects and arrays (``format.variant``).

Parts are large binaries of Arrow, null where there is no value. A value that is made of several parts is one Arrow
``take`` over them, in the order in which they follow each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.raw_values import Booleans, Int64s, from_numpy, placed, to_numpy, valid_mask
from paimon_spark.errors import UnsupportedFeature

Bytes = npt.NDArray[np.uint8]
_SHORTEST = 64
_DATE, _INSTANT, _LOCAL, _DOUBLE, _FLOAT, _BINARY, _TEXT, _UUID = (n << 2 for n in (11, 12, 13, 7, 14, 15, 16, 20))
_TIME, _INSTANT_NANOS, _LOCAL_NANOS = (n << 2 for n in (17, 18, 19))
_INTEGERS = ((0, 1, 3 << 2), (1, 2, 4 << 2), (2, 4, 5 << 2), (3, 8, 6 << 2))


def binaries(data: Bytes, sizes: Int64s, present: Booleans | None = None) -> pa.Array:
    """Bytes that follow each other as large binaries of these sizes; null where they are not present."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    bits = None if present is None else from_numpy(np.ascontiguousarray(present)).buffers()[1]
    buffers = [bits, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers)


def sizes_of(parts: pa.Array) -> Int64s:
    """The bytes of each part; of a null they are arbitrary."""
    return np.diff(_offsets(parts))


def _offsets(parts: pa.Array) -> Int64s:
    if not len(parts):
        return np.zeros(1, np.int64)
    return np.frombuffer(parts.buffers()[1], np.int64, len(parts) + 1, parts.offset * 8)


def joined(parts: pa.Array, order: Int64s, counts: Int64s, present: Booleans | None = None) -> pa.Array:
    """Values that are made of parts.

    Args:
        parts: from which they are made.
        order: the parts of the first value, those of the second, and so on.
        counts: how many parts each value has.
        present: which values are not null; the others have no parts. None: all.
    """
    flat = parts.take(from_numpy(order))
    ends = _offsets(flat)[np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))]
    data = np.frombuffer(flat.buffers()[2] or b"", np.uint8)[ends[0] :] if len(flat) else np.empty(0, np.uint8)
    return binaries(data, np.diff(ends), present)


def objects(counts: Int64s, ids: Int64s, parts: pa.Array, order: Int64s) -> pa.Array:
    """Objects.

    Args:
        counts: how many fields each has.
        ids: the numbers of the names of the fields, object by object, in the order of the names.
        parts: the bytes of values.
        order: for each field its value among the parts.
    """
    return _containers(counts, ids, parts, order)


def arrays(counts: Int64s, parts: pa.Array, order: Int64s) -> pa.Array:
    """Arrays; the arguments are those of ``objects``."""
    return _containers(counts, None, parts, order)


def _containers(counts: Int64s, ids: Int64s | None, parts: pa.Array, order: Int64s) -> pa.Array:
    sizes = sizes_of(parts)[order]
    firsts = np.cumsum(counts) - counts
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    begins = ends[firsts]
    totals = ends[firsts + counts] - begins
    widths = _widths(totals)
    is_large = counts > 255
    header = 3 | is_large.astype(np.int64) << 4 | (widths - 1) << 2
    id_widths = np.zeros_like(widths)
    if ids is not None:
        id_widths = _widths(_greatest(ids, counts))
        header = 2 | is_large.astype(np.int64) << 6 | (id_widths - 1) << 4 | (widths - 1) << 2
    count_widths = np.where(is_large, 4, 1)
    head_sizes = 1 + count_widths + id_widths * counts + widths * (counts + 1)
    starts = np.cumsum(head_sizes) - head_sizes
    heads = np.zeros(int(head_sizes.sum()), np.uint8)
    heads[starts] = header
    _put(heads, starts + 1, counts, count_widths)
    owners = np.repeat(np.arange(len(counts)), counts)
    number = np.arange(len(owners)) - firsts[owners]
    ids_at = starts + 1 + count_widths
    if ids is not None:
        _put(heads, ids_at[owners] + number * id_widths[owners], ids, id_widths[owners])
    offsets_at = ids_at + id_widths * counts
    _put(heads, offsets_at[owners] + number * widths[owners], ends[:-1] - begins[owners], widths[owners])
    _put(heads, offsets_at + counts * widths, totals, widths)
    return _behind(binaries(heads, head_sizes), parts, order, counts)


def _behind(heads: pa.Array, parts: pa.Array, order: Int64s, counts: Int64s) -> pa.Array:
    """Each head with the parts behind it."""
    both = pa.concat_arrays([heads, parts])
    places = np.arange(len(counts)) + np.cumsum(counts) - counts
    chosen = np.empty(len(counts) + len(order), np.int64)
    is_part = np.ones(len(chosen), np.bool_)
    is_part[places] = False
    chosen[places] = np.arange(len(counts))
    chosen[is_part] = order + len(counts)
    return joined(both, chosen, counts + 1)


def _widths(numbers: Int64s) -> Int64s:
    """The fewest bytes that hold each number, at least one."""
    return 1 + (numbers > 0xFF).astype(np.int64) + (numbers > 0xFFFF) + (numbers > 0xFFFFFF)


def _greatest(ids: Int64s, counts: Int64s) -> Int64s:
    found = np.zeros(len(counts), np.int64)
    filled = counts > 0
    if filled.any():
        found[filled] = np.maximum.reduceat(ids, (np.cumsum(counts) - counts)[filled])
    return found


def _put(data: Bytes, places: Int64s, numbers: Int64s, widths: Int64s) -> None:
    for byte in range(int(widths.max(initial=0))):
        if byte == 0 or (widths <= byte).any():
            wide = widths > byte
            data[places[wide] + byte] = (numbers[wide] >> 8 * byte & 0xFF).astype(np.uint8)
        else:
            data[places + byte] = (numbers >> 8 * byte & 0xFF).astype(np.uint8)


def scalars(typed: pa.Array) -> pa.Array:
    """The bytes of values of a column; null where it is.

    Raises:
        UnsupportedFeature: the rules of shredding do not have the type.
    """
    arrow = typed.type
    present = valid_mask(typed) if typed.null_count else None
    if pt.is_integer(arrow):
        return _integers(to_numpy(typed.cast(pa.int64()).fill_null(0)), present)
    if pt.is_boolean(arrow):
        values = to_numpy(typed.fill_null(False))
        return binaries(np.where(values, 1 << 2, 2 << 2).astype(np.uint8), np.ones(len(typed), np.int64), present)
    if pt.is_decimal(arrow):
        return _decimals(typed.cast(pa.decimal128(38, arrow.scale)), present)
    if pt.is_string(arrow) or pt.is_binary(arrow) or pt.is_large_string(arrow) or pt.is_large_binary(arrow):
        return _texts(typed, present, is_text=pt.is_string(arrow) or pt.is_large_string(arrow))
    header, width = _fixed(arrow)
    rows = np.empty((len(typed), width + 1), np.uint8)
    rows[:, 0] = header
    if len(typed):
        raw = np.frombuffer(typed.buffers()[1], np.uint8)
        rows[:, 1:] = raw[typed.offset * width : (typed.offset + len(typed)) * width].reshape(-1, width)
    return binaries(rows.ravel(), np.full(len(typed), width + 1, np.int64), present)


def _fixed(arrow: pa.DataType) -> tuple[int, int]:
    """The header of a type whose values are stored as Arrow has them, and their bytes."""
    if pt.is_float64(arrow):
        return _DOUBLE, 8
    if pt.is_float32(arrow):
        return _FLOAT, 4
    if pt.is_date32(arrow):
        return _DATE, 4
    if pt.is_timestamp(arrow) and arrow.unit == "us":
        return (_LOCAL if arrow.tz is None else _INSTANT), 8
    if pt.is_timestamp(arrow) and arrow.unit == "ns":
        return (_LOCAL_NANOS if arrow.tz is None else _INSTANT_NANOS), 8
    if pt.is_time64(arrow) and arrow.unit == "us":
        return _TIME, 8
    if pt.is_fixed_size_binary(arrow) and arrow.byte_width == 16:
        return _UUID, 16
    raise UnsupportedFeature(f"shredded values of VARIANT have the type {arrow}, which this release does not know")


def _cut(rows: Bytes, sizes: Int64s, present: Booleans | None) -> pa.Array:
    """The first bytes of each row of a matrix."""
    return binaries(rows[np.arange(rows.shape[1]) < sizes[:, None]], sizes, present)


def _integers(values: Int64s, present: Booleans | None) -> pa.Array:
    rows = np.empty((len(values), 9), np.uint8)
    kinds = sum((values != values.astype(dtype)).astype(np.int64) for dtype in (np.int8, np.int16, np.int32))
    rows[:, 0] = (np.asarray(kinds) + 3) << 2
    rows[:, 1:] = values.astype("<i8").view(np.uint8).reshape(-1, 8)
    return _cut(rows, np.array([2, 3, 5, 9], np.int64)[kinds], present)


def _decimals(typed: pa.Array, present: Booleans | None) -> pa.Array:
    """As short as the digits and the scale allow: of 4, 8 or 16 bytes."""
    scale = typed.type.scale
    rows = np.empty((len(typed), 18), np.uint8)
    raw = np.frombuffer(typed.buffers()[1] or b"", np.uint8)[typed.offset * 16 : (typed.offset + len(typed)) * 16]
    rows[:, 2:] = raw.reshape(-1, 16)
    words = raw.view("<i8").reshape(-1, 2)
    low, is_short = words[:, 0], words[:, 1] == words[:, 0] >> 63
    fits4 = is_short & (low > -(10**9)) & (low < 10**9) & (scale <= 9)
    fits8 = is_short & (low > -(10**18)) & (low < 10**18) & (scale <= 18)
    kinds = np.where(fits4, 0, np.where(fits8, 1, 2))
    rows[:, 0], rows[:, 1] = (kinds + 8) << 2, scale
    return _cut(rows, np.array([6, 10, 18], np.int64)[kinds], present)


def _texts(typed: pa.Array, present: Booleans | None, is_text: bool) -> pa.Array:
    plain = typed.cast(pa.large_string() if is_text else pa.large_binary()).cast(pa.large_binary())
    sizes = sizes_of(plain)
    is_short = (sizes < _SHORTEST) & is_text
    rows = np.empty((len(typed), 5), np.uint8)
    rows[:, 0] = np.where(is_short, sizes << 2 | 1, _TEXT if is_text else _BINARY)
    rows[:, 1:] = sizes.astype("<u4").view(np.uint8).reshape(-1, 4)
    heads = _cut(rows, np.where(is_short, 1, 5), None)
    there = np.arange(len(typed)) if present is None else np.flatnonzero(present)
    counts = np.full(len(typed), 2, np.int64) if present is None else present.astype(np.int64) * 2
    order = np.stack((there, there + len(typed)), 1).ravel()
    return joined(pa.concat_arrays([heads, plain]), order, counts, present)


def either(first: pa.Array, second: pa.Array) -> pa.Array:
    """The first where it is not null, else the second."""
    if not first.null_count:
        return first
    if second.null_count == len(second):
        return first
    there = valid_mask(first)
    rest = valid_mask(second) & ~there
    chosen = np.where(there, np.arange(len(first)), np.arange(len(first)) + len(first))
    both = pa.concat_arrays([first, second])
    found = there | rest
    return both.take(placed(chosen[found], found))
