"""A memory of a process for what was made of files, the least used forgotten first; and that of objects.

An object is kept if it never changes: manifests, index files and data files have names that hold a UUID, and are given
once. Nothing else is kept: snapshots, hints, schemas, tags and consumers are written again under their names.
"""

from __future__ import annotations

import os
import re
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

MOST_BYTES = 2**25
UNUSED_BLOCKS, UNUSED_SECONDS = 64, 60.0
"""What no block has used for so many blocks and so long is forgotten."""


@dataclass
class _Kept:
    """A value, its bytes, and when it was used last: in which block, and at what time of the clock."""

    value: Any
    size: int
    block: int
    seconds: float


class Memory:
    """What was made of files, the least used forgotten first. Safe to use from several threads.

    Args:
        most: how many bytes it holds at most, by what its users say.
        clock: seconds, which never go back.
    """

    def __init__(self, most: int = MOST_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._held = 0
        self._block = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()  # the least used first
        self._lock = threading.Lock()
        if hasattr(os, "register_at_fork"):  # all but Windows; another thread may hold the lock of the parent
            os.register_at_fork(after_in_child=partial(_unlock, weakref.ref(self)))

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

    def find(self, name: Hashable) -> Any | None:
        """What was kept under a name; None: nothing."""
        with self._lock:
            found = self._kept.get(name)
            if found is None:
                return None
            self._kept.move_to_end(name)
            found.block, found.seconds = self._block, self._clock()
            return found.value

    def keep(self, name: Hashable, value: Any, size: int) -> None:
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

    def forget(self, name: Hashable) -> None:
        """Drops what was kept under a name, if anything was."""
        with self._lock:
            found = self._kept.pop(name, None)
            self._held -= 0 if found is None else found.size

    def clear(self) -> None:
        """Drops everything."""
        with self._lock:
            self._kept.clear()
            self._held = 0

    def _drop_oldest(self) -> None:
        _, dropped = self._kept.popitem(last=False)
        self._held -= dropped.size


def _unlock(memory: weakref.ref[Memory]) -> None:
    """Gives the memory of a forked process a lock that nobody holds, and drops what may be half changed."""
    forked = memory()
    if forked is not None:
        forked._lock = threading.Lock()
        forked.clear()


_GIVEN_ONCE = re.compile(r"/(manifest|index|bucket-[^/]+)/[^/]*[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*", re.I)
_objects = Memory(2**23)  # for each Python process of an executor: there may be many


def kept_object(path: str, settings: Hashable, start: int = 0) -> bytes | None:
    """The bytes of an object from a start to its end, if they were kept from there; else None.

    Args:
        settings: that reach its store: who has others may not be allowed to read it.
    """
    found: tuple[int, bytes] | None = _objects.find((path, settings))
    return found[1] if found is not None and found[0] == start else None


def keep_object(path: str, settings: Hashable, data: bytes, start: int = 0) -> None:
    """Keeps the bytes of an object from a start to its end, if it never changes."""
    if _GIVEN_ONCE.fullmatch(path, path.rfind("/", 0, path.rfind("/"))):
        _objects.keep((path, settings), (start, data), len(data))


def forget_object(path: str, settings: Hashable) -> None:
    """Drops what is kept of an object that this process deletes, moves or replaces."""
    _objects.forget((path, settings))


def forget_objects() -> None:
    """Lets this process read every object anew, for callers that look whether what is stored is whole."""
    _objects.clear()
