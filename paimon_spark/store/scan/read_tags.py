"""Tags that keep the snapshots of long reads (`scan.plan-auto-tag-for-read.time-retained`; Java: BatchReadTagCreator).

Invariants: protocol F3 and F4.
"""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass

from paimon_spark.errors import SnapshotNotFound
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import tag_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.holds.expired import expired_error
from paimon_spark.store.holds.tag_holds import new_tag, publish_tag
from paimon_spark.store.metadata.snapshots import SnapshotStore

_log = logging.getLogger(__name__)

FENCE_PREFIX = "batch-read-"


@dataclass(frozen=True)
class ReadTag:
    """A tag of a read: its name, the snapshot that it keeps, and its branch."""

    name: str
    snapshot_id: int
    branch: str


def create_read_tag(store: SnapshotStore, snapshot: Snapshot, millis: int, settings: TableSettings) -> ReadTag | None:
    """Tags a snapshot for a read that is about to begin.

    The tag is created before the read is planned, so that the snapshot cannot expire in between. A reader without
    permission to write to the table reads without a tag, as in Java, and a warning is logged.

    Args:
        store: the snapshots of the table and branch that is read.
        snapshot: the snapshot to read.
        millis: the lifetime of the tag.
        settings: the options of the table; errors describe its retention.

    Returns:
        The tag; None if no tag can be created.

    Raises:
        SnapshotNotFound: the snapshot is expiring.
    """
    fence = ReadTag(f"{FENCE_PREFIX}{snapshot.id}-{uuid.uuid4().hex[:8]}", snapshot.id, store.branch)
    try:
        publish_tag(store, fence.name, new_tag(snapshot, millis))
    except SnapshotNotFound as error:
        what = f"tagging snapshot {snapshot.id} of the table at {store.table} for a read: it expires just now"
        raise expired_error(store, settings, what) from error
    except OSError as error:
        _log.warning(
            "no tag keeps snapshot %d of %s while it is read, for none can be made: %s", snapshot.id, store.table, error
        )
        return None
    return fence


def delete_read_tag(store: SnapshotStore, fence: ReadTag) -> None:
    """Deletes the tag of a finished read.

    If the snapshot has expired in the meantime, the tag is kept until its time is up: the expiry of tags then deletes
    the files that only this tag keeps.
    """
    try:
        if store.exists(fence.snapshot_id):
            store.file_io.delete(tag_path(store.table, fence.name, store.branch))
    except OSError as error:
        _log.warning("the tag '%s' of %s stays until its time is up: %s", fence.name, store.table, error)
