"""The part of the Thrift compact protocol in parquet footers: bytes <-> a tree that keeps every field, known or not.

A struct is a list of ``Field(id, kind, value)``. Values: bool, int (all integer kinds, decoded from zigzag), bytes
(binary and double kinds), ``List(kind, values)``, or a struct.
"""

from __future__ import annotations

from collections.abc import Sequence
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


def decode_struct(data: bytes) -> Struct:
    """The struct that starts at the first byte.

    Raises:
        ValueError: the bytes end early or hold a kind that parquet footers do not have.
    """
    try:
        return _Reader(data).struct()
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


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.depth = 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        data, at = self.data, self.at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.at = at
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a Thrift integer has more than 64 bits")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def raw(self, size: int) -> bytes:
        value = self.data[self.at : self.at + size]
        if len(value) != size:
            raise IndexError
        self.at += size
        return value

    def struct(self) -> Struct:
        fields: Struct = []
        last = 0
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"Thrift structs are nested more than {_MAX_DEPTH} deep")
        while True:
            head = self.byte()
            if head == 0:
                self.depth -= 1
                return fields
            kind, delta = head & 0x0F, head >> 4
            last = last + delta if delta else self.zigzag()
            fields.append(Field(last, kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind)))

    def value(self, kind: int) -> Any:
        if kind in _INTEGERS:
            return self.zigzag()
        if kind == BINARY:
            return self.raw(self.varint())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, SET):
            return self.list()
        if kind == BYTE:
            return self.byte()
        if kind == DOUBLE:
            return self.raw(8)
        if kind in (TRUE, FALSE):  # the element of a list of booleans
            return self.byte() == TRUE
        raise ValueError(f"Thrift kind {kind} does not occur in parquet footers")

    def list(self) -> List:
        head = self.byte()
        size, kind = head >> 4, head & 0x0F
        if size == 15:
            size = self.varint()
        if size > len(self.data):
            raise IndexError
        if kind in (LIST, SET):
            raise ValueError("lists of lists do not occur in parquet footers")
        return List(kind, [*self.texts(size)] if kind == BINARY else [self.value(kind) for _ in range(size)])

    def texts(self, count: int) -> Sequence[bytes]:
        """As many binary values, most of them short: page indexes hold thousands."""
        data, at, found = self.data, self.at, []
        for _ in range(count):
            size = data[at]
            at += 1
            if size >= 0x80:
                self.at = at - 1
                size = self.varint()
                at = self.at
            found.append(data[at : at + size])
            at += size
        if at > len(data):
            raise IndexError
        self.at = at
        return found


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
    if kind in _INTEGERS:
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
