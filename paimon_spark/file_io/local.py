"""Files of this machine, or of a mounted file system that behaves like a local one."""

from __future__ import annotations

import errno
import io
import os
import stat
import time
import uuid
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO, Any, cast

from paimon_spark.errors import CorruptFile, StorageError, UnsupportedFeature, fault_words
from paimon_spark.file_io.base import (
    FileStatus,
    ListedNames,
    NotCreated,
    WholeOrNothing,
    check_size,
    named_faults,
    names_faults,
)

_DIRECTORY_TRIES = 5
_LEAST_MAPPED = 1 << 23
"""Bytes of a file of which what is read need not stay in memory; smaller ones take longer to map than to read."""
_YOUNG_NANOS = 5_000_000_000  # how coarse the times of a mounted file system may be, and how far its clock may be off
_RIVAL_SECONDS = 5.0
_RIVAL_PAUSE_SECONDS = 0.0005
_STAYS = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY})  # a link to one, or a mounted one
_TAKEN = frozenset({errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR})
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV, errno.EMLINK})


def local_path(location: str) -> str:
    """The plain path of ``/a/b``, ``file:/a/b`` or ``file:///a/b``.

    Raises:
        FileNotFoundError: the name has a zero byte, which no file name can have; a damaged manifest may hold one.
    """
    if "\0" in location:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), location)
    if not location.startswith("file:"):
        return location
    rest = location[len("file:") :]
    return rest[rest.find("/", 2) :] if rest.startswith("//") else rest


class Sync(IntEnum):
    """What of a new file is on the disk when it is closed; the rest is lost if the machine crashes soon after."""

    NOTHING = 0
    FILE = 1
    ENTRY = 2
    """The file and its directory entry."""


class NewFile(WholeOrNothing, io.BufferedWriter):
    """A file that is synced when it is closed, and removed when it is discarded."""

    def __init__(self, path: str, sync: Sync) -> None:
        self._path, self._sync = path, sync
        super().__init__(io.FileIO(path, "xb"), buffer_size=1 << 17)

    def write(self, data: Any, /) -> int:
        with named_faults("writing", self._path):
            return super().write(data)

    def flush(self) -> None:
        with named_faults("writing", self._path):
            super().flush()

    def close(self) -> None:
        if self.closed:
            return
        with named_faults("writing", self._path):
            try:
                self.flush()
                if self._sync >= Sync.FILE:
                    os.fsync(self.fileno())
            finally:
                super().close()
            if self._sync == Sync.ENTRY:
                _sync_directory(os.path.dirname(self._path))

    def discard(self) -> None:
        """Closes the file without a sync and removes it."""
        if self.closed:
            return
        with named_faults("deleting", self._path):
            self.raw.close()
            _unlink(self._path)


