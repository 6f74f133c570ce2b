"""What a process remembers of metadata files: between the batches of a stream, in a store that is far always, and of a
local disk what plans read again and again, as long as the files are the same.

Only of files whose names are given once: manifests, manifest lists and index manifests have a random number in theirs.
Snapshots are not among them, because their numbers are given again after a rollback. A schema file is remembered by its
name, size and time, which the listing tells that finds the newest one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from paimon_spark.file_io import FileIO, FileStatus, Memory, forget_objects, identity_of, is_far, version_of
from paimon_spark.store.storage.local_time import now_millis

_CLOCK_MILLIS = 5_000  # how coarse the time of a file may be, and how far the clock of a store may be off
T = TypeVar("T")

_of_process = Memory()
_of_plans = Memory(3 * 2**26)
"""Manifests as columns take some 600 bytes for each file: those of up to 150,000 files are kept, if they fit."""
_used: ContextVar[Memory | None] = ContextVar("metadata_memory", default=None)


@contextmanager
def remembering(memory: Memory | None = None) -> Iterator[None]:
    """Within the block this thread remembers what it reads of metadata, and does not read it again.

    Args:
        memory: None: the one of the process.
    """
    used = _of_process if memory is None else memory
    used.begin_block()
    token = _used.set(used)
    try:
        yield
    finally:
        _used.reset(token)


def memory_in_use(location: str) -> Memory | None:
    """The memory for files at a location; None: they are read anew.

    That is the memory of the block that the thread is in; else that of the process if the store is far, so that each
    look at a file takes some time; else none.
    """
    return _used.get() or (_of_process if is_far(location) else None)


def forget_all() -> None:
    """Lets this process read everything anew, for callers that look whether what is stored is whole."""
    _of_process.clear()
    _of_plans.clear()
    forget_objects()


def remembered(store: FileIO, name: str, read: Callable[[], tuple[T, int]]) -> T:
    """What is made of a file, from the memory in use if there is one.

    Args:
        store: of the file.
        name: begins with the path of the file, and names what is made of it.
        read: makes it; the result is the value, which nobody may change, and how many bytes it takes.
    """
    memory = memory_in_use(name)
    if memory is None:
        return read()[0]
    key = (identity_of(store), name)
    found: T | None = memory.find(key)
    if found is None:
        found, size = read()
        memory.keep(key, found, size)
    return found


def remembered_nearby(store: FileIO, paths: Sequence[str], what: Hashable, read: Callable[[], tuple[T, int]]) -> T:
    """What is made of files of a local disk, made again if one of them is another file than before, or may be.

    Args:
        store: of the files.
        paths: all that it is made of.
        what: tells it apart from what else is made of them.
        read: as of remembered.
    """
    versions = tuple(version_of(store, path) for path in paths)
    if not paths or None in versions:
        return read()[0]
    _of_plans.begin_block()
    key = (what, tuple(paths), versions)
    found: T | None = _of_plans.find(key)
    if found is None:
        found, size = read()
        _of_plans.keep(key, found, size)
    return found


def remember(store: FileIO, name: str, value: object, size: int) -> None:
    """Keeps what ``remembered`` would make of a file that this process has written; arguments as there."""
    memory = memory_in_use(name)
    if memory is not None:
        memory.keep((identity_of(store), name), value, size)


def file_version(status: FileStatus) -> str | None:
    """What distinguishes a file from another one of its name; None: it is too young for that, and may be replaced."""
    age = now_millis() - status.modified_millis
    if not status.modified_millis or age < _CLOCK_MILLIS:
        return None
    return f"{status.path}?{status.size}&{status.modified_millis}"
