"""What a table makes us touch: a store that notes every path it is asked for, and a hook on the calls of Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from paimon_spark.file_io import FileIO, FileStatus, OutputStream, plain_location

_CHANGES = frozenset({"os.remove", "os.rename", "os.rmdir", "os.link", "os.mkdir", "os.symlink", "os.truncate"})
_FRESH = os.O_WRONLY | os.O_RDWR


@dataclass
class WatchedFileIO:
    """Does what it is asked for, and notes what that touches.

    Attributes:
        inner: does the work.
        touched: (what was done, path) since somebody looked.
    """

    inner: FileIO
    touched: list[tuple[str, str]] = field(default_factory=list)

    def strangers(self, root: str) -> list[tuple[str, str]]:
        """What was touched outside of a directory, links resolved."""
        return [(did, path) for did, path in self.touched if not is_within(root, plain_location(path))]

    def read_bytes(self, path: str) -> bytes:
        self.touched.append(("read", path))
        return self.inner.read_bytes(path)

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        self.touched.append(("open", path))
        return self.inner.open_input(path, size)

    def open_output(self, path: str) -> OutputStream:
        self.touched.append(("write", path))
        return self.inner.open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self.touched.append(("write", path))
        self.inner.write_bytes(path, data)

    def create_if_absent(self, path: str, data: bytes) -> bool:
        self.touched.append(("write", path))
        return self.inner.create_if_absent(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        self.touched.append(("write", path))
        self.inner.overwrite(path, data)

    def list(self, path: str) -> list[FileStatus]:
        self.touched.append(("list", path))
        return self.inner.list(path)

    def exists(self, path: str) -> bool:
        self.touched.append(("look", path))
        return self.inner.exists(path)

    def delete(self, path: str) -> None:
        self.touched.append(("delete", path))
        self.inner.delete(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        self.touched += (("delete", path) for path in paths)
        self.inner.delete_many(paths)

    def move_file(self, path: str, target: str) -> None:
        self.touched += (("delete", path), ("write", target))
        self.inner.move_file(path, target)

    def remove_empty_directory(self, path: str) -> bool:
        self.touched.append(("delete", path))
        return self.inner.remove_empty_directory(path)


def is_within(root: str, path: str) -> bool:
    """Whether a path is a directory or lies in it, as the operating system would go there."""
    real = os.path.realpath(path)
    return real == root or real.startswith(f"{root}/")


def watch_changes(root: str) -> list[tuple[str, str]]:
    """From now on, every change of a file outside of a directory that this process makes through Python is noted."""
    noted: list[tuple[str, str]] = []

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and not (isinstance(arguments[2], int) and arguments[2] & _FRESH):
            return
        if event not in _CHANGES and event != "open":
            return
        for path in arguments[:2]:
            given = os.fsdecode(path) if isinstance(path, str | bytes) else ""
            if given.startswith("/") and not given.startswith((f"{root}/", "/dev/")):
                noted.append((event, given))

    sys.addaudithook(hook)
    return noted
