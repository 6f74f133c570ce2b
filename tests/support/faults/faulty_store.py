"""A FileIO whose n-th operation goes wrong: before it happens, half-way, or after (the answer is lost)."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, NoReturn, TypeVar, cast

from paimon_spark.file_io import (
    ConfinedFileIO,
    DirectoryIO,
    FileIO,
    FileStatus,
    ListedNames,
    OutputStream,
    find_status,
    list_names,
)
from paimon_spark.file_io.base import WholeOrNothing
from support.long_runs import LONG

T = TypeVar("T")
ENDED = 3
_SOME_UUID = "00000000-0000-4000-8000-000000000000"


class When(StrEnum):
    BEFORE = "before"
    HALF = "half-way"
    AFTER = "after"


class InjectedFault(OSError):
    """What a faulty store raises."""


def fail() -> NoReturn:
    raise InjectedFault("injected fault")


def kill() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def is_killed(action: Callable[[], object]) -> bool:
    """Runs the action in a forked process; whether that was killed before the action ended."""
    child = os.fork()
    if child == 0:
        try:
            action()
        finally:
            os._exit(ENDED)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (ENDED, -signal.SIGKILL)
    return code == -signal.SIGKILL


def exit_code_of(action: Callable[[], object]) -> int:
    """How a forked process ends that does the action and then collects the garbage: 0, 1 after an error, -signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            action()
            gc.collect()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def fault_points(log: Sequence[str], one_in: int = 1) -> list[tuple[int, When]]:
    """Every operation before it happens, those that change the store also half-way and after.

    Where tests do not run long, every second of them.

    Args:
        log: the operations.
        one_in: takes one in so many of those.
    """
    points = [(n, when) for n, name in enumerate(log) for when in (When if name.startswith("!") else [When.BEFORE])]
    stride = 1 if LONG else 2 * one_in
    return points[len(log) % stride :: stride]


@dataclass
class FaultyFileIO:
    """Counts operations from 0 and lets one go wrong.

    Attributes:
        inner: does the work.
        at: the operation that goes wrong; None: none. named: at counts only operations of this name.
        when: what has happened of it by then.
        act: raises, or ends the process.
        lasting: whether the store stays away from then on.
        log: the operations done so far; a name that begins with "!" changes the store.
    """

    inner: FileIO
    at: int | None = None
    when: When = When.BEFORE
    act: Callable[[], NoReturn] = fail
    lasting: bool = False
    named: str | None = None
    log: list[str] = field(default_factory=list)
    _failed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """A test gives one to several copies of a table; the store of a table would refuse the others."""
        if isinstance(self.inner, ConfinedFileIO):
            self.inner = self.inner.inner

    def run(self, name: str, half: Callable[[], object], whole: Callable[[], T]) -> T:
        with self._lock:
            counted = self.named in (None, name)
            number = len(self.log) if self.named is None else self.log.count(name)
            self.log.append(name)
            is_fault = counted and number == self.at
            fails = self._failed and self.lasting
            self._failed = self._failed or is_fault
        if not (is_fault or fails):
            return whole()
        if is_fault and self.when == When.HALF:
            half()
        if is_fault and self.when == When.AFTER:
            whole()
        return self.act()

    def _read(self, name: str, whole: Callable[[], T]) -> T:
        return self.run(name, lambda: None, whole)

    def read_bytes(self, path: str) -> bytes:
        return self._read("read", lambda: self.inner.read_bytes(path))

    def open_input(self, path: str, size: int | None = None) -> IO[bytes]:
        return self._read("open_input", lambda: self.inner.open_input(path, size))

    def open_output(self, path: str) -> FaultyStream:
        stream = self._read("!open_output", lambda: self.inner.open_output(path))
        return FaultyStream(self, stream)

    def write_bytes(self, path: str, data: bytes) -> None:
        half = data[: len(data) // 2]
        self.run("!write", lambda: self.inner.write_bytes(path, half), lambda: self.inner.write_bytes(path, data))

    def create_if_absent(self, path: str, data: bytes) -> bool:
        return self.run("!create", self._half_written(path, data), lambda: self.inner.create_if_absent(path, data))

    def overwrite(self, path: str, data: bytes) -> None:
        self.run("!overwrite", self._half_written(path, data), lambda: self.inner.overwrite(path, data))

    def list(self, path: str) -> list[FileStatus]:
        return self._read("list", lambda: self.inner.list(path))

    def list_names(self, path: str) -> ListedNames | None:
        if not hasattr(self.inner, "list_names"):
            return None
        return self._read("list", lambda: list_names(self.inner, path))

    def find_status(self, path: str) -> FileStatus | None:
        return self._read("status", lambda: find_status(self.inner, path))

    def exists(self, path: str) -> bool:
        return self._read("exists", lambda: self.inner.exists(path))

    def delete(self, path: str) -> None:
        self.run("!delete", lambda: None, lambda: self.inner.delete(path))

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def move_file(self, path: str, target: str) -> None:
        self.run("!move file", lambda: None, lambda: self.inner.move_file(path, target))

    def remove_empty_directory(self, path: str) -> bool:
        return self.run("!remove directory", lambda: None, lambda: self.inner.remove_empty_directory(path))

    @property
    def _directories(self) -> DirectoryIO:
        """The inner store, which is that of a catalog: nobody else asks for changes of directories."""
        return cast(DirectoryIO, self.inner)

    @property
    def moves_directories(self) -> bool:
        return self._directories.moves_directories

    def make_directory(self, path: str, parents: bool = True) -> bool:
        return self.run("!make directory", lambda: None, lambda: self._directories.make_directory(path, parents))

    def move_directory(self, path: str, target: str) -> bool:
        return self.run("!move directory", lambda: None, lambda: self._directories.move_directory(path, target))

    def delete_directory(self, path: str) -> None:
        self.run("!delete directory", lambda: self._delete_half(path), lambda: self._directories.delete_directory(path))

    def _delete_half(self, path: str) -> None:
        """Files of the directory itself that begin with ".paimon-" would go last."""
        files = sorted(_files_below(self.inner, path), key=lambda file: (file.startswith(f"{path}/.paimon-"), file))
        self.inner.delete_many(files[: len(files) // 2])

    def _half_written(self, path: str, data: bytes) -> Callable[[], None]:
        """What is left of an atomic write that breaks off: a dot file of half the bytes, named as a disk does."""
        directory, _, name = path.rpartition("/")
        return lambda: self.inner.write_bytes(f"{directory}/.{name}.{_SOME_UUID}.tmp", data[: len(data) // 2])


def _files_below(store: FileIO, path: str) -> Iterator[str]:
    for status in store.list(path):
        yield from _files_below(store, status.path) if status.is_directory else [status.path]


@dataclass
class FaultyStream(WholeOrNothing):
    """A file being written. Its first write and its close are operations; other writes are much like the first."""

    store: FaultyFileIO
    inner: OutputStream
    is_new: bool = True

    @property
    def closed(self) -> bool:
        return self.inner.closed

    def write(self, data: bytes | bytearray | memoryview, /) -> int:
        if not self.is_new:
            return self.inner.write(data)
        self.is_new = False
        half = memoryview(data)[: len(data) // 2]
        return self.store.run("!stream write", lambda: self.inner.write(half), lambda: self.inner.write(data))

    def flush(self) -> None:
        self.inner.flush()

    def tell(self) -> int:
        return self.inner.tell()

    def close(self) -> None:
        self.store.run("!stream close", self.inner.flush, self.inner.close)

    def discard(self) -> None:
        self.inner.discard()
