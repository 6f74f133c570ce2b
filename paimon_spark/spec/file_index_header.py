"""The header of a container of file indexes: which columns have which (format section 9; Java: FileIndexFormat).

Numbers are big-endian; texts are Java's modified UTF-8 behind two bytes of length.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from paimon_spark.errors import CorruptFile, UnsupportedFeature

HEADER_START = 16
_MAGIC = 1493475289347502
_VERSION = 1
_EMPTY = -1


@dataclass(frozen=True)
class StoredIndex:
    """One index of one column. column: its name, or ``m[key]`` for a key of a map. start: -1 where it is empty."""

    column: str
    kind: str
    start: int
    size: int

    @property
    def is_empty(self) -> bool:
        return self.start == _EMPTY


def header_length(data: bytes, where: str) -> int:
    """The bytes of the whole header, from the first HEADER_START bytes of a container.

    Raises:
        CorruptFile: this is no container of file indexes.
        UnsupportedFeature: it has a version this release does not know.
    """
    if len(data) < HEADER_START:
        raise CorruptFile(f"cannot read the file index {where}: it has {len(data)} bytes, a header has {HEADER_START}")
    magic, version, length = struct.unpack_from(">qii", data)
    if magic != _MAGIC or length < HEADER_START:
        raise CorruptFile(f"cannot read the file index {where}: it begins with {data[:HEADER_START].hex()}")
    if version != _VERSION:
        raise UnsupportedFeature(
            f"cannot read the file index {where}: it has version {version}, this release knows {_VERSION} only"
        )
    return int(length)


def decode_header(data: bytes, where: str) -> tuple[StoredIndex, ...]:
    """The indexes of a container, in its order.

    Args:
        data: at least the whole header.
        where: names the container in errors.

    Raises:
        CorruptFile, UnsupportedFeature: as header_length.
    """
    end = header_length(data, where)
    found: list[StoredIndex] = []
    try:
        (columns,) = struct.unpack_from(">i", data, HEADER_START)
        at = HEADER_START + 4
        for _ in range(columns):
            column, at = _text(data, at)
            (indexes,) = struct.unpack_from(">i", data, at)
            at += 4
            for _ in range(indexes):
                kind, at = _text(data, at)
                start, size = struct.unpack_from(">ii", data, at)
                at += 8
                found.append(StoredIndex(column, kind, start, size))
    except (struct.error, UnicodeDecodeError) as error:
        raise CorruptFile(f"cannot read the file index {where}: its header is damaged ({error})") from None
    if at > min(end, len(data)):
        raise CorruptFile(f"cannot read the file index {where}: its header has {end} bytes, {at} are needed")
    return tuple(found)


def _text(data: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">H", data, at)
    raw = data[at + 2 : at + 2 + size].replace(b"\xc0\x80", b"\0")
    return raw.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16"), at + 2 + size
