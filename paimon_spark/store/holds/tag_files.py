"""Creates the file of a new tag so that the snapshot cannot be lost (format section 3.3).

Invariants: protocol T4 and T5.
"""

from __future__ import annotations

import time

from paimon_spark.errors import NameTaken, SnapshotNotFound
from paimon_spark.format.paths import tag_path
from paimon_spark.format.snapshot import Snapshot, Tag, encode_tag
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.snapshots import SnapshotStore

_MILLI = 1_000_000


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
