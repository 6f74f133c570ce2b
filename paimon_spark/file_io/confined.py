"""The stores of one table: the one that it lies in, and those of its external paths.

Changes outside of the table are refused, but for the external paths of its options: the last guard against paths from
damaged metadata. Java: ResolvingFileIO finds the store of an external path.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol

from paimon_spark.errors import OutsideTable
from paimon_spark.file_io.base import (
    FileIO,
    FileStatus,
    ListedNames,
    OutputStream,
    Publisher,
    find_status,
    identity_of,
    list_names,
    overwrite_hint,
    version_of,
)
from paimon_spark.file_io.locate import file_io_for, is_same_store, plain_location


class Outside(Protocol):
    """Which files and directories outside of the table may be written and deleted. Picklable."""

    def root_of(self, path: str) -> str | None:
        """The directory outside of the table that contains the path and in which the table may have files, or None.

        Raises:
            OSError: the store cannot be read.
        """
        ...


@dataclass(frozen=True)
class ConfinedFileIO:
    """Reads everything, and writes and deletes in the table and where `outside` allows it.

    A directory of a local table may be a link. Reads follow it; a file behind it counts as inside the table only if the
    target is inside. A file that is a link itself may be deleted, which removes the link.

    Attributes:
        inner: the store that does the work.
        root: the table directory.
        outside: decides which other files may be written and deleted; None: none.
        publisher: creates files that others compete for; None: the store itself does.
        storage: options that may hold keys of other stores, for external paths; no repr shows their secrets.
    """

    inner: FileIO
    root: str
    outside: Outside | None = None
    publisher: Publisher | None = None
    storage: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def identity(self) -> Hashable:
        return identity_of(self.inner)

    def version(self, path: str) -> Hashable | None:
        return version_of(self._of(path), path)

    def read_bytes(self, path: str) -> bytes:
        return self._of(path).read_bytes(path)

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        return self._of(path).open_input(path, size)

    def open_output(self, path: str) -> OutputStream:
        self._check_writable(path)
        return self._of(path).open_output(path)

    def write_bytes(self, path: str, data: bytes) -> None:
        self._check_writable(path)
        self._of(path).write_bytes(path, data)

    def create_if_absent(self, path: str, data: bytes) -> bool:
        self._check_inside("written", path)
        if self.publisher is not None:
            return self.publisher.create_if_absent(self.inner, path, data)
        return self.inner.create_if_absent(path, data)

    def overwrite(self, path: str, data: bytes) -> None:
        self._check_inside("written", path)
        self.inner.overwrite(path, data)

    def overwrite_hint(self, path: str, data: bytes) -> None:
        self._check_inside("written", path)
        overwrite_hint(self.inner, path, data)

    def list(self, path: str) -> list[FileStatus]:
        return self._of(path).list(path)

    def list_names(self, path: str) -> ListedNames | None:
        return list_names(self._of(path), path)

    def find_status(self, path: str) -> FileStatus | None:
        return find_status(self._of(path), path)

    def exists(self, path: str) -> bool:
        return self._of(path).exists(path)

    def delete(self, path: str) -> None:
        self._check_deletable([path])
        self._of(path).delete(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        self._check_deletable(paths)
        outside = {path for path in paths if not is_same_store(self.root, path)}
        self.inner.delete_many([path for path in paths if path not in outside] if outside else paths)
        for path in sorted(outside):
            self._of(path).delete(path)

    def move_file(self, path: str, target: str) -> None:
        self._check_deletable([path])
        self._check_inside("written", target)
        self.inner.move_file(path, target)

    def remove_empty_directory(self, path: str) -> bool:
        self._check_deletable([path])
        return self._of(path).remove_empty_directory(path)

    def _of(self, path: str) -> FileIO:
        """The store that serves a path."""
        return self.inner if is_same_store(self.root, path) else file_io_for(path, dict(self.storage))

    def _check_inside(self, done: str, path: str) -> None:
        if not _is_below(self.root, path):
            raise _refused(done, path, self.root)

    def _check_deletable(self, paths: Sequence[str]) -> None:
        """Checks all paths before the first one is deleted. Files of one directory are checked together."""
        checked: set[str] = set()
        for path in paths:
            directory, _, name = path.rpartition("/")
            if directory in checked and _is_normal(name):
                continue
            if _is_below(self.root, path):
                checked.add(directory)
                continue
            if not self._is_outside(path):
                raise _refused("deleted", path, self.root)

    def _check_writable(self, path: str) -> None:
        if not (_is_below(self.root, path) or self._is_outside(path)):
            raise _refused("written", path, self.root)

    def _is_outside(self, path: str) -> bool:
        """True if the path is outside of the table, where it may have files."""
        root = None if self.outside is None else self.outside.root_of(path)
        return root is not None and _is_below(root, path)


def _refused(done: str, path: str, root: str) -> OutsideTable:
    return OutsideTable(
        f"{path} is not {done}: it lies outside of the table at {root}, and not below an external path of its options. "
        "If it is a file of the table, name its root for this call (data-file.external-paths); else the metadata are "
        "damaged, or made to reach other files"
    )


def _is_below(root: str, path: str) -> bool:
    """True if a file or directory is below a root, and is not the root; on a local disk, after resolving all links."""
    base, plain = plain_location(root), plain_location(path)
    if not plain.startswith(f"{base}/") or not _is_normal(plain[len(base) + 1 :]):
        return False
    if not base.startswith("/"):
        return True
    directory = os.path.dirname(plain)
    if not _has_link(base, directory):
        return True
    behind, real = os.path.realpath(base), os.path.realpath(directory)
    return real == behind or real.startswith(f"{behind.rstrip('/')}/")


def _has_link(base: str, directory: str) -> bool:
    """True if a directory below the base, on the way to this one, is a link. The base and what is above it may be."""
    way = base
    for part in directory[len(base) + 1 :].split("/") if directory != base else ():
        way = f"{way}/{part}"
        if os.path.islink(way):
            return True
    return False


def _is_normal(path: str) -> bool:
    return all(part not in ("", ".", "..") for part in path.split("/"))
