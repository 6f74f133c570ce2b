"""Protects a snapshot while a tag or branch of it is created and other jobs may delete its files.

Before the file of the tag or branch is created, a hold mark announces it (marks). Then no other job deletes files
of the snapshot; or the snapshot is already being deleted, and the operation fails before it has created anything.

Invariants: protocol H1 and T3.

Creates the file of a new tag so that the snapshot cannot be lost (format section 3.3). Invariants: protocol T4 and T5.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from paimon_spark.errors import NameTaken, SnapshotNotFound
from paimon_spark.format.paths import tag_directory, tag_path
from paimon_spark.format.snapshot import Snapshot, Tag, decode_tag, encode_tag
from paimon_spark.store.holds.marks import hold, hold_file
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.files import find_bytes, list_named

DELETION_PREFIX = ".deleting-"
_MILLI = 1_000_000


def deletion_mark_path(store: SnapshotStore, name: str) -> str:
    """The mark that the files of a tag are being deleted; its content is the tag."""
    return f"{tag_directory(store.table, store.branch)}/{DELETION_PREFIX}{name}"


def tags_being_deleted(store: SnapshotStore) -> dict[str, Tag]:
    """The tags whose files are being deleted, or were when a deletion crashed, by name.

    Raises:
        CorruptFile: a mark is damaged.
    """
    found = {}
    for name, status in list_named(store.file_io, tag_directory(store.table, store.branch), DELETION_PREFIX).items():
        data = find_bytes(store.file_io, status.path)
        if data is not None:
            found[name] = decode_tag(data, status.path)
    return found


@contextmanager
def hold_snapshot(store: SnapshotStore, snapshot: Snapshot) -> Iterator[bool]:
    """Protects all files of a snapshot as long as the context lasts; create the tag or branch within it.

    The context yields True if the snapshot itself exists, False if only a tag of it does.

    Args:
        store: the store that has the snapshot, or a tag of it.
        snapshot: as it was read.

    Raises:
        SnapshotNotFound: the snapshot is expiring, or its last tag is being deleted; nothing was created.
    """
    with ExitStack() as held:
        is_there = _is_held(store, snapshot, held)
        if not is_there:
            held.enter_context(hold_tagged(store, snapshot))
        yield is_there


def _is_held(store: SnapshotStore, snapshot: Snapshot, held: ExitStack) -> bool:
    """True if the snapshot exists and does not expire; if False, only a tag may keep it.

    After a rollback or a fast-forward another snapshot may have its id.
    """
    if not store.exists(snapshot.id):
        return False
    try:
        held.enter_context(hold(store, snapshot.id))
    except SnapshotNotFound:
        return False
    return store.find(snapshot.id) == snapshot


@contextmanager
def hold_tagged(store: SnapshotStore, snapshot: Snapshot) -> Iterator[None]:
    """Protects the files of a snapshot that has expired and that a tag keeps, as long as the context lasts.

    Raises:
        SnapshotNotFound: no tag keeps the snapshot, or its last tag is being deleted; nothing was created.
    """
    with hold_file(store.file_io, tag_directory(store.table, store.branch), snapshot.id):
        going = {tag.snapshot.id for tag in tags_being_deleted(store).values()}
        if snapshot.id in going or all(tag.snapshot != snapshot for tag in store.tags().values()):
            raise SnapshotNotFound(
                f"keeping snapshot {snapshot.id} of the table at {store.table}: it expires just now, or its last tag "
                f"is being deleted, so that its files may be gone; {store.available()}. Choose a later one"
            )
        yield


def new_tag(snapshot: Snapshot, millis: int | None) -> Tag:
    """A tag with the creation time of now.

    Args:
        snapshot: the snapshot that it keeps.
        millis: its lifetime; None: until it is deleted; both times are left out then, so that old releases can read it.
    """
    if millis is None:
        return Tag(snapshot)
    now = time.time_ns()
    offset = time.localtime(now // 1_000_000_000).tm_gmtoff
    return Tag(snapshot, now + offset * 1_000_000_000, millis * _MILLI)


def publish_tag(store: SnapshotStore, name: str, tag: Tag) -> None:
    """Creates the file of a tag.

    Raises:
        NameTaken: a tag of this name exists.
        SnapshotNotFound: the snapshot is being expired or rolled back; the tag was not created.
    """
    path = tag_path(store.table, name, store.branch)
    with hold_snapshot(store, tag.snapshot) as is_there:
        if store.file_io.exists(path) or not publish_file(store.file_io, path, encode_tag(tag)):
            raise NameTaken(
                f"the table at {store.table} has a tag '{name}' already; replace or delete it, or choose another name"
            )
        if is_there and store.find(tag.snapshot.id) != tag.snapshot:  # a rollback may have looked for tags before
            store.file_io.delete(path)
            raise SnapshotNotFound(
                f"making the tag '{name}' of the table at {store.table}: a rollback or a fast-forward took snapshot "
                f"{tag.snapshot.id} away meanwhile; {store.available()}"
            )
