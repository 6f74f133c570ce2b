"""Creates a file atomically if it does not exist: ``snapshot-N``, which makes a commit real, schemas and tags.

Java: RenamingSnapshotCommit.

Invariant: protocol C1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from paimon_spark.errors import CommitStateUnknown
from paimon_spark.file_io import FileIO, NotCreated
from paimon_spark.format.paths import snapshot_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.snapshot_json import encode_snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.served import PartitionChange

_log = logging.getLogger(__name__)

TRIES = 3


def publish(
    snapshots: SnapshotStore,
    snapshot: Snapshot,
    base: Snapshot | None,
    changes: Callable[[], Sequence[PartitionChange]],
) -> bool:
    """Publishes a snapshot whose files are all durable: by the creation of its file, or by the server of the table.

    If the store or the server does not answer, the content at the path decides. If the path has none, the same is sent
    again, which is safe: whichever request arrives first creates the one file.

    Args:
        snapshots: the snapshots of the table.
        snapshot: the new one.
        base: the one that it was built on; None: it is the first one.
        changes: what it changes in each partition, for a server.

    Returns:
        True: this call published it. False: another writer has taken that id.

    Raises:
        NotCreated: the store refused; the snapshot is not published, and will not be.
        CommitStateUnknown: the store gave no answer and could not be queried; the snapshot may still appear at any
            time, so none of its files may be deleted.
    """
    path = snapshot_path(snapshots.table, snapshot.id, snapshots.branch)
    create = _creation(snapshots, snapshot, base, changes)
    failure: OSError | None = None
    for _ in range(TRIES):
        try:
            if create():
                return True
            failure = None
        except NotCreated:
            if failure is None:
                raise
            # An earlier request of ours may still be in progress: its outcome is unknown.
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
            return False  # it was taken a moment ago and no longer exists: expired, or a conflict with another request
    raise CommitStateUnknown(
        f"the commit of user {snapshot.commit_user} to the table at {snapshots.table} may or may not be published: "
        f"the store did not answer ({failure}), and {path} was not found. Nothing was deleted. When the store answers "
        "again, look whether that snapshot names this user; if not, run the job again"
    ) from failure


def _creation(
    snapshots: SnapshotStore,
    snapshot: Snapshot,
    base: Snapshot | None,
    changes: Callable[[], Sequence[PartitionChange]],
) -> Callable[[], bool]:
    server = snapshots.server
    if server is not None:
        told = changes()
        return lambda: server.publish(snapshots.branch, base, snapshot, told)
    path, data = snapshot_path(snapshots.table, snapshot.id, snapshots.branch), encode_snapshot(snapshot)
    return lambda: snapshots.file_io.create_if_absent(path, data)


def publish_file(store: FileIO, path: str, data: bytes) -> bool:
    """Creates a file that other processes may create concurrently.

    Returns:
        True: the file holds these bytes. False: it holds others.

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
    """Sets LATEST to a new snapshot. Readers work without it, only slower, so a failure is logged and not raised.

    A server does it by itself.
    """
    if snapshots.server is not None:
        return
    try:
        snapshots.write_latest_hint(snapshot_id)
    except OSError as error:
        _log.warning(
            "snapshot %d of %s is committed, but its LATEST hint is not: %s", snapshot_id, snapshots.table, error
        )
