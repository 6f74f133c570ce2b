"""Protobuf messages as lists of their fields, limited to what ORC files need."""

from __future__ import annotations

from typing import Any, TypeAlias

VARINT, _FIXED64, BYTES, _FIXED32 = 0, 1, 2, 5

Message: TypeAlias = list[tuple[int, int, Any]]  # (field, wire type, value: int for varints, else bytes)


def decode_message(data: bytes) -> Message:
    """The fields of a protobuf message in their order.

    Raises:
        ValueError: the bytes end early or are not a message.
    """
    fields: Message = []
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        wire = tag & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
            fields.append((tag >> 3, wire, value))
            continue
        if wire == BYTES:
            size, at = read_varint(data, at)
        elif wire in (_FIXED64, _FIXED32):
            size = 8 if wire == _FIXED64 else 4
        else:
            raise ValueError(f"protobuf wire type {wire} is unknown")
        if at + size > end:
            raise ValueError("the protobuf message ends early")
        fields.append((tag >> 3, wire, data[at : at + size]))
        at += size
    return fields


def encode_message(fields: Message) -> bytes:
    """The bytes of a message; the inverse of ``decode_message``."""
    out = bytearray()
    for field, wire, value in fields:
        _put_varint(out, field << 3 | wire)
        if wire == VARINT:
            _put_varint(out, value)
            continue
        if wire == BYTES:
            _put_varint(out, len(value))
        out += value
    return bytes(out)


def number(fields: Message, field: int, default: int = 0) -> int:
    """The number in a field that occurs at most once.

    Raises:
        ValueError: the field holds bytes.
    """
    found = _first(fields, field, int)
    return default if found is None else int(found)


def maybe_number(fields: Message, field: int) -> int | None:
    """The number in a field that occurs at most once, None where it is absent.

    Raises:
        ValueError: the field holds bytes.
    """
    found = _first(fields, field, int)
    return None if found is None else int(found)


def maybe_bytes(fields: Message, field: int) -> bytes | None:
    """The bytes in a field that occurs at most once, None where it is absent.

    Raises:
        ValueError: the field holds a number.
    """
    found = _first(fields, field, bytes)
    return None if found is None else bytes(found)


def _first(fields: Message, field: int, kind: type) -> Any:
    for position, _, value in fields:
        if position == field:
            if not isinstance(value, kind):
                raise ValueError(f"protobuf field {field} is not {kind.__name__}")
            return value
    return None


def repeated(fields: Message, field: int) -> list[bytes]:
    """The messages or texts in a field that may occur many times.

    Raises:
        ValueError: one of them is a number.
    """
    found = [value for position, _, value in fields if position == field]
    if not all(isinstance(value, bytes) for value in found):
        raise ValueError(f"protobuf field {field} is not bytes")
    return found


def packed(data: bytes) -> list[int]:
    """The numbers of a packed field."""
    numbers, at = [], 0
    while at < len(data):
        number, at = read_varint(data, at)
        numbers.append(number)
    return numbers


def zigzag(value: int) -> int:
    """The signed number behind an sint varint."""
    return (value >> 1) ^ -(value & 1)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number at a position, and the position after it. Raises ValueError if the bytes end early."""
    value = shift = 0
    while True:
        if at >= len(data):
            raise ValueError("the protobuf message ends early")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _put_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
