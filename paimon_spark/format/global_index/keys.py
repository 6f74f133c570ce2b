"""Values as the keys of an index of a whole table (Java: KeySerializer, release 2.0)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.file_index.keys import Key, KeyForm, KeyList
from paimon_spark.format.global_index.numbers import Ints, Octets, encode_varints, varint
from paimon_spark.format.spans import expand
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import FLOATS, STRINGS, TIMESTAMPS, DataType, Root

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
}
_SHORT_DECIMAL = 18
_INDEXED = STRINGS | TIMESTAMPS | _WIDTHS.keys() | {Root.DECIMAL}


class Interval(NamedTuple):
    """Keys between two bounds.

    Attributes:
        low, high: None: there is no such bound.
        with_low, with_high: whether a bound is one of the keys.
    """

    low: Key | None = None
    high: Key | None = None
    with_low: bool = True
    with_high: bool = True

    @property
    def is_empty(self) -> bool:
        """True if no key can lie between the bounds."""
        if self.low is None or self.high is None:
            return False
        return self.is_after(self.high) or self.is_before(self.low)

    def is_after(self, key: Key) -> bool:
        """True if a key is less than all of these."""
        if self.low is None:
            return False
        return key < self.low or (key == self.low and not self.with_low)  # type: ignore[operator]  # keys of one type

    def is_before(self, key: Key) -> bool:
        """True if a key is greater than all of these."""
        if self.high is None:
            return False
        return key > self.high or (key == self.high and not self.with_high)  # type: ignore[operator]


@dataclass(frozen=True)
class GlobalKeyForm(KeyForm):
    """How the values of one column are kept: as in file indexes, but times with all digits, and decimals of any length.

    The bytes of a key are little-endian, those of a decimal of more than 18 digits big-endian.
    """

    @property
    def width(self) -> int | None:
        """Bytes of a key; None: a key has any length."""
        root = self.data_type.root
        if root is Root.DECIMAL:
            return 8 if self._is_short_decimal else None
        if root in TIMESTAMPS:
            return 8 if self._precision <= 3 else None
        return _WIDTHS.get(root)

    def stored(self, key: Key) -> bytes:
        """The bytes of a key."""
        if isinstance(key, bytes):
            return key
        root, width = self.data_type.root, self.width
        if root in FLOATS and width is not None:
            return self._float_bits(key).to_bytes(width, "little")
        if width is not None:
            return key.to_bytes(width, "little", signed=True)
        if root is Root.DECIMAL:  # as many bytes as Java's BigInteger.toByteArray
            bits = (key if key >= 0 else -key - 1).bit_length()
            return key.to_bytes(bits // 8 + 1, "big", signed=True)
        millis, nanos = divmod(key, 10**6)
        return millis.to_bytes(8, "little", signed=True) + varint(nanos)

    def loaded(self, raw: bytes) -> Key:
        """The key of some bytes.

        Raises:
            CorruptFile: they are no key of the type.
        """
        root, width = self.data_type.root, self.width
        if root in STRINGS:
            return raw
        if width is not None and len(raw) != width:
            raise CorruptFile(
                f"a key of a global index has {len(raw)} bytes, and one of {type_sql(self.data_type)} has {width}"
            )
        if root in FLOATS:
            return int(self.decode_all(raw[::-1])[0])
        if width is not None:
            return int.from_bytes(raw, "little", signed=True)
        if root is Root.DECIMAL:
            return int.from_bytes(raw, "big", signed=True)
        if not 9 <= len(raw) <= 13:
            raise CorruptFile(
                f"a key of a global index has {len(raw)} bytes, and one of {type_sql(self.data_type)} has 9 to 13"
            )
        nanos = sum((byte & 127) << 7 * place for place, byte in enumerate(raw[8:]))
        return int.from_bytes(raw[:8], "little", signed=True) * 10**6 + nanos

    def stored_all(self, keys: KeyList) -> tuple[Octets, list[int] | int]:
        """The bytes of keys one after the other, and the length of each (or of all)."""
        width = self.width
        if width is not None and isinstance(keys, np.ndarray):
            big = np.frombuffer(self.encode_all(keys), np.uint8)  # big-endian
            if self.data_type.root is Root.DECIMAL or self.data_type.root in TIMESTAMPS:
                big = np.frombuffer(keys.astype(">i8").tobytes(), np.uint8)
            return np.ascontiguousarray(big.reshape(-1, width)[:, ::-1]).reshape(-1), width
        if isinstance(keys, np.ndarray):
            return self._stored_times(keys)
        each = [self.stored(key) for key in keys]
        return np.frombuffer(b"".join(each), np.uint8), [len(key) for key in each]

    def _stored_times(self, keys: Ints) -> tuple[Octets, list[int]]:
        """As stored_all, of times with more digits than milliseconds."""
        millis = np.frombuffer((keys // 10**6).astype("<i8").tobytes(), np.uint8)
        rest, sizes = encode_varints(keys % 10**6)
        ends = np.cumsum(sizes + 8)
        found = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
        starts = ends - sizes - 8
        found[expand(starts, np.full(len(keys), 8))] = millis
        found[expand(starts + 8, sizes)] = rest
        return found, (sizes + 8).tolist()

    @property
    def _precision(self) -> int:
        return 6 if self.data_type.precision is None else self.data_type.precision

    @property
    def _is_short_decimal(self) -> bool:
        return (self.data_type.precision or 10) <= _SHORT_DECIMAL

    def _nanos(self) -> int:
        return 10**6 if self._precision <= 3 else 1


def global_key_form(data_type: DataType) -> GlobalKeyForm:
    """The form of the keys of a column.

    Raises:
        UnsupportedFeature: no index of a whole table can be over the type.
    """
    if data_type.root not in _INDEXED:
        raise UnsupportedFeature(
            f"an index of the whole table cannot be over a column of the type {type_sql(data_type)}, in the official "
            "system either; it is over numbers, texts, dates, times or BOOLEAN"
        )
    return GlobalKeyForm(data_type)
