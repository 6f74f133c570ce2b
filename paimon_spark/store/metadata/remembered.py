"""What a process remembers of metadata files between the batches of a stream.

Only of files whose names are given once: manifests, manifest lists and index manifests have a random number in theirs.
Snapshots are not among them, because their numbers are given again after a rollback. A schema file is remembered by its
name, size and time, which the listing tells that finds the newest one.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from paimon_spark.file_io import FileStatus
from paimon_spark.format.options.option import MB
from paimon_spark.store.storage.local_time import now_millis

MOST_BYTES = 32 * MB
UNUSED_BLOCKS, UNUSED_SECONDS = 64, 60.0
"""A file that no batch has used for so many blocks and so long is forgotten: most manifests are soon merged."""
_CLOCK_MILLIS = 5_000  # how coarse the time of a file may be, and how far the clock of a store may be off
T = TypeVar("T")


@dataclass
class _Kept:
    """A value, its bytes, and when it was used last: in which block, and at what time of the clock."""

    value: Any
    size: int
    block: int
    seconds: float


class Memory:
    """What was made of files, the least used forgotten first.

    Args:
        most: how many bytes it holds at most, by what its users say.
        clock: seconds, which never go back.
    """

    def __init__(self, most: int = MOST_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._held = 0
        self._block = 0
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # the least used first
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Bytes."""
        return self._held

    def begin_block(self) -> None:
        """Counts a block that uses the memory, and forgets what none has used for long."""
        with self._lock:
            self._block += 1
            last_block, last_time = self._block - UNUSED_BLOCKS, self._clock() - UNUSED_SECONDS
            while self._kept:
                oldest = next(iter(self._kept.values()))
                if oldest.block > last_block or oldest.seconds > last_time:
                    return
                self._drop_oldest()

    def find(self, name: str) -> Any | None:
        """What was kept under a name; None: nothing."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                return None
            self._kept.move_to_end(name)
            found.block, found.seconds = self._block, self._clock()
            return found.value

    def keep(self, name: str, value: Any, size: int) -> None:
        """Keeps a value, unless it would fill half of the memory."""
        if size > self._most // 2:
            return
        with self._lock:
            if name in self._kept:
                return
            self._kept[name] = _Kept(value, size, self._block, self._clock())
            self._held += size
            while self._held > self._most:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        _, dropped = self._kept.popitem(last=False)
        self._held -= dropped.size


_of_process = Memory()
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


def memory_in_use() -> Memory | None:
    """The memory of the block that the thread is in; None: it is in none, and nothing is remembered."""
    return _used.get()


def remembered(name: str, read: Callable[[], tuple[T, int]]) -> T:
    """What is made of a file, from the memory in use if there is one.

    Args:
        name: of the file and of what is made of it.
        read: makes it; the result is the value, which nobody may change, and how many bytes it takes.
    """
    memory = _used.get()
    if memory is None:
        return read()[0]
    found: T | None = memory.find(name)
    if found is None:
        found, size = read()
        memory.keep(name, found, size)
    return found


def file_version(status: FileStatus) -> str | None:
    """What distinguishes a file from another one of its name; None: it is too young for that, and may be replaced."""
    age = now_millis() - status.modified_millis
    if not status.modified_millis or age < _CLOCK_MILLIS:
        return None
    return f"{status.path}?{status.size}&{status.modified_millis}"
