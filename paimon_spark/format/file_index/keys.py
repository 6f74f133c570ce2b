"""Values as the keys of an index: what is stored, and in which order (Java: KeyFactory, BitmapTypeVisitor)."""

from __future__ import annotations

import struct
from collections.abc import Set
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.types import FLOATS, STRINGS, TIMESTAMPS, DataType, Root

Key = int | bytes

_WIDTHS = {
    Root.BOOLEAN: 1,
    Root.TINYINT: 1,
    Root.SMALLINT: 2,
    Root.INT: 4,
    Root.DATE: 4,
    Root.TIME: 4,
    Root.FLOAT: 4,
    Root.BIGINT: 8,
    Root.DOUBLE: 8,
    Root.DECIMAL: 8,
    Root.TIMESTAMP: 8,
    Root.TIMESTAMP_LTZ: 8,
}
_EXACT = Context(prec=60)
_NANS = {4: 0x7FC0 << 16, 8: 0x7FF8 << 48}
_FLOAT_FORMATS = {4: ">f", 8: ">d"}


@dataclass(frozen=True)
class KeyForm:
    """How the values of one column are kept: as bytes (strings) or as integers, either in the order of the values.

    Timestamps are kept in milliseconds up to precision 3, else in microseconds: finer digits are cut off, so a key may
    stand for several values. Floats are kept by their bits, in Java's total order, every NaN as one key.
    """

    data_type: DataType

    @property
    def width(self) -> int | None:
        """Bytes of an encoded key. None: the key has any length, and is preceded by its length in 4 bytes."""
        return _WIDTHS.get(self.data_type.root)

    def key(self, value: Any) -> Key:
        """The key of an internal value, which is not None."""
        root = self.data_type.root
        if root in STRINGS:
            return bytes(value.encode("utf-8"))
        if root in FLOATS:
            bits = float_bits(value, _WIDTHS[root])
            return bits if bits >= 0 else -(bits & self._magnitude()) - 1
        if root in TIMESTAMPS:
            return int(value // self._nanos())
        if root is Root.DECIMAL:
            return int(value.scaleb(self.data_type.scale or 0, _EXACT))
        return int(value)

    def value(self, key: Key) -> Any:
        """The (smallest) internal value of a key."""
        root = self.data_type.root
        if isinstance(key, bytes):
            return key.decode("utf-8", "replace")
        if root in FLOATS:
            width = _WIDTHS[root]
            (value,) = struct.unpack(_FLOAT_FORMATS[width], self._float_bits(key).to_bytes(width, "big"))
            return value
        if root in TIMESTAMPS:
            return key * self._nanos()
        if root is Root.DECIMAL:
            return Decimal(key).scaleb(-(self.data_type.scale or 0), _EXACT)
        return bool(key) if root is Root.BOOLEAN else key

    def encode(self, key: Key) -> bytes:
        if isinstance(key, bytes):
            return len(key).to_bytes(4, "big") + key
        if self.data_type.root in FLOATS:
            return self._float_bits(key).to_bytes(_WIDTHS[self.data_type.root], "big")
        return key.to_bytes(_WIDTHS[self.data_type.root], "big", signed=True)

    def decode(self, reader: ByteReader) -> Key:
        width = self.width
        if width is None:
            return reader.take(reader.int32())
        key = reader.number(width)
        return -(key & self._magnitude()) - 1 if key < 0 and self.data_type.root in FLOATS else key

    def _float_bits(self, key: int) -> int:
        """The unsigned IEEE bits of a key."""
        return key if key >= 0 else -(key + 1) | (self._magnitude() + 1)

    def _magnitude(self) -> int:
        return int(2 ** (8 * _WIDTHS[self.data_type.root] - 1)) - 1

    def _nanos(self) -> int:
        precision = 6 if self.data_type.precision is None else self.data_type.precision
        return 10**6 if precision <= 3 else 10**3


def key_form(data_type: DataType, roots: Set[Root], index: str) -> KeyForm:
    """The key form of a column.

    Args:
        roots: the types that the index supports.
        index: its name, for the error.

    Raises:
        UnsupportedFeature: the index does not support the type.
    """
    if data_type.root not in roots:
        raise UnsupportedFeature(
            f"a {index} index cannot hold values of type {data_type.root}: take the column out of "
            f"file-index.{index}.columns"
        )
    return KeyForm(data_type)


def float_bits(value: float, width: int) -> int:
    """The signed IEEE bits of a float of width bytes, every NaN as one (Java: floatToIntBits, doubleToLongBits)."""
    if value != value:
        return _NANS[width]
    return int.from_bytes(struct.pack(_FLOAT_FORMATS[width], value), "big", signed=True)
