"""A FileIO in whose life something else happens: between two operations of one process, another one's work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paimon_spark.file_io import FileIO


@dataclass
class InterleavedStore:
    """A store where something else happens once, before an operation of this number."""

    inner: FileIO
    at: int
    happens: Callable[[], object]
    count: int = -1

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*arguments: Any) -> Any:
            self.count += 1
            if self.count == self.at:
                self.happens()
            return method(*arguments)

        return call
