"""Whether what has just been made to keep a snapshot came in time: nobody deletes the snapshot's files meanwhile.

Who keeps a snapshot (a tag, a branch) writes his file first and looks here afterwards; who deletes files marks his work
first and looks for those who keep them afterwards. So one of the two sees the other.
"""

from __future__ import annotations

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.spec.paths import tag_directory
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.spec.snapshot_json import Tag, decode_tag
from paimon_spark.store.expire_marks import expiring_until
from paimon_spark.store.snapshots import SnapshotStore
from paimon_spark.store.versioned import find_bytes

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
    for status in store.file_io.list(tag_directory(store.table, store.branch)):
        if status.name.startswith(DELETION_PREFIX):
            data = find_bytes(store.file_io, status.path)
            if data is not None:
                found[status.name.removeprefix(DELETION_PREFIX)] = decode_tag(data, status.path)
    return found


def check_kept(store: SnapshotStore, snapshot: Snapshot, but: str | None = None) -> None:
    """Whether all files of a snapshot are still there.

    Args:
        store: where the snapshot, or a tag of it, is.
        snapshot: just made to be kept.
        but: the name of the new tag, which proves nothing.

    Raises:
        SnapshotNotFound: the snapshot is expiring, or its last tag is being deleted: take back what keeps it.
    """
    end = expiring_until(store) or 0
    deleting = {tag.snapshot.id for tag in tags_being_deleted(store).values()}
    if snapshot.id >= end and store.exists(snapshot.id):
        return
    tags = store.tags()
    if snapshot.id not in deleting and any(tag.snapshot.id == snapshot.id for name, tag in tags.items() if name != but):
        return
    raise SnapshotNotFound(
        f"keeping snapshot {snapshot.id} of the table at {store.table}: it expires just now, or its last tag is being "
        f"deleted, so that its files may be gone; {store.available()}. Choose a later one"
    )
