"""What the index manifest says of the keys of an index file (Java: SortedIndexFileMeta, release 2.0)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from paimon_spark.errors import CorruptFile

_WITH_FLAGS = 1
_NO_FIRST, _NO_LAST = 1, 2


@dataclass(frozen=True)
class KeyBounds:
    """The keys of an index file.

    Attributes:
        first, last: the least and the greatest key, as they are stored; None: the file has no key, but rows that are
            NULL.
        has_nulls: whether a row is NULL.
    """

    first: bytes | None
    last: bytes | None
    has_nulls: bool

    def to_bytes(self) -> bytes:
        """The bytes of `_INDEX_META`."""
        first, last = self.first or b"", self.last or b""
        flags = (_NO_FIRST if self.first is None else 0) | (_NO_LAST if self.last is None else 0)
        head = struct.pack("<i", len(first)) + first + struct.pack("<i", len(last)) + last
        return head + bytes([self.has_nulls, _WITH_FLAGS, flags])


def read_key_bounds(data: bytes | None) -> KeyBounds:
    """The keys of an index file, from its entry in the index manifest.

    Files of before release 2.0 have no flags: two empty keys of a file with NULL are none.

    Raises:
        CorruptFile: the bytes end too early, or are missing.
    """
    try:
        first, place = _key(data or b"", 0)
        last, place = _key(data or b"", place)
        rest = (data or b"")[place:]
        has_nulls = rest[0] == 1
    except (struct.error, IndexError):
        raise CorruptFile("an entry of an index manifest does not say which keys its index file has") from None
    if len(rest) >= 3 and rest[1] == _WITH_FLAGS:
        return KeyBounds(None if rest[2] & _NO_FIRST else first, None if rest[2] & _NO_LAST else last, has_nulls)
    if len(rest) < 3 and not first and not last and has_nulls:
        return KeyBounds(None, None, has_nulls)
    return KeyBounds(first, last, has_nulls)


def _key(data: bytes, place: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<i", data, place)
    end = place + 4 + length
    if length < 0 or end > len(data):
        raise IndexError(end)
    return data[place + 4 : end], end
