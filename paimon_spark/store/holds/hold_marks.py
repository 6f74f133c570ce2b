"""Hold marks of operations that are about to keep a snapshot: ``.holding-<id>-<uuid>``; other table readers ignore it.

An operation that creates a tag or a branch, or rolls a table back, writes a mark for the first snapshot that it needs,
in the directory of snapshots, and then looks for expiries. An expiry writes its own mark and then looks for these marks
(expiry_marks). So one of the two sees the other and gives up. In the directory of tags, the same marks protect a tag
from which another one is created against its deletion. A mark left by a crash holds for a day; the next expiry after
that deletes it.

Invariants: protocol H1 to H5.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.store.holds.expiry_marks import expiring_below
from paimon_spark.store.metadata.snapshots import SnapshotStore

_log = logging.getLogger(__name__)

HOLD_PREFIX = ".holding-"
_MARK = re.compile(r"\.holding-(\d+)-[0-9a-f-]{36}", re.ASCII)
_DAY_MILLIS = 24 * 3600 * 1000


@contextmanager
def hold_file(file_io: FileIO, directory: str, number: int) -> Iterator[None]:
    """Keeps a mark for a snapshot as long as the context lasts.

    A mark that cannot be deleted is logged and not raised, because the work within the context has succeeded.
    """
    path = f"{directory}/{HOLD_PREFIX}{number}-{uuid.uuid4()}"
    file_io.write_bytes(path, b"")
    try:
        yield
    finally:
        try:
            file_io.delete(path)
        except OSError as error:
            _log.warning("%s stays, and holds for a day what could expire: %s", path, error)


@contextmanager
def hold(store: SnapshotStore, first: int) -> Iterator[None]:
    """Prevents the expiry of a snapshot and of all later ones as long as the context lasts.

    Raises:
        SnapshotNotFound: an expiry is about to delete the snapshot; nothing was changed.
    """
    with hold_file(store.file_io, store.directory, first):
        if (expiring_below(store) or 0) > first:
            raise SnapshotNotFound(
                f"keeping snapshot {first} of the table at {store.table}: it expires just now, or its expiry broke off"
                f", so that its files may be gone; {store.available()}. Choose a later one, or expire snapshots first"
            )
        yield


def held_snapshot_ids(file_io: FileIO, directory: str) -> set[int]:
    """The ids that the marks in a directory hold. Marks older than a day, left by a crash, are deleted."""
    listed = file_io.list(directory)
    newest = _newest(listed)  # by the clock of the store
    since = time.time_ns() // 1_000_000 - _DAY_MILLIS
    if any(_MARK.fullmatch(s.name) and newest - _DAY_MILLIS <= s.modified_millis < since for s in listed):
        newest = _now(file_io, directory)  # no new file for a day, or one of the two clocks is wrong
    return {number for status in listed if (number := _held(file_io, status, newest)) is not None}


def _newest(listed: Iterable[FileStatus]) -> int:
    return max((status.modified_millis for status in listed), default=0)


def _now(file_io: FileIO, directory: str) -> int:
    """The time by the clock of the store, epoch millis."""
    path = f"{directory}/.probe-{uuid.uuid4()}"
    file_io.write_bytes(path, b"")
    try:
        return _newest(file_io.list(directory))
    finally:
        file_io.delete(path)


def _held(file_io: FileIO, status: FileStatus, now: int) -> int | None:
    match = _MARK.fullmatch(status.name)
    if match is None:
        return None
    if status.modified_millis >= now - _DAY_MILLIS:
        return int(match[1])
    _log.warning("%s is older than a day and counts no more: what made it has broken off", status.path)
    file_io.delete(status.path)
    return None
