"""Stores that note which files are opened, and which bytes of them are read."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import IO, Any

from paimon_spark.file_io import FileIO


@dataclass
class CountingStore:
    """Passes all calls on to another store.

    Attributes:
        inner: the other store.
        opened: the paths of the files that were opened or read whole, in order.
    """

    inner: FileIO
    opened: list[str] = field(default_factory=list)

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        self.opened.append(path)
        return self.inner.open_input(path, size)

    def read_bytes(self, path: str) -> bytes:
        self.opened.append(path)
        return self.inner.read_bytes(path)

    def names(self, ending: str) -> list[str]:
        """The names of the opened files that end so."""
        return [path.rpartition("/")[2] for path in self.opened if path.endswith(ending)]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _NotingFile(io.BytesIO):
    """A file that notes the ranges of bytes that are read."""

    def __init__(self, data: bytes, ranges: list[tuple[int, int]]) -> None:
        super().__init__(data)
        self._ranges = ranges

    def read(self, size: int | None = -1, /) -> bytes:
        start = self.tell()
        data = super().read(size)
        self._ranges.append((start, start + len(data)))
        return data


@dataclass
class RangeStore:
    """Passes all calls on to another store, and notes which bytes of files are read.

    Attributes:
        inner: the other store.
        ranges: by path, the first byte of each read and that after its last.
    """

    inner: FileIO
    ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        return _NotingFile(self.inner.read_bytes(path), self.ranges.setdefault(path, []))

    def bytes_read(self, path: str) -> int:
        """How many bytes of a file were read, each counted once."""
        total, end = 0, 0
        for first, last in sorted(self.ranges.get(path, [])):
            total += max(0, last - max(first, end))
            end = max(end, last)
        return total

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
