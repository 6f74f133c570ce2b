"""Protects a snapshot while a tag or branch of it is created and other jobs may delete its files.

Before the file of the tag or branch is created, a hold mark announces it (hold_marks). Then no other job deletes files
of the snapshot; or the snapshot is already being deleted, and the operation fails before it has created anything.

Invariants: protocol H1 and T3.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.format.paths import tag_directory
from paimon_spark.format.snapshot import Snapshot, Tag, decode_tag
from paimon_spark.store.holds.hold_marks import hold, hold_file
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.listing import find_bytes, list_named

DELETION_PREFIX = ".deleting-"


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