@dataclass(frozen=True)
class LocalFileIO:
    """Publishes files by hard link, which is atomic, refuses a taken name and never shows a part of a file."""

    @names_faults("reading")
    def read_bytes(self, path: str) -> bytes:
        plain = local_path(path)
        found = os.stat(plain)
        _check_regular(found, path)
        check_size(found.st_size, path)
        return Path(plain).read_bytes()

    def version(self, path: str) -> Hashable | None:
        """See version_of. No program can set the time of the last change (ctime) of a file."""
        try:
            found = os.stat(local_path(path))
        except OSError:  # the read that follows raises it
            return None
        if abs(time.time_ns() - found.st_ctime_ns) < _YOUNG_NANOS:
            return None
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    @names_faults("reading")
    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        import pyarrow as pa  # imported here, so that commands that read only metadata start without it

        plain = local_path(path)
        found = os.stat(plain)
        _check_regular(found, path)
        opened = pa.OSFile(plain) if found.st_size < _LEAST_MAPPED else pa.memory_map(plain)
        return cast("IO[bytes]", opened)

    @names_faults("writing")
    def open_output(self, path: str) -> NewFile:
        return _open_new(local_path(path), Sync.ENTRY)

    def write_bytes(self, path: str, data: bytes) -> None:
        stream = self.open_output(path)
        try:
            with stream:
                stream.write(data)
        except BaseException:
            with suppress(OSError):  # a full disk takes the name of a file, and refuses its bytes
                _unlink(local_path(path))
            raise

    @names_faults("writing")
    def create_if_absent(self, path: str, data: bytes) -> bool:
        plain = local_path(path)
        parent, name = os.path.split(plain)
        with ExitStack() as at_end:
            temporary = at_end.enter_context(self._temporary(plain, data, Sync.FILE))
            try:
                directory = at_end.enter_context(_open_directory(parent))
                made = os.stat(os.path.basename(temporary), dir_fd=directory)
                os.link(temporary, plain)
            except FileExistsError:
                return False
            except FileNotFoundError as error:  # another process has moved or removed the directory
                raise _not_created(path, error) from error
            except OSError as error:
                if error.errno in _NO_LINKS:
                    raise UnsupportedFeature(
                        f"cannot publish {path}: the file system there has no hard links ({error.strerror}), so two "
                        "writers could overwrite each other; keep the table on one that has them"
                    ) from error
                raise
            _unlink(os.path.basename(temporary), directory)  # or it would be waited for, where they were moved
            os.fsync(directory)
            try:  # in the same directory: another table may have the path since
                _wait_for_rivals(directory, name)
                return os.path.samestat(os.stat(name, dir_fd=directory), made)
            except FileNotFoundError:  # it was there; another process has removed it, or its directory, since
                return True

    @names_faults("writing")
    def overwrite(self, path: str, data: bytes) -> None:
        plain = local_path(path)
        with self._temporary(plain, data, Sync.FILE) as temporary:
            os.replace(temporary, plain)
        _sync_directory(os.path.dirname(plain))

    @names_faults("writing")
    def overwrite_hint(self, path: str, data: bytes) -> None:
        """See the function overwrite_hint. It waits for no disk."""
        plain = local_path(path)
        with self._temporary(plain, data, Sync.NOTHING) as temporary:
            os.replace(temporary, plain)

    @names_faults("listing")
    def list(self, path: str) -> list[FileStatus]:
        try:
            with os.scandir(local_path(path)) as entries:
                return list(_statuses(path, entries))
        except FileNotFoundError:
            return []

    @names_faults("listing")
    def list_names(self, path: str) -> ListedNames:
        """See the function list_names: the size and time of each file take three times as long as its name."""
        directories, files = list[os.DirEntry[str]](), list[str]()
        try:
            with os.scandir(local_path(path)) as entries:
                for entry in entries:
                    if entry.is_dir():
                        directories.append(entry)
                    else:
                        files.append(entry.name)
                return ListedNames(list(_statuses(path, directories)), files)
        except FileNotFoundError:
            return ListedNames([], [])

    @names_faults("looking for")
    def find_status(self, path: str) -> FileStatus | None:
        """See the function find_status."""
        try:
            return _status(path, path.rpartition("/")[2], os.stat(local_path(path)))
        except FileNotFoundError:
            return None

    @names_faults("looking for")
    def exists(self, path: str) -> bool:
        try:
            os.stat(local_path(path))
        except FileNotFoundError:
            return False
        return True

    @names_faults("deleting")
    def delete(self, path: str) -> None:
        _unlink(local_path(path))

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            with named_faults("deleting", path):
                _unlink(local_path(path))

    @names_faults("deleting")
    def remove_empty_directory(self, path: str) -> bool:
        try:
            os.rmdir(local_path(path))
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno in _STAYS:
                return False
            raise
        return True

    @property
    def moves_directories(self) -> bool:
        return True

    @names_faults("making the directory")
    def make_directory(self, path: str, parents: bool = True) -> bool:
        plain = local_path(path)
        for _ in range(_DIRECTORY_TRIES):
            try:
                if parents:
                    _make_directory(os.path.dirname(plain))
                os.mkdir(plain)
            except FileExistsError:
                if os.path.isdir(plain):
                    return False
                if os.path.lexists(plain) and not os.path.isdir(plain):
                    raise
                continue  # another process has removed it since
            except FileNotFoundError:
                if not parents:
                    raise
                continue  # another process has removed the parent
            _sync_directory(os.path.dirname(plain))
            return True
        raise StorageError(f"making the directory {path}: the system makes none there; check the path")

    @names_faults("moving")
    def move_directory(self, path: str, target: str) -> bool:
        source, plain = local_path(path), local_path(target)
        try:
            os.rename(source, plain)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        for parent in (os.path.dirname(plain), os.path.dirname(source)):
            with suppress(FileNotFoundError):  # another process has moved the parent since
                _sync_directory(parent)
        return True

    @names_faults("moving")
    def move_file(self, path: str, target: str) -> None:
        plain = local_path(target)
        os.rename(local_path(path), plain)
        _sync_directory(os.path.dirname(plain))

    @names_faults("deleting")
    def delete_directory(self, path: str) -> None:
        plain = local_path(path).rstrip("/")
        if os.path.islink(plain):
            _unlink(plain)
            return
        for last in range(_DIRECTORY_TRIES, 0, -1):
            try:
                _delete_tree(plain)
                return
            except OSError as error:  # a writer may create files concurrently
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) or last == 1:
                    raise

    @contextmanager
    def _temporary(self, plain: str, data: bytes, sync: Sync) -> Iterator[str]:
        """A dot file next to the target, which table readers ignore; it is removed at the end.

        Its directory entry is not synced: where that matters, the rename or link that follows is.
        """
        directory, name = os.path.split(plain)
        temporary = os.path.join(directory, f".{name}.{uuid.uuid4()}.tmp")
        try:
            with _open_new(temporary, sync) as stream:
                stream.write(data)
        except OSError as error:
            with suppress(OSError):  # the error was reported already, and readers ignore dot files
                _unlink(temporary)
            cause = error.__cause__ if isinstance(error.__cause__, OSError) else error  # without the temporary name
            raise _not_created(plain, cause) from error
        try:
            yield temporary
        finally:
            _unlink(temporary)


