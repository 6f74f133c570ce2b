"""What a storage must be able to do, and how it is tried (protocol S1 and S2; ``paimon_spark/file_io``)."""

from __future__ import annotations

from support.model.machine import Path, Stopped
from support.model.mutations import Mutation as M
from support.model.values import Found, create, delete, read, write

ATOMIC, RACY, IGNORING = "atomic", "racy", "ignoring"
"""Storages that create if absent: in one step; by a look and a put; and that do not know the condition."""
CREATED = "created"


def create_in(storage: str, path: Path, content: str) -> Found:
    """True if the storage tells that it has created the file."""
    if storage == ATOMIC:
        return (yield create(path, content)) is True
    if storage == RACY and (yield read(*path)) is not None:
        return False
    yield write(path, content)
    return True


def passes_trial(m: M | None, storage: str, who: str) -> Found:
    """Two creations of one file, of which the second begins while the first is half sent."""
    path: Path = ("probe", who)
    if storage == ATOMIC or m is M.TRIAL_IN_TURN:
        first = yield from create_in(storage, path, "1")
        second = yield from create_in(storage, path, "2")
    else:
        looks = ((yield read(*path)), (yield read(*path)))
        first, second = (storage == IGNORING or look is None for look in looks)
        yield write(path, "1")
        yield write(path, "2")
    yield delete(*path)
    return first != second


def first_commit(m: M | None, storage: str, who: str, locks: bool = False) -> Found:
    """Publishes the first snapshot, if the storage passes its trial or a lock is taken.

    Args:
        locks: whether all writers take the lock of a catalog.
    """
    path: Path = ("first", 1)
    if not locks:
        if not (yield from passes_trial(m, storage, who)):
            raise Stopped("refused")
        return CREATED if (yield from create_in(storage, path, who)) else "lost"
    seen = (yield read(*path)) if m is M.LOOK_BEFORE_LOCK else None
    for _ in (1, 2, 3):
        if m is M.NO_LOCK or (yield create(("lock",), who)) is True:
            if m is not M.LOOK_BEFORE_LOCK:
                seen = yield read(*path)
            if seen is None:
                yield write(path, who)
            if m is not M.NO_LOCK:
                yield delete("lock")
            return CREATED if seen is None else "lost"
    raise Stopped("busy")
