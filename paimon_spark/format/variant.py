"""The bytes of VARIANT: a value, and the metadata with the names of its fields (Parquet: VariantEncoding, version 1).

A value is a header byte and what it announces. The two low bits of a header are its basic type; objects and arrays
hold offsets, so that a value can be moved as it is. Java: GenericVariantUtil, GenericVariantBuilder.
"""

from __future__ import annotations

import json
import struct
from base64 import b64encode
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import lru_cache
from itertools import pairwise
from math import isfinite
from typing import Any
from uuid import UUID

from paimon_spark.errors import DataError
from paimon_spark.format.java.text import date_text, double_text, float_text, timestamp_iso_text

_PRIMITIVE, _SHORT_TEXT, _OBJECT, _ARRAY = range(4)
_NULL, _TRUE, _FALSE, _INT1, _INT2, _INT4, _INT8, _DOUBLE = range(8)
_DECIMAL4, _DECIMAL8, _DECIMAL16, _DATE, _TIMESTAMP, _TIMESTAMP_NTZ, _FLOAT, _BINARY, _TEXT = range(8, 17)
_TIME_NTZ, _TIMESTAMP_NANOS, _TIMESTAMP_NTZ_NANOS, _UUID = range(17, 21)
_WIDTHS = {_INT1: 1, _INT2: 2, _INT4: 4, _INT8: 8, _DATE: 4, _TIMESTAMP: 8, _TIMESTAMP_NTZ: 8, _TIME_NTZ: 8,
           _TIMESTAMP_NANOS: 8, _TIMESTAMP_NTZ_NANOS: 8}  # fmt: skip
_DECIMALS = {_DECIMAL4: 4, _DECIMAL8: 8, _DECIMAL16: 16}
_INTEGERS = ((1, _INT1), (2, _INT2), (4, _INT4), (8, _INT8))
_SHORTEST = 64
_VERSION, _MAX_DEPTH = 1, 500
_EXACT = Context(prec=80)


class Names:
    """The names of fields that metadata hold; names that are added get the next numbers.

    Raises:
        DataError: the bytes are no metadata.
    """

    def __init__(self, metadata: bytes) -> None:
        self._bytes: bytes | None = metadata
        try:
            self.names = _names(metadata)
        except (IndexError, UnicodeDecodeError, ValueError):
            raise _malformed() from None
        self._ids = {name: number for number, name in enumerate(self.names)}

    def id_of(self, name: str) -> int:
        found = self._ids.get(name)
        if found is None:
            found = self._ids[name] = len(self.names)
            self.names.append(name)
            self._bytes = None
        return found

    def metadata(self) -> bytes:
        """The metadata with all names, those that were there before under their numbers."""
        if self._bytes is None:
            self._bytes = _metadata([name.encode() for name in self.names])
        return self._bytes


def _names(metadata: bytes) -> list[str]:
    if metadata[0] & 0x0F != _VERSION:
        raise ValueError("another version")
    width = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + width], "little")
    start = 1 + width * (count + 2)
    if start > len(metadata):
        raise ValueError("cut off")
    ends = [int.from_bytes(metadata[i : i + width], "little") for i in range(1 + width, start, width)]
    if ends != sorted(ends) or start + ends[-1] > len(metadata):
        raise ValueError("wrong offsets")
    return [metadata[start + a : start + b].decode() for a, b in pairwise(ends)]


def _metadata(names: Sequence[bytes]) -> bytes:
    size = sum(map(len, names))
    width = _width(max(size, len(names)))
    head = bytes([_VERSION | (width - 1) << 6]) + len(names).to_bytes(width, "little")
    return b"".join((head, _offsets(names, width), *names))


