"""Fields of many BinaryRows of one shape at once, as Arrow arrays (format section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.raw_values import masked, text_array
from paimon_spark.arrow.types import arrow_type, from_internal
from paimon_spark.format.binary_row import COMPACT_TIMESTAMP, header_size, row_decoder
from paimon_spark.format.types import STRINGS, TIMESTAMPS, DataType, Root

Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Bools: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]

_FIXED = {
    Root.BOOLEAN: "<u1", Root.TINYINT: "<i1", Root.SMALLINT: "<i2", Root.INT: "<i4", Root.DATE: "<i4", Root.TIME: "<i4",
    Root.BIGINT: "<i8", Root.FLOAT: "<f4", Root.DOUBLE: "<f8",
}  # fmt: skip
_INLINE = 1 << 63  # this bit of a slot says that the bytes of the value are in the slot


@dataclass(frozen=True)
class RowBytes:
    """Arity rows in a buffer.

    Attributes:
        buffer: the bytes.
        starts, ends: the positions where each row, including its arity, begins and ends.
    """

    buffer: bytes
    starts: Ints
    ends: Ints

    def __len__(self) -> int:
        return len(self.starts)

    def of(self, chosen: Ints) -> RowBytes:
        """Some of the rows."""
        return RowBytes(self.buffer, self.starts[chosen], self.ends[chosen])

    def arities(self) -> Ints:
        """The number of fields of each row; 0 where a row is too short to say."""
        known = self.ends - self.starts >= 4
        raw = np.frombuffer(self.buffer, np.uint8)
        at = np.where(known, self.starts, 0)
        if not len(raw):
            return np.zeros(len(self), np.int64)
        total = np.zeros(len(self), np.int64)
        for i in range(4):
            total = total * 256 + raw[np.minimum(at + i, len(raw) - 1)]
        return np.where(known, total, 0)


def row_bytes(rows: Sequence[bytes]) -> RowBytes:
    """Arity rows that are objects of their own."""
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    ends = np.cumsum(sizes)
    return RowBytes(b"".join(rows), ends - sizes, ends)


def row_field(rows: RowBytes, types: Sequence[DataType], position: int) -> pa.Array:
    """One field of the rows, as ``arrow_type`` of its type.

    Args:
        rows: rows that all have as many fields as types.
        types: the types of all fields of a row.
        position: the index of the field.

    Raises:
        CorruptFile: a row is cut off.
        DataError: a value does not fit the type.
    """
    t = types[position]
    if t.root not in _FIXED and t.root not in STRINGS and not _in_millis(t):
        return _decoded(rows, types, position)
    header = header_size(len(types))
    starts = rows.starts + 4
    if not len(rows) or (rows.ends - starts).min() < header + 8 * len(types):
        return _decoded(rows, types, position)
    raw = np.frombuffer(rows.buffer, np.uint8)
    absent: Bools = raw[starts + ((position + 8) >> 3)] & (1 << (position & 7)) != 0
    slots = starts + header + 8 * position
    if t.root in STRINGS:
        return _texts(rows, starts, slots, absent)
    values = _gathered(rows.buffer, slots, "<i8" if t.root in TIMESTAMPS else _FIXED[t.root])
    if t.root is Root.BOOLEAN:
        return masked(values != 0, absent)
    return masked(values, absent).cast(arrow_type(t))


def _in_millis(t: DataType) -> bool:
    return t.root in TIMESTAMPS and (6 if t.precision is None else t.precision) <= COMPACT_TIMESTAMP


def _decoded(rows: RowBytes, types: Sequence[DataType], position: int) -> pa.Array:
    decode = row_decoder(types, [position])
    spans = zip((rows.starts + 4).tolist(), rows.ends.tolist(), strict=True)
    return from_internal([decode(rows.buffer[start:end])[0] for start, end in spans], types[position])


def _gathered(buffer: bytes, at: Ints, kind: str) -> np.ndarray[tuple[int], np.dtype[np.generic]]:
    """The values of that kind at places of the buffer."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(buffer) - size + 1,), np.dtype(kind), buffer, strides=(1,))[at]


def _texts(rows: RowBytes, starts: Ints, slots: Ints, absent: Bools) -> pa.Array:
    """Texts lie in their slot, up to 7 bytes, or behind the fields. Bytes that are no UTF-8 are replaced as in Java."""
    words = _gathered(rows.buffer, slots, "<u8").astype(np.uint64)
    inline = words & np.uint64(_INLINE) != 0
    begins = np.where(inline, slots, starts + (words >> np.uint64(32)).astype(np.int64))
    sizes = np.where(inline, (words >> np.uint64(56)).astype(np.int64) & 0x7F, (words & np.uint64(0xFFFFFFFF)))
    spans = zip(begins.tolist(), (begins + sizes.astype(np.int64)).tolist(), absent.tolist(), strict=True)
    buffer = rows.buffer
    return text_array([None if gone else buffer[b:e].decode(errors="replace") for b, e, gone in spans])
