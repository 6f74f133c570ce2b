"""Marks in the directory of snapshots, which other table readers ignore: of expiries, and of operations that keep one.

An expiry writes its mark, ``.expiring-<end>-<uuid>``, first, and deletes it when the snapshots below its end are
deleted. An operation that keeps one of these snapshots (a tag, a rollback) first writes its own file and then looks for
marks. So either the expiry sees the file, or the operation sees the mark. A mark that a crash left behind shows that
the snapshots below its end may be incomplete, and where the next expiry must continue.

An operation that is about to keep a snapshot, because it creates a tag or a branch or rolls a table back, writes a mark
for the first snapshot that it needs, ``.holding-<id>-<uuid>``, and then looks for expiries. An expiry looks for these
marks after it has written its own. So one of the two sees the other and gives up. In the directory of tags, the same
marks protect a tag from which another one is created against its deletion. A mark left by a crash holds for a day; the
next expiry after that deletes it.

Invariants: protocol E1, E3 to E5 and H1 to H5.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.paths import SNAPSHOT_PREFIX, id_of, parse_expiry_mark
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.storage.local_time import now_millis

_log = logging.getLogger(__name__)
HOLD_PREFIX = ".holding-"
_HOLD_MARK = re.compile(r"\.holding-(\d+)-[0-9a-f-]{36}", re.ASCII)
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
    since = now_millis() - _DAY_MILLIS
    if any(_HOLD_MARK.fullmatch(s.name) and newest - _DAY_MILLIS <= s.modified_millis < since for s in listed):
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
    match = _HOLD_MARK.fullmatch(status.name)
    if match is None:
        return None
    if status.modified_millis >= now - _DAY_MILLIS:
        return int(match[1])
    _log.warning("%s is older than a day and counts no more: what made it has broken off", status.path)
    file_io.delete(status.path)
    return None


def expiring_below(store: SnapshotStore) -> int | None:
    """The id below which snapshots are being expired, or were when an expiry crashed; None if there is no mark.

    A new tag of a lower snapshot must be deleted at once, because its files may already be deleted. A mark above all
    snapshots is ignored: a rollback ran between the plan of that expiry and its mark, so it has deleted nothing.
    """
    listed = store.file_io.list(store.directory)
    newest = _newest_id(listed)
    return max((end for end, _ in _expiry_marks(listed) if end <= newest), default=None)


def expired_below(store: SnapshotStore) -> int:
    """The id below which snapshots are being expired, by marks whose first snapshot to keep is there; 0: there is none.

    The id of that snapshot may belong to another one since, after a rollback. Then the expiry deletes nothing.
    """
    ends = [0]
    for end, path in _expiry_marks(store.file_io.list(store.directory)):
        kept, named = store.find(end), find_bytes(store.file_io, path)
        if kept is not None and named is not None and named in (b"", _identity(kept)):
            ends.append(end)
    return max(ends)


def write_mark(store: SnapshotStore, end: int, kept: Snapshot | None) -> str:
    """Writes the mark of an expiry of the snapshots below end; returns its path.

    Args:
        kept: the snapshot end; None: not known, as in marks of older releases.
    """
    path = f"{store.directory}/.expiring-{end}-{uuid.uuid4()}"
    store.file_io.write_bytes(path, b"" if kept is None else _identity(kept))
    return path


def _identity(snapshot: Snapshot) -> bytes:
    """What no other snapshot has, though its id may be used again."""
    return snapshot.base_manifest_list.encode()


def delete_marks(store: SnapshotStore, end: int) -> None:
    """Deletes the marks of expiries up to end, because no snapshot below it exists any more, and those above all
    snapshots."""
    listed = store.file_io.list(store.directory)
    newest = _newest_id(listed)
    for mark_end, path in _expiry_marks(listed):
        if mark_end <= end or mark_end > newest:
            store.file_io.delete(path)


def _expiry_marks(listed: Iterable[FileStatus]) -> list[tuple[int, str]]:
    found = [(parse_expiry_mark(status.name), status.path) for status in listed]
    return [(end, path) for end, path in found if end is not None]


def _newest_id(listed: Iterable[FileStatus]) -> int:
    numbers = (id_of(status.name, SNAPSHOT_PREFIX) for status in listed)
    return max((number for number in numbers if number is not None), default=0)
