"""Marks of expiries under way: ``snapshot/.expiring-<end>-<uuid>``, a name that no other reader of tables looks at.

A mark is written before anything is looked at and goes when the snapshots below its end are gone. Who wants to keep one
of them (a tag, a rollback) writes his file first and looks for marks then: either the expiry has seen his file, or he
sees the mark. A mark that a crash left behind tells that the snapshots below it may be broken, and where to go on.

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
    """The id below which snapshots are being expired, or were when a crash came; None when none are.

    A new tag of a lower snapshot is to be taken back at once: its files may be gone already. A mark above all snapshots
    tells nothing: a rollback came between the plan of that expiry and its mark, so that it took nothing.
    """
    listed = store.file_io.list(store.directory)
    newest = _newest(listed)
    return max((end for end, _ in _marks(listed) if end <= newest), default=None)


def write_mark(store: SnapshotStore, end: int) -> str:
    """Marks that snapshots below end go; returns the path."""
    path = f"{store.directory}/.expiring-{end}-{uuid.uuid4()}"
    store.file_io.write_bytes(path, b"")
    return path


def delete_marks(store: SnapshotStore, end: int) -> None:
    """Takes away the marks of expiries that end has caught up with, for no snapshot below is there any more, and those
    above all snapshots."""
    listed = store.file_io.list(store.directory)
    newest = _newest(listed)
    for mark_end, path in _marks(listed):
        if mark_end <= end or mark_end > newest:
            store.file_io.delete(path)


def parse_expiry_mark(name: str) -> int | None:
    """The id below which snapshots go, by the name of a mark; None for any other file."""
    match = _MARK.fullmatch(name)
    return None if match is None else int(match[1])


def _marks(listed: Iterable[FileStatus]) -> list[tuple[int, str]]:
    found = [(parse_expiry_mark(status.name), status.path) for status in listed]
    return [(end, path) for end, path in found if end is not None]


def _newest(listed: Iterable[FileStatus]) -> int:
    numbers = (id_of(status.name, SNAPSHOT_PREFIX) for status in listed)
    return max((number for number in numbers if number is not None), default=0)
