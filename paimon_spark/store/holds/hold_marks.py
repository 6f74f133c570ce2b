"""Marks of those who are about to keep a snapshot: ``.holding-<id>-<uuid>``, a name that no other reader looks at.

Who makes a tag or a branch, or takes a table back, marks the first snapshot he needs, in the directory of snapshots,
and looks for expiries then; an expiry marks its work and looks for these marks then (expiry_marks): so one of the two
sees the other and gives up. In the directory of tags the same marks stand between those who make a tag from another
tag and those who delete that one. A mark that a crash left holds for a day, and goes with the next expiry then.

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
    """There is a mark for a snapshot as long as the context lasts.

    One that cannot be taken away is logged: what was done within is done, and an error would tell otherwise.
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
    """No expiry takes the snapshot of that id, or a later one, as long as the context lasts.

    Raises:
        SnapshotNotFound: an expiry is about to; nothing was changed.
    """
    with hold_file(store.file_io, store.directory, first):
        if (expiring_below(store) or 0) > first:
            raise SnapshotNotFound(
                f"keeping snapshot {first} of the table at {store.table}: it expires just now, or its expiry broke off"
                f", so that its files may be gone; {store.available()}. Choose a later one, or expire snapshots first"
            )
        yield


def held_snapshot_ids(file_io: FileIO, directory: str) -> set[int]:
    """The ids that the marks in a directory hold. Marks of a crash, older than a day, are taken away."""
    listed = file_io.list(directory)
    newest = _newest(listed)  # by the clock of the store
    since = time.time_ns() // 1_000_000 - _DAY_MILLIS
    if any(_MARK.fullmatch(s.name) and newest - _DAY_MILLIS <= s.modified_millis < since for s in listed):
        newest = _now(file_io, directory)  # nothing has come for a day, or one of the two clocks is wrong
    return {number for status in listed if (number := _held(file_io, status, newest)) is not None}


def _newest(listed: Iterable[FileStatus]) -> int:
    return max((status.modified_millis for status in listed), default=0)


def _now(file_io: FileIO, directory: str) -> int:
    """What the clock of the store shows, epoch millis."""
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
