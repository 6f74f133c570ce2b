"""The container of all indexes of one data file (format section 9; Java: FileIndexFormat)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from struct import Struct

from paimon_spark.format.file_index.byte_reader import ByteReader, Bytes
from paimon_spark.format.java.modified_utf8 import decode_utf, encode_utf

MAGIC = 1493475289347502
VERSION = 1
_BEGIN, _PLACE = Struct(">qii"), Struct(">ii")
_EMPTY = -1  # the start of an index of which nothing is stored

Indexes = dict[str, dict[str, bytes | None]]


def decode_container(data: bytes, where: str) -> Indexes:
    """The indexes by column name and index type, None for one that is empty.

    A column is named as in the schema of the file; the index of a map's key ``k`` belongs to the column ``name[k]``.

    Raises:
        CorruptFile: not a container, a newer version, or truncated.
    """
    indexes: Indexes = {}
    for column, by_kind in open_container(data, where).items():
        indexes[column] = {kind: None if part is None else part.take(part.rest) for kind, part in by_kind.items()}
    return indexes


def open_container(data: Bytes, where: str) -> dict[str, dict[str, ByteReader | None]]:
    """The indexes by column name and index type, of which only the head of the container has been read.

    Raises:
        CorruptFile: not a container, a newer version, or truncated.
    """
    reader = ByteReader(data, f"the file index {where}")
    magic, version, head_length = _BEGIN.unpack(reader.take(_BEGIN.size))
    if magic != MAGIC:
        raise reader.corrupt(f"it begins with {magic}, not with {MAGIC}")
    if version != VERSION:
        raise reader.corrupt(f"its version is {version}, this release reads {VERSION}")
    head = reader.part(reader.position, head_length - reader.position).loaded()
    indexes: dict[str, dict[str, ByteReader | None]] = {}
    for _ in range(head.int32()):
        column = indexes.setdefault(_decode_name(head), {})
        for _ in range(head.int32()):
            name = _decode_name(head)
            start, length = _PLACE.unpack(head.take(_PLACE.size))
            column[name] = None if start == _EMPTY else reader.part(start, length)
    return indexes


def encode_container(indexes: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """The bytes of a container; columns and indexes in the order given."""
    body = b"".join(index or b"" for column in indexes.values() for index in column.values())
    names = sum(len(encode_utf(name)) for column in indexes for name in (column, *indexes[column]))
    head_length = 8 + 4 + 4 + 4 + sum(4 + 8 * len(column) for column in indexes.values()) + names + 4
    out = bytearray(MAGIC.to_bytes(8, "big"))
    out += _int32(VERSION) + _int32(head_length) + _int32(len(indexes))
    start = head_length
    for column, by_type in indexes.items():
        out += encode_utf(column) + _int32(len(by_type))
        for name, index in by_type.items():
            length = 0 if index is None else len(index)
            out += encode_utf(name) + _int32(_EMPTY if index is None else start) + _int32(length)
            start += length
    return bytes(out + _int32(0) + body)


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _decode_name(reader: ByteReader) -> str:
    raw = reader.take(int.from_bytes(reader.take(2), "big"))
    try:
        return _name_of(raw)
    except UnicodeDecodeError:
        raise reader.corrupt(f"the name {raw!r} is not modified UTF-8") from None


@lru_cache(256)  # the files of a table have the same names
def _name_of(raw: bytes) -> str:
    return decode_utf(raw)
