"""Values as the keys of an index: what is stored, and in which order (Java: KeyFactory, BitmapTypeVisitor)."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from paimon_spark.format.file_index.byte_reader import ByteReader
from paimon_spark.format.file_index.row_sets import Ints, RowSet, row_set
from paimon_spark.format.file_index.settings import check_type
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
KeyList: TypeAlias = Ints | Sequence[bytes]


class KeySpan(NamedTuple):
    """Which keys the rows that equal a value may have: those from low to high; lower keys are of lesser values.

    Attributes:
        exact: whether all rows with such keys equal the value.
    """

    low: Key
    high: Key
    exact: bool


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

    @property
    def has_one_encoding(self) -> bool:
        """True if a key is stored in one form: NaN has many."""
        return self.data_type.root not in FLOATS

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

    def span(self, value: Any) -> KeySpan | None:
        """The keys of the rows that equal a value, which is not None; None: no key tells.

        -0.0 equals 0.0, and has a key of its own.
        """
        root = self.data_type.root
        if root is Root.DECIMAL:
            scaled = value.scaleb(self.data_type.scale or 0, _EXACT)
            whole = int(scaled.to_integral_value(ROUND_FLOOR, _EXACT))
            return KeySpan(whole, whole, whole == scaled)
        if root in FLOATS and value == 0:
            return KeySpan(self.key(-0.0), self.key(0.0), exact=True)
        try:
            key = self.key(value)
        except (OverflowError, UnicodeEncodeError):  # beyond FLOAT, or no Unicode text
            return None
        if root in TIMESTAMPS:
            precision = 6 if self.data_type.precision is None else self.data_type.precision
            return KeySpan(key, key, precision <= 6 and value % self._nanos() == 0)
        return KeySpan(key, key, root is not Root.FLOAT or value != value or self.value(key) == value)

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
        width = _WIDTHS.get(self.data_type.root)
        if width is None:
            return reader.take(reader.int32())
        key = int.from_bytes(reader.take(width), "big", signed=True)
        if self.data_type.root not in FLOATS:
            return key
        if key & self._magnitude() > self._infinity():  # a NaN of any sign and content
            return _NANS[width]
        return -(key & self._magnitude()) - 1 if key < 0 else key

    def decode_all(self, data: bytes) -> Ints:
        """Encoded keys of fixed width, one after the other; see encode_all."""
        width = _WIDTHS[self.data_type.root]
        keys = np.frombuffer(data, f">i{width}").astype(np.int64)
        if self.data_type.root not in FLOATS:
            return keys
        magnitudes = keys & self._magnitude()
        keys = np.where(keys >= 0, keys, -magnitudes - 1)
        return np.where(magnitudes > self._infinity(), _NANS[width], keys)

    def encode_all(self, keys: Ints) -> bytes:
        """The encoded keys of fixed width, one after the other."""
        width = _WIDTHS[self.data_type.root]
        if self.data_type.root in FLOATS:
            sign = np.int64(-(2 ** (8 * width - 1)))
            keys = np.where(keys >= 0, keys, (-(keys + 1)) | sign)
        return keys.astype(f">i{width}").tobytes()

    def _float_bits(self, key: int) -> int:
        """The unsigned IEEE bits of a key."""
        return key if key >= 0 else -(key + 1) | (self._magnitude() + 1)

    def _magnitude(self) -> int:
        return int(2 ** (8 * _WIDTHS[self.data_type.root] - 1)) - 1

    def _infinity(self) -> int:
        """The bits of the greatest number that is no NaN."""
        return 0x7F800000 if self.data_type.root is Root.FLOAT else 0x7FF0 << 48

    def _nanos(self) -> int:
        precision = 6 if self.data_type.precision is None else self.data_type.precision
        return 10**6 if precision <= 3 else 10**3


def key_form(data_type: DataType, kind: str) -> KeyForm:
    """The form of the keys of a column in an index of this kind.

    Raises:
        UnsupportedFeature: such an index cannot hold the type.
    """
    check_type(kind, data_type)
    return KeyForm(data_type)


def float_bits(value: float, width: int) -> int:
    """The signed IEEE bits of a float of width bytes, every NaN as one (Java: floatToIntBits, doubleToLongBits)."""
    if value != value:
        return _NANS[width]
    return int.from_bytes(struct.pack(_FLOAT_FORMATS[width], value), "big", signed=True)


@dataclass(frozen=True)
class CodedKeys:
    """The keys of the rows of a column.

    Attributes:
        form: of the keys.
        keys: the distinct ones, ascending.
        codes: for every row the number of its key, -1 for null.
    """

    form: KeyForm
    keys: KeyList
    codes: Ints

    @property
    def row_count(self) -> int:
        return len(self.codes)

    @property
    def key_list(self) -> Sequence[Key]:
        """The distinct keys as single values."""
        return self.keys.tolist() if isinstance(self.keys, np.ndarray) else self.keys

    def key_at(self, number: int) -> Key:
        """One of the distinct keys."""
        key = self.keys[number]
        return key if isinstance(key, bytes) else int(key)

    @property
    def nulls(self) -> RowSet:
        """The rows that are null."""
        return row_set(np.flatnonzero(self.codes < 0))

    def rows_by_key(self) -> Iterator[Ints]:
        """The rows of each key, ascending, in the order of keys."""
        rows = np.argsort(self.codes, kind="stable")
        ends = np.searchsorted(self.codes, np.arange(-1, len(self.keys)), "right", sorter=rows)
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            yield rows[start:end]

    def slices(self, count: int) -> list[RowSet]:
        """The rows whose code has bit i set, for every i."""
        codes = np.maximum(self.codes, 0)
        return [row_set(np.flatnonzero(codes >> bit & 1)) for bit in range(count)]


def code_keys(form: KeyForm, keys: Ints, valid: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> CodedKeys:
    """The coded keys of a column of fixed width; keys of rows that are not valid do not count."""
    distinct, places = np.unique(keys[valid], return_inverse=True)
    codes = np.full(len(keys), -1, np.int64)
    codes[valid] = places
    return CodedKeys(form, distinct, codes)
