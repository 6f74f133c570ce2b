"""Files of BLOB columns, byte by byte as the format says."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence


def blob_file(values: Sequence[bytes | str | None], kept: Sequence[bool] = ()) -> bytes:
    """A file of some values. kept: rows that keep the value of an older file."""
    data, index, before = bytearray(), bytearray(), 0
    for row, value in enumerate(values):
        length = -2 if row < len(kept) and kept[row] else -1
        if isinstance(value, bytes):
            whole = struct.pack("<i", 1481511375) + value + struct.pack("<q", len(value) + 16)
            data += whole + struct.pack("<I", zlib.crc32(whole))
            length = len(value) + 16
        delta, before = length - before, length
        number = delta * 2 if delta >= 0 else -delta * 2 - 1
        while number > 0x7F:
            index.append(number & 0x7F | 0x80)
            number >>= 7
        index.append(number)
    return bytes(data + index + struct.pack("<ib", len(index), 1))
