"""Reads ranges of bytes of an open file, near ones together."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

ByteRange = tuple[int, int]  # the first byte, and how many
_GAP_BYTES = 2**16  # a request to a store costs about as much as this many bytes more
_AT_ONCE = 8


def read_ranges(source: pa.NativeFile, ranges: Sequence[ByteRange], is_remote: bool) -> list[bytes]:
    """The bytes of each range.

    Args:
        source: the file.
        ranges: in any order; they may share bytes.
        is_remote: whether each read may be a request to a store: then near ranges are read as one, several at once.

    Raises:
        ValueError: the file ends before a range does.
    """
    if not is_remote:
        return [_read(source, each) for each in ranges]
    joined = _joined([each for each in ranges if each[1]])
    if len(joined) == 1:
        blocks = [_read(source, joined[0])]
    else:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            blocks = list(pool.map(lambda each: _read(source, each), joined))
    return [_within(joined, blocks, each) if each[1] else b"" for each in ranges]


def _read(source: pa.NativeFile, wanted: ByteRange) -> bytes:
    offset, size = wanted
    data = bytes(source.read_at(size, offset))
    if len(data) != size:
        raise ValueError(f"the file ends before byte {offset + size}")
    return data


def _joined(ranges: Sequence[ByteRange]) -> list[ByteRange]:
    """The ranges in order, those that are near to each other as one."""
    joined: list[ByteRange] = []
    for offset, size in sorted(ranges):
        if joined and offset <= sum(joined[-1]) + _GAP_BYTES:
            start = joined[-1][0]
            joined[-1] = (start, max(sum(joined[-1]), offset + size) - start)
        else:
            joined.append((offset, size))
    return joined


def _within(joined: Sequence[ByteRange], blocks: Sequence[bytes], wanted: ByteRange) -> bytes:
    offset, size = wanted
    for (start, length), block in zip(joined, blocks, strict=True):
        if start <= offset and offset + size <= start + length:
            return block[offset - start : offset - start + size]
    raise AssertionError("every range is in a block")
