"""Creating a file if nobody has: ``snapshot-N``, the one step that makes a commit real, schemas and tags.

Java: RenamingSnapshotCommit.

Invariant: protocol C1.
"""

from __future__ import annotations

import logging

from paimon_spark.errors import CommitStateUnknown
from paimon_spark.file_io import FileIO, NotCreated
from paimon_spark.format.paths import snapshot_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.snapshot_json import encode_snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore

_log = logging.getLogger(__name__)

TRIES = 3


def publish(snapshots: SnapshotStore, snapshot: Snapshot) -> bool:
    """Publishes a snapshot whose files are all durable.

    When the store does not answer, what lies at the path decides; when nothing does, the same bytes are sent again,
    which is harmless: whichever request arrives first creates the one file.

    Returns:
        True: it is published, by this call. False: another writer has that id.

    Raises:
        NotCreated: the store refused for certain; nothing is published, nor will be.
        CommitStateUnknown: the store gave no answer and could not be asked; the snapshot may appear at any time, so
            none of its files may be deleted.
    """
    path = snapshot_path(snapshots.table, snapshot.id, snapshots.branch)
    data = encode_snapshot(snapshot)
    failure: OSError | None = None
    for _ in range(TRIES):
        try:
            if snapshots.file_io.create_if_absent(path, data):
                return True
            failure = None
        except NotCreated:
            if failure is None:
                raise
            # An earlier request of ours may still be under way: its outcome stays open.
        except OSError as error:
            _log.warning("no answer when publishing %s, looking whether it is there: %s", path, error)
            failure = error
        try:
            found = snapshots.find(snapshot.id)
        except OSError as error:
            failure = failure or error
            continue
        if found is not None:
            return found.uuid == snapshot.uuid
        if failure is None:
            return False  # taken a moment ago and gone: expired, or in conflict with another request
    raise CommitStateUnknown(
        f"the commit of user {snapshot.commit_user} to the table at {snapshots.table} may or may not be published: "
        f"the store did not answer ({failure}), and {path} was not found. Nothing was deleted. When the store answers "
        "again, look whether that snapshot names this user; if not, run the job again"
    ) from failure


def publish_file(store: FileIO, path: str, data: bytes) -> bool:
    """Makes a file that others may want to make too: whether it holds these bytes now; False when it holds others.

    Raises:
        StorageError: the storage failed.
    """
    try:
        if store.create_if_absent(path, data):
            return True
    except NotCreated:
        raise
    except OSError as error:
        try:
            return store.read_bytes(path) == data
        except FileNotFoundError:
            raise error from None
    return store.read_bytes(path) == data


def write_hint(snapshots: SnapshotStore, snapshot_id: int) -> None:
    """Points LATEST at a new snapshot. Readers find it without, only slower: a failure is logged, not raised."""
    try:
        snapshots.write_latest_hint(snapshot_id)
    except OSError as error:
        _log.warning(
            "snapshot %d of %s is committed, but its LATEST hint is not: %s", snapshot_id, snapshots.table, error
        )
