"""Keeping a snapshot by a tag or a branch, while others may delete its files.

Before the file of the tag or branch is made, a mark says that it comes (hold_marks): nobody deletes files of the
snapshot then, or the snapshot is going already and the keeper fails before it has made anything.

Invariants: protocol H1 and T3.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.format.paths import tag_directory
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.snapshot_json import Tag, decode_tag
from paimon_spark.store.holds.hold_marks import hold, hold_file
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.listing import find_bytes, list_named

DELETION_PREFIX = ".deleting-"


def deletion_mark_path(store: SnapshotStore, name: str) -> str:
    """The file that tells that the files of a tag are being deleted: it holds the tag."""
    return f"{tag_directory(store.table, store.branch)}/{DELETION_PREFIX}{name}"


def tags_being_deleted(store: SnapshotStore) -> dict[str, Tag]:
    """The tags whose files are being deleted, or were when a crash came, by name.

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
    """All files of a snapshot stay as long as the context lasts: make in it what keeps them for good.

    It gives whether the snapshot itself is there, and not only a tag of it.

    Args:
        store: where the snapshot, or a tag of it, is.
        snapshot: as read.

    Raises:
        SnapshotNotFound: the snapshot is expiring, or its last tag is being deleted; nothing was made.
    """
    with ExitStack() as held:
        is_there = _is_held(store, snapshot, held)
        if not is_there:
            held.enter_context(hold_tagged(store, snapshot))
        yield is_there


def _is_held(store: SnapshotStore, snapshot: Snapshot, held: ExitStack) -> bool:
    """True if the snapshot is there and does not expire; else only a tag may keep it.

    After a rollback or a fast-forward another one may have its id.
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
    """The same for a snapshot that has expired, and that a tag keeps. Errors the same."""
    with hold_file(store.file_io, tag_directory(store.table, store.branch), snapshot.id):
        going = {tag.snapshot.id for tag in tags_being_deleted(store).values()}
        if snapshot.id in going or all(tag.snapshot != snapshot for tag in store.tags().values()):
            raise SnapshotNotFound(
                f"keeping snapshot {snapshot.id} of the table at {store.table}: it expires just now, or its last tag "
                f"is being deleted, so that its files may be gone; {store.available()}. Choose a later one"
            )
        yield
