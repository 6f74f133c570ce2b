"""Tags that keep what long reads stand on (`scan.plan-auto-tag-for-read.time-retained`; Java: BatchReadTagCreator).

Invariants: protocol F3 and F4.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.format.options.core_options import Options
from paimon_spark.format.paths import tag_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.holds.expired import expired_error
from paimon_spark.store.holds.tag_files import new_tag, publish_tag
from paimon_spark.store.metadata.snapshots import SnapshotStore

_log = logging.getLogger(__name__)

FENCE_PREFIX = "batch-read-"


@dataclass(frozen=True)
class ReadTag:
    """A tag of a read. name: of the tag; snapshot_id: what it keeps; branch: where it is."""

    name: str
    snapshot_id: int
    branch: str


def create_read_tag(store: SnapshotStore, snapshot: Snapshot, millis: int, options: Options) -> ReadTag | None:
    """Tags a snapshot for a read that is about to begin.

    It is made before the read is planned, so that no expiry comes between. A reader that must not write to the table
    reads without, as in Java, and a warning tells.

    Args:
        store: of the table and branch that is read.
        snapshot: what is read.
        millis: how long the tag lives.
        options: of the table: its retention is told in errors.

    Returns:
        None where no tag can be made.

    Raises:
        SnapshotNotFound: the snapshot is expiring just now.
    """
    fence = ReadTag(f"{FENCE_PREFIX}{snapshot.id}-{uuid.uuid4().hex[:8]}", snapshot.id, store.branch)
    try:
        publish_tag(store, fence.name, new_tag(snapshot, millis))
    except SnapshotNotFound as error:
        what = f"tagging snapshot {snapshot.id} of the table at {store.table} for a read: it expires just now"
        raise expired_error(store, options, what) from error
    except OSError as error:
        _log.warning(
            "no tag keeps snapshot %d of %s while it is read, for none can be made: %s", snapshot.id, store.table, error
        )
        return None
    return fence


def delete_read_tag(store: SnapshotStore, fence: ReadTag) -> None:
    """Deletes the tag of a read that is over.

    Where the snapshot has expired meanwhile the tag stays until its time is up: the expiry of tags then deletes the
    files that it alone keeps.
    """
    try:
        if store.exists(fence.snapshot_id):
            store.file_io.delete(tag_path(store.table, fence.name, store.branch))
    except OSError as error:
        _log.warning("the tag '%s' of %s stays until its time is up: %s", fence.name, store.table, error)
