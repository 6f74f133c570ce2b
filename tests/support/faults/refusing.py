"""A FileIO that does not let some files be deleted, as where others own them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from paimon_spark.file_io import FileIO


@dataclass
class Refusing:
    """A store where deleting some files fails; refused: those that somebody tried to delete."""

    inner: FileIO
    refuses: Callable[[str], bool]
    refused: set[str] = field(default_factory=set)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def delete(self, path: str) -> None:
        if self.refuses(path):
            self.refused.add(path)
            raise PermissionError(f"no access to {path}")
        self.inner.delete(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)
