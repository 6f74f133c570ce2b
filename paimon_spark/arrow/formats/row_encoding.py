"""Arrow arrays as values of the row format (Java: RowBlockWriter, release 2.0); see ``row_values`` for how they lie.

Each column is encoded for all rows at once, as bytes of a length for each row; the columns are then laid side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.formats.row_values import FIXED, Bytes, Longs, Nulls, width_of
from paimon_spark.arrow.types import NANOS_PER_UNIT, timestamp_unit
from paimon_spark.format.spans import expand
from paimon_spark.format.types import BINARIES, STRINGS, TIMESTAMPS, DataField, DataType, Root

_COUNT = DataType(Root.INT, nullable=False)


@dataclass(frozen=True)
class Pieces:
    """Some bytes for each row.

    Attributes:
        data: of all rows, one after the other.
        lengths: how many bytes each row has.
    """

    data: Bytes
    lengths: Longs

    @property
    def starts(self) -> Longs:
        return np.cumsum(self.lengths) - self.lengths


def encode_rows(batch: pa.RecordBatch, fields: Sequence[DataField]) -> Pieces:
    """The rows of a batch, which has exactly these columns."""
    return _record(batch.columns, fields, batch.num_rows)


def _record(columns: Sequence[pa.Array], fields: Sequence[DataField], rows: int) -> Pieces:
    nulls = np.zeros((rows, len(fields)), np.bool_)
    for number, column in enumerate(columns):
        nulls[:, number] = _nulls(column)
    head = np.packbits(nulls, axis=1, bitorder="little")
    sizes = np.full(rows, head.shape[1], np.int64)
    parts = [_nullable(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return _side_by_side([Pieces(head.reshape(-1), sizes), *parts])


def _side_by_side(parts: Sequence[Pieces]) -> Pieces:
    """The bytes of each row of one after those of another."""
    lengths = np.zeros(len(parts[0].lengths), np.int64)
    for part in parts:
        lengths += part.lengths
    out = np.empty(int(lengths.sum()), np.uint8)
    place = np.cumsum(lengths) - lengths
    for part in parts:
        out[expand(place, part.lengths)] = part.data
        place = place + part.lengths
    return Pieces(out, lengths)


def _nulls(array: pa.Array) -> Nulls:
    return np.asarray(array.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _nullable(array: pa.Array, data_type: DataType) -> Pieces:
    """The values, of which those that are NULL have no bytes."""
    if not array.null_count:
        return _values(array, data_type)
    nulls = _nulls(array)
    found = _values(array.drop_null(), data_type)
    lengths = np.zeros(len(array), np.int64)
    lengths[~nulls] = found.lengths
    return Pieces(found.data, lengths)


def _values(array: pa.Array, data_type: DataType) -> Pieces:
    """The values of an array without NULLs."""
    root, width = data_type.root, width_of(data_type)
    if root in FIXED:
        return _fixed(_numbers(array, data_type))
    if root in STRINGS or root in BINARIES or root is Root.BLOB:
        return _with_lengths(_bytes(array))
    if root is Root.DECIMAL:
        whole = _buffer(array, np.dtype("<i8"), 2)
        return _fixed(whole[::2].copy()) if width is not None else _with_lengths(_unscaled(whole))
    if root in TIMESTAMPS:
        return _timestamps(array, data_type)
    if root is Root.VARIANT:
        return _side_by_side([_with_lengths(_bytes(part)) for part in array.flatten()])
    if root is Root.ROW:
        return _record(array.flatten(), data_type.fields, len(array))
    if root is Root.VECTOR:
        count = data_type.length or 0
        flat = _fixed(_numbers(array.flatten(), data_type.inner)).data
        size = len(flat) // len(array) if len(array) else 0
        values = Pieces(flat, np.full(len(array), size, np.int64))
        return _side_by_side([_var_ints(np.full(len(array), count, np.int64)), values])
    if root is Root.ARRAY:
        return _elements(array, array.flatten(), data_type.inner)
    is_multiset = root is Root.MULTISET
    flat = _flat_entries(array)
    key = data_type.inner if is_multiset else data_type.key_type
    items = _elements(array, flat.field(1), _COUNT if is_multiset else data_type.inner)
    return _side_by_side([_elements(array, flat.field(0), key), items])


def _flat_entries(array: pa.MapArray) -> pa.StructArray:
    """The entries of maps, without those outside of a slice."""
    ends = array.offsets.to_numpy()
    entries = pa.StructArray.from_arrays([array.keys, array.items], ["key", "value"])
    return entries.slice(int(ends[0]), int(ends[-1] - ends[0])) if len(ends) else entries


def _elements(array: pa.Array, flat: pa.Array, data_type: DataType) -> Pieces:
    sizes = np.diff(array.offsets.to_numpy()).astype(np.int64)
    masks = (sizes + 7) // 8
    bits = np.zeros(int(masks.sum()) * 8, np.uint8)
    bits[expand((np.cumsum(masks) - masks) * 8, sizes)] = _nulls(flat)
    found = _nullable(flat, data_type)
    ends = np.concatenate([[0], np.cumsum(found.lengths)])
    of_array = np.diff(ends[np.concatenate([[0], np.cumsum(sizes)])])
    heads = Pieces(np.packbits(bits, bitorder="little"), masks)
    return _side_by_side([_var_ints(sizes), heads, Pieces(found.data, of_array)])


def _buffer(array: pa.Array, kind: np.dtype, numbers: int = 1) -> Longs:
    """The numbers of an array, several for each value."""
    raw = np.frombuffer(array.buffers()[1], kind) if len(array) else np.empty(0, kind)
    return raw[array.offset * numbers : (array.offset + len(array)) * numbers]


def _numbers(array: pa.Array, data_type: DataType) -> Longs:
    if data_type.root is Root.BOOLEAN:
        return np.asarray(array.to_numpy(zero_copy_only=False), np.uint8)
    return _buffer(array, FIXED[data_type.root])


def _fixed(numbers: Longs) -> Pieces:
    data = np.ascontiguousarray(numbers).view(np.uint8)
    return Pieces(data, np.full(len(numbers), numbers.dtype.itemsize, np.int64))


def _var_ints(numbers: Longs) -> Pieces:
    """Numbers of seven bits a byte, the lowest first."""
    lengths = np.ones(len(numbers), np.int64)
    for shift in range(7, 35, 7):
        lengths += numbers >> shift > 0
    data = np.empty(int(lengths.sum()), np.uint8)
    starts = np.cumsum(lengths) - lengths
    for place in range(5):
        there = np.flatnonzero(lengths > place)
        goes_on = np.where(lengths[there] > place + 1, 0x80, 0)
        data[starts[there] + place] = (numbers[there] >> 7 * place & 0x7F) | goes_on
    return Pieces(data, lengths)


def _bytes(array: pa.Array) -> Pieces:
    if not len(array):
        return Pieces(np.empty(0, np.uint8), np.empty(0, np.int64))
    _, ends, data = array.buffers()
    offsets = np.frombuffer(ends, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    whole = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Pieces(whole[offsets[0] : offsets[-1]], np.diff(offsets))


def _with_lengths(values: Pieces) -> Pieces:
    return _side_by_side([_var_ints(values.lengths), values])


def _unscaled(whole: Longs) -> Pieces:
    """Decimals as Java's BigInteger.toByteArray: big-endian, as few bytes as hold the sign."""
    digits = np.ascontiguousarray(whole).view(np.uint8).reshape(-1, 16)
    sign = np.where(digits[:, 15] >= 0x80, 0xFF, 0).astype(np.uint8)
    used = np.full(len(digits), 16, np.int64)
    for place in range(15, 0, -1):  # a byte of the sign is left out where the next one has the sign too
        spare = (used == place + 1) & (digits[:, place] == sign) & ((digits[:, place - 1] >= 0x80) == (sign > 0))
        used[spare] = place
    number = np.arange(int(used.sum())) - np.repeat(np.cumsum(used) - used, used)
    row = np.repeat(np.arange(len(digits)), used)
    return Pieces(digits[row, np.repeat(used, used) - 1 - number], used)


def _timestamps(array: pa.Array, data_type: DataType) -> Pieces:
    values = _buffer(array, np.dtype("<i8"))
    if width_of(data_type) is not None:
        return _fixed(values)
    unit = NANOS_PER_UNIT[timestamp_unit(data_type.precision)]
    per_milli = NANOS_PER_UNIT["ms"] // unit
    millis = np.floor_divide(values, per_milli)
    return _side_by_side([_fixed(millis.astype("<i8")), _var_ints((values - millis * per_milli) * unit)])
