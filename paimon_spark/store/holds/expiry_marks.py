"""Marks of running expiries: ``snapshot/.expiring-<end>-<uuid>``, a name that other table readers ignore.

An expiry writes its mark first, and deletes it when the snapshots below its end are deleted. An operation that keeps
one of these snapshots (a tag, a rollback) first writes its own file and then looks for marks. So either the expiry sees
the file, or the operation sees the mark. A mark that a crash left behind shows that the snapshots below its end may be
incomplete, and where the next expiry must continue.

Invariants: protocol E1 and E3 to E5.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable

from paimon_spark.file_io import FileStatus
from paimon_spark.format.paths import SNAPSHOT_PREFIX, id_of
from paimon_spark.store.metadata.snapshots import SnapshotStore

_MARK = re.compile(r"\.expiring-(\d+)-[0-9a-f-]{36}", re.ASCII)


def expiring_below(store: SnapshotStore) -> int | None:
    """The id below which snapshots are being expired, or were when an expiry crashed; None if there is no mark.

    A new tag of a lower snapshot must be deleted at once, because its files may already be deleted. A mark above all
    snapshots is ignored: a rollback ran between the plan of that expiry and its mark, so it has deleted nothing.
    """
    listed = store.file_io.list(store.directory)
    newest = _newest(listed)
    return max((end for end, _ in _marks(listed) if end <= newest), default=None)


def write_mark(store: SnapshotStore, end: int) -> str:
    """Writes the mark of an expiry of the snapshots below end; returns its path."""
    path = f"{store.directory}/.expiring-{end}-{uuid.uuid4()}"
    store.file_io.write_bytes(path, b"")
    return path


def delete_marks(store: SnapshotStore, end: int) -> None:
    """Deletes the marks of expiries up to end, because no snapshot below it exists any more, and those above all
    snapshots."""
    listed = store.file_io.list(store.directory)
    newest = _newest(listed)
    for mark_end, path in _marks(listed):
        if mark_end <= end or mark_end > newest:
            store.file_io.delete(path)


def parse_expiry_mark(name: str) -> int | None:
    """The id below which snapshots are deleted, from the name of a mark; None for any other file."""
    match = _MARK.fullmatch(name)
    return None if match is None else int(match[1])


def _marks(listed: Iterable[FileStatus]) -> list[tuple[int, str]]:
    found = [(parse_expiry_mark(status.name), status.path) for status in listed]
    return [(end, path) for end, path in found if end is not None]


def _newest(listed: Iterable[FileStatus]) -> int:
    numbers = (id_of(status.name, SNAPSHOT_PREFIX) for status in listed)
    return max((number for number in numbers if number is not None), default=0)
