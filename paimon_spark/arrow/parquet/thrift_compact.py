"""The part of the Thrift compact protocol in parquet footers: bytes <-> a tree that keeps every field, known or not.

A struct is a list of ``Field(id, kind, value)``. Values: bool, int (all integer kinds, decoded from zigzag), bytes
(binary and double kinds), ``List(kind, values)``, or a struct.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_INTEGERS = (I16, I32, I64)
_MAX_DEPTH = 32


@dataclass(slots=True)
class Field:
    id: int
    kind: int
    value: Any


@dataclass(slots=True)
class List:
    kind: int
    values: list[Any]


Struct = list[Field]


@dataclass(frozen=True, slots=True)
class Encoded:
    """The bytes of a value, in the place of the value: what is encoded often is encoded once."""

    data: bytes


def encoded(kind: int, value: Any) -> Encoded:
    """A value that is encoded already."""
    out = bytearray()
    _put_value(out, kind, value)
    return Encoded(bytes(out))


def decode_struct(data: bytes) -> Struct:
    """The struct that starts at the first byte.

    Raises:
        ValueError: the bytes end early or hold a kind that parquet footers do not have.
    """
    try:
        return _struct(data, 0)[0]
    except IndexError:
        raise ValueError("the Thrift struct ends early") from None


def encode_struct(struct: Struct) -> bytes:
    """The bytes of a struct; the inverse of ``decode_struct`` for its results."""
    out = bytearray()
    _put_struct(out, struct)
    return bytes(out)


def find(struct: Struct, field_id: int) -> Any:
    """The value of a field, or None where it is absent."""
    for field in struct:
        if field.id == field_id:
            return field.value
    return None


def _struct(data: bytes, at: int, depth: int = 1) -> tuple[Struct, int]:
    """The struct at a place, and the place after it. Footers have thousands of fields, so this is one flat loop."""
    if depth > _MAX_DEPTH:
        raise ValueError(f"Thrift structs are nested more than {_MAX_DEPTH} deep")
    fields: Struct = []
    last = 0
    value: Any
    while True:
        head = data[at]
        at += 1
        if head == 0:
            return fields, at
        kind = head & 0x0F
        if head >> 4:
            last += head >> 4
        else:
            last, at = _zigzag(data, at)
        if kind in _INTEGERS:
            value = data[at]
            if value < 0x80:
                at += 1
                value = (value >> 1) ^ -(value & 1)
            else:
                value, at = _zigzag(data, at)
        elif kind == STRUCT:
            value, at = _struct(data, at, depth + 1)
        elif kind in (TRUE, FALSE):
            value = kind == TRUE
        else:
            value, at = _value(data, at, kind, depth)
        fields.append(Field(last, kind, value))


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind == BINARY:
        size, at = _varint(data, at)
        return _raw(data, at, size), at + size
    if kind in (LIST, SET):
        return _list(data, at, depth)
    if kind in _INTEGERS:
        return _zigzag(data, at)
    if kind == STRUCT:
        return _struct(data, at, depth + 1)
    if kind == DOUBLE:
        return _raw(data, at, 8), at + 8
    if kind == BYTE:
        return data[at], at + 1
    if kind in (TRUE, FALSE):  # the element of a list of booleans
        return data[at] == TRUE, at + 1
    raise ValueError(f"Thrift kind {kind} does not occur in parquet footers")


def _list(data: bytes, at: int, depth: int) -> tuple[List, int]:
    size, kind = data[at] >> 4, data[at] & 0x0F
    at += 1
    if size == 15:
        size, at = _varint(data, at)
    if size > len(data):
        raise IndexError
    if kind in (LIST, SET):
        raise ValueError("lists of lists do not occur in parquet footers")
    values: list[Any] = []
    if kind == BINARY:
        for _ in range(size):
            length = data[at]
            at += 1
            if length >= 0x80:
                length, at = _varint(data, at - 1)
            values.append(data[at : at + length])
            at += length
        if at > len(data):
            raise IndexError
        return List(kind, values), at
    for _ in range(size):
        value, at = _value(data, at, kind, depth)
        values.append(value)
    return List(kind, values), at


def _raw(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise IndexError
    return data[at : at + size]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a Thrift integer has more than 64 bits")


def _put_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _put_zigzag(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _put_struct(out: bytearray, struct: Struct) -> None:
    last = 0
    for field in struct:
        kind = field.kind
        if kind in (TRUE, FALSE):
            kind = TRUE if field.value else FALSE
        delta = field.id - last
        if 0 < delta <= 15:
            out.append(delta << 4 | kind)
        else:
            out.append(kind)
            _put_zigzag(out, field.id)
        last = field.id
        if kind not in (TRUE, FALSE):
            _put_value(out, kind, field.value)
    out.append(0)


def _put_value(out: bytearray, kind: int, value: Any) -> None:
    if isinstance(value, Encoded):
        out += value.data
    elif kind in _INTEGERS:
        _put_zigzag(out, value)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind == STRUCT:
        _put_struct(out, value)
    elif kind in (LIST, SET):
        size = len(value.values)
        out.append(min(size, 15) << 4 | value.kind)
        if size >= 15:
            _put_varint(out, size)
        for item in value.values:
            _put_value(out, value.kind, item)
    elif kind == BYTE:
        out.append(value)
    elif kind == DOUBLE:
        out += value
    else:
        out.append(TRUE if value else FALSE)
