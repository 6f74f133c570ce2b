"""A store that notes which files are opened."""

from __future__ import annotations

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
