"""Random access to open files, and a view of a file with a different tail."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

_BLOCK_BYTES = 2**22
_BLOCKS_KEPT = 8


def native(source: Any) -> pa.NativeFile:
    """A file object as an Arrow file, whose ``read_at`` may be called from many threads."""
    return source if isinstance(source, pa.NativeFile) else pa.PythonFile(source, mode="r")


def is_remote(source: pa.NativeFile) -> bool:
    """True if a read may be a request to a store, so that few large reads are better than many small ones."""
    return not isinstance(source, (pa.MemoryMappedFile, pa.OSFile, pa.BufferReader))


class ReadAhead:
    """Reads whole blocks of an open file and keeps the last few: ORC readers ask for many small pieces."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self._blocks: dict[int, bytes] = {}

    def size(self) -> int:
        return int(self._source.size())

    def read_at(self, count: int, offset: int) -> bytes:
        first, last = offset // _BLOCK_BYTES, (offset + max(count, 1) - 1) // _BLOCK_BYTES
        data = b"".join(self._block(number) for number in range(first, last + 1))
        start = offset - first * _BLOCK_BYTES
        return data[start : start + count]

    def _block(self, number: int) -> bytes:
        block = self._blocks.pop(number, None)
        if block is None:
            block = bytes(self._source.read_at(_BLOCK_BYTES, number * _BLOCK_BYTES))
        self._blocks[number] = block  # now the newest
        while len(self._blocks) > _BLOCKS_KEPT:
            del self._blocks[next(iter(self._blocks))]
        return block


class PatchedFile:
    """A read-only file object: the first bytes of an open file, then another tail. The open file stays open."""

    closed = False

    def __init__(self, source: pa.NativeFile | ReadAhead, end: int, tail: bytes) -> None:
        self._source, self._end, self._tail = source, end, tail
        self._at = 0
        self._fault: Exception | None = None

    @contextmanager
    def faults_of_source(self) -> Iterator[None]:
        """Raises an error of the source unchanged when Arrow reads this file within the block.

        Arrow's ORC reader raises another error, which has only the text of the first and looks like one about damaged
        bytes.
        """
        try:
            yield
        except Exception:
            if self._fault is not None:
                raise self._fault from None
            raise

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def size(self) -> int:
        return self._end + len(self._tail)

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size()}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        try:
            return self._read(size)
        except Exception as fault:
            self._fault = fault
            raise

    def close(self) -> None:
        """The owner of the source closes it."""

    def _read(self, size: int) -> bytes:
        stop = self.size() if size < 0 else min(self._at + size, self.size())
        parts = []
        if self._at < self._end:
            parts.append(self._source.read_at(min(stop, self._end) - self._at, self._at))
        if stop > self._end:
            parts.append(self._tail[max(0, self._at - self._end) : stop - self._end])
        self._at = max(self._at, stop)
        return b"".join(parts)