def _not_created(path: str, error: OSError) -> NotCreated:
    named = NotCreated(f"writing {path}: {fault_words(error, 'writing')}")
    named.errno = error.errno
    return named


def _open_new(plain: str, sync: Sync) -> NewFile:
    """Opens a new file. If another process removes the new, still empty directory, it is created again."""
    for _ in range(_DIRECTORY_TRIES):
        try:
            return NewFile(plain, sync)
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                _make_directory(os.path.dirname(plain))
    return NewFile(plain, sync)


def _check_regular(found: os.stat_result, path: str) -> None:
    """Raises CorruptFile for files that could block or never end (pipes, devices), and IsADirectoryError."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(found.st_mode):
        raise CorruptFile(f"cannot read {path}: it is no regular file, but a pipe, a socket or a device")


def _statuses(directory: str, entries: Iterable[os.DirEntry[str]]) -> Iterator[FileStatus]:
    start = f"{directory.rstrip('/')}/"
    for entry in entries:
        try:
            found = entry.stat()
        except FileNotFoundError:  # removed since the directory was read
            continue
        yield _status(start + entry.name, entry.name, found)


def _status(path: str, name: str, found: os.stat_result) -> FileStatus:
    is_directory = stat.S_ISDIR(found.st_mode)
    return FileStatus(path, name, 0 if is_directory else found.st_size, is_directory, found.st_mtime_ns // 1_000_000)


def _unlink(plain: str, directory: int | None = None) -> None:
    try:
        os.unlink(plain, dir_fd=directory)
    except FileNotFoundError:
        return


def _delete_tree(plain: str) -> None:
    try:
        with os.scandir(plain) as entries:
            found = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except FileNotFoundError:
        return
    for path, is_directory in found:
        if is_directory:
            _delete_tree(path)
        else:
            _unlink(path)
    with suppress(FileNotFoundError):  # another process deletes it too
        os.rmdir(plain)


def _make_directory(plain: str) -> None:
    """Creates a directory and its parents, each durable in its parent."""
    if not plain or os.path.isdir(plain):
        return
    parent = os.path.dirname(plain)
    _make_directory(parent)
    try:
        os.mkdir(plain)
    except FileExistsError:
        return  # another writer made it
    _sync_directory(parent)


def _wait_for_rivals(directory: int, name: str) -> None:
    """Waits until nobody else is about to make this file of an open directory, which has just been made.

    Java looks whether the file is there, and then renames its temporary file over it, under a lock of its own process
    alone (Java: LocalFileIO.rename). Where it looked before, its temporary file is there until it has renamed. One that
    is older was left by a process that died.
    """
    rivals = [other for other in os.listdir(directory) if _is_rival(other, name)]
    end = time.monotonic() + _RIVAL_SECONDS  # the clock of the machine may go back
    while any(_is_fresh(directory, rival) for rival in rivals) and time.monotonic() < end:
        time.sleep(_RIVAL_PAUSE_SECONDS)


def _is_rival(other: str, name: str) -> bool:
    return other.startswith(f".{name}.") and other.endswith(".tmp")


def _is_fresh(directory: int, name: str) -> bool:
    try:
        return time.time() - os.stat(name, dir_fd=directory).st_mtime < _RIVAL_SECONDS
    except FileNotFoundError:
        return False


def _sync_directory(plain: str) -> None:
    with _open_directory(plain) as directory:
        os.fsync(directory)


@contextmanager
def _open_directory(plain: str) -> Iterator[int]:
    """The descriptor of a directory, which stays the same one where another takes its path."""
    descriptor = os.open(plain or ".", os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