def _width(number: int) -> int:
    return max((number.bit_length() + 7) // 8, 1)


def _offsets(parts: Sequence[bytes], width: int) -> bytes:
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    return bytes(ends) if width == 1 else b"".join(end.to_bytes(width, "little") for end in ends)


def object_of(fields: Sequence[tuple[int, bytes]]) -> bytes:
    """An object of fields, each the number of its name and its value, in the order of the names."""
    ids, parts = [number for number, _ in fields], [part for _, part in fields]
    id_width, width, is_large = _width(max(ids, default=0)), _width(sum(map(len, parts))), len(parts) > 255
    header = bytes([_OBJECT | is_large << 6 | (id_width - 1) << 4 | (width - 1) << 2])
    count = len(parts).to_bytes(4 if is_large else 1, "little")
    numbers = bytes(ids) if id_width == 1 else b"".join(number.to_bytes(id_width, "little") for number in ids)
    return b"".join((header, count, numbers, _offsets(parts, width), *parts))


def array_of(parts: Sequence[bytes]) -> bytes:
    """An array of values."""
    width, is_large = _width(sum(map(len, parts))), len(parts) > 255
    header = bytes([_ARRAY | is_large << 4 | (width - 1) << 2])
    return b"".join((header, len(parts).to_bytes(4 if is_large else 1, "little"), _offsets(parts, width), *parts))


def name_order(name: str) -> bytes:
    """By it the fields of an object are sorted: the order of Java's texts."""
    return name.encode("utf-16-be")


def integer(value: int) -> bytes:
    """A whole number of at most 64 bits, as short as it may be."""
    for width, kind in _INTEGERS:
        if -(1 << (8 * width - 1)) <= value < 1 << (8 * width - 1):
            return bytes([kind << 2]) + value.to_bytes(width, "little", signed=True)
    raise DataError(f"the number {value} has more than 64 bits")


def boolean(value: bool) -> bytes:
    return bytes([(_TRUE if value else _FALSE) << 2])


def double(value: float) -> bytes:
    return struct.pack("<Bd", _DOUBLE << 2, value)


def single(value: float) -> bytes:
    return struct.pack("<Bf", _FLOAT << 2, value)


def decimal(value: Decimal) -> bytes:
    sign, digits, exponent = value.as_tuple()
    unscaled, scale = int("".join(map(str, digits))) * (-1 if sign else 1), -int(exponent)
    kind = _DECIMAL4 if max(len(digits), scale) <= 9 else _DECIMAL8 if max(len(digits), scale) <= 18 else _DECIMAL16
    return bytes([kind << 2, scale]) + unscaled.to_bytes(_DECIMALS[kind], "little", signed=True)


def text(value: str) -> bytes:
    data = value.encode()
    if len(data) < _SHORTEST:
        return bytes([len(data) << 2 | _SHORT_TEXT]) + data
    return struct.pack("<BI", _TEXT << 2, len(data)) + data


def binary(value: bytes) -> bytes:
    return struct.pack("<BI", _BINARY << 2, len(value)) + value


def uuid(value: bytes) -> bytes:
    return bytes([_UUID << 2]) + value


def date(days: int) -> bytes:
    return struct.pack("<Bi", _DATE << 2, days)


def timestamp(count: int, unit: str, has_zone: bool) -> bytes:
    """An instant, or a local time; count: micros, or nanos if the unit is "ns"."""
    kinds = (_TIMESTAMP_NTZ_NANOS, _TIMESTAMP_NANOS) if unit == "ns" else (_TIMESTAMP_NTZ, _TIMESTAMP)
    return struct.pack("<Bq", kinds[has_zone] << 2, count)


def time(micros: int) -> bytes:
    return struct.pack("<Bq", _TIME_NTZ << 2, micros)


def object_fields(value: bytes) -> list[tuple[int, bytes]]:
    """The fields of an object: the number of the name and the value of each.

    Raises:
        DataError: it is no object, or its bytes are damaged.
    """
    if not value or value[0] & 3 != _OBJECT:
        raise _malformed()
    ids, parts = _parts(value)
    return list(zip(ids, parts, strict=True))


def _parts(value: bytes) -> tuple[list[int], list[bytes]]:
    """The ids, of an object, and the values in an object or array, which may lie in any order."""
    is_object = value[0] & 3 == _OBJECT
    info = value[0] >> 2
    count_width = 4 if info >> (4 if is_object else 2) & 1 else 1
    id_width, width = ((info >> 2 & 3) + 1 if is_object else 0), (info & 3) + 1
    count = int.from_bytes(value[1 : 1 + count_width], "little")
    at = 1 + count_width
    begin = at + id_width * count
    data = begin + width * (count + 1)
    if data > len(value):
        raise _malformed()
    ids = [int.from_bytes(value[i : i + id_width], "little") for i in range(at, begin, id_width or 1)]
    offsets = [int.from_bytes(value[i : i + width], "little") for i in range(begin, data, width)]
    if data + offsets[-1] > len(value) or max(offsets) != offsets[-1]:
        raise _malformed()
    places = sorted({*offsets})
    ends = dict(pairwise(places))
    if any(offset not in ends for offset in offsets[:-1]):
        raise _malformed()
    return ids if is_object else [], [value[data + o : data + ends[o]] for o in offsets[:-1]]


def plain_value(value: bytes, names: Sequence[str], depth: int = 0) -> Any:
    """A value as json.dumps takes it: decimals stay Decimal, bytes are base64, times ISO 8601 (an instant in UTC).

    Raises:
        DataError: the bytes are no value of VARIANT, or of a type that this release does not know.
    """
    if depth > _MAX_DEPTH:
        raise _malformed()
    try:
        basic, info = value[0] & 3, value[0] >> 2
        if basic == _SHORT_TEXT:
            return _cut(value, 1, info).decode()
        if basic == _PRIMITIVE:
            return _primitive(value, info)
        ids, parts = _parts(value)
        items = [plain_value(part, names, depth + 1) for part in parts]
        return items if basic == _ARRAY else {names[number]: item for number, item in zip(ids, items, strict=True)}
    except (IndexError, struct.error, UnicodeDecodeError):
        raise _malformed() from None


def _primitive(value: bytes, kind: int) -> Any:
    if kind <= _FALSE:
        return (None, True, False)[kind]
    if kind in _WIDTHS:
        return _shown(kind, int.from_bytes(_cut(value, 1, _WIDTHS[kind]), "little", signed=True))
    if kind in _DECIMALS:
        unscaled = int.from_bytes(_cut(value, 2, _DECIMALS[kind]), "little", signed=True)
        return _EXACT.scaleb(Decimal(unscaled), -value[1])
    if kind == _DOUBLE:
        return struct.unpack_from("<d", value, 1)[0]
    if kind == _FLOAT:  # by its own shortest digits, not by those of the double that it is widened to
        return float(float_text(struct.unpack_from("<f", value, 1)[0]))
    if kind == _UUID:
        return str(UUID(bytes=_cut(value, 1, 16)))
    if kind not in (_BINARY, _TEXT):
        raise DataError(f"a value of VARIANT has the type {kind}, which this release does not know")
    data = _cut(value, 5, struct.unpack_from("<I", value, 1)[0])
    return data.decode() if kind == _TEXT else b64encode(data).decode()


def _shown(kind: int, number: int) -> Any:
    if kind == _DATE:
        return date_text(number)
    if kind == _TIME_NTZ:
        return timestamp_iso_text(number * 1000).partition("T")[2]
    if kind in (_TIMESTAMP, _TIMESTAMP_NTZ, _TIMESTAMP_NANOS, _TIMESTAMP_NTZ_NANOS):
        nanos = number * (1000 if kind in (_TIMESTAMP, _TIMESTAMP_NTZ) else 1)
        return timestamp_iso_text(nanos) + ("Z" if kind in (_TIMESTAMP, _TIMESTAMP_NANOS) else "")
    return number


def _cut(value: bytes, start: int, size: int) -> bytes:
    if start + size > len(value):
        raise _malformed()
    return value[start : start + size]


def _malformed() -> DataError:
    return DataError("a value of VARIANT is damaged: its bytes are not those of version 1 of the encoding")


def json_text(value: bytes, metadata: bytes) -> str:
    """A value as JSON text, without blanks. NaN and infinities, which JSON lacks, are texts.

    Raises:
        DataError: the bytes are no value of VARIANT.
    """
    return _json(plain_value(value, _names_of(metadata)))


@lru_cache(256)
def _names_of(metadata: bytes) -> Sequence[str]:
    return tuple(Names(metadata).names)


def _json(value: Any) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_json(name)}:{_json(item)}" for name, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json, value)) + "]"
        case Decimal():
            return format(value, "f")
        case float() if not isfinite(value):
            return f'"{double_text(value)}"'
    return json.dumps(value, ensure_ascii=False)
