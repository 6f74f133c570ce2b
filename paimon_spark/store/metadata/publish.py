"""Creates a file atomically if it does not exist: ``snapshot-N``, which makes a commit real, schemas and tags.

Java: RenamingSnapshotCommit.

Invariant: protocol C1.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from paimon_spark.errors import CommitStateUnknown, words_of
from paimon_spark.file_io import FileIO, NotCreated, create_locked
from paimon_spark.format.paths import snapshot_path
from paimon_spark.format.snapshot import Snapshot, encode_snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.served import PartitionChange

_log = logging.getLogger(__name__)

TRIES = 3
_NO_ANSWER = (OSError, MemoryError)
"""After these the store may have done what it was asked for: memory may run out behind the request, too."""


def publish(
    snapshots: SnapshotStore,
    snapshot: Snapshot,
    base: Snapshot | None,
    changes: Callable[[], Sequence[PartitionChange]],
) -> bool:
    """Publishes a snapshot whose files are all durable: by the creation of its file, or by the server of the table.

    If the store or the server does not answer, the content at the path decides, or the latest snapshot of the server.
    If that is not there, the same is sent again, which is safe: whichever request arrives first publishes it. Once an
    answer was lost, a later "no" proves nothing by itself: the server may have published the snapshot by the first
    request, and its file may not be visible yet.

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
    create = _creation(snapshots, snapshot, base, changes)
    doubt: Exception | None = None  # the first lost answer: from then on the outcome is unknown until it is seen
    for _ in range(TRIES):
        try:
            if create():
                return True
        except Exception as error:
            if doubt is None and (isinstance(error, NotCreated) or not isinstance(error, _NO_ANSWER)):
                raise
            _log.warning(
                "no answer when publishing snapshot %d of %s: %s", snapshot.id, snapshots.table, words_of(error)
            )
            doubt = doubt or error
        try:
            published = _is_published(snapshots, snapshot, in_doubt=doubt is not None)
        except Exception as error:
            if doubt is None and not isinstance(error, _NO_ANSWER):
                raise
            doubt = doubt or error
            continue
        if published is not None:
            return published
        if doubt is None:
            return False  # it was taken a moment ago and no longer exists: expired, or a conflict with another request
    assert doubt is not None, "without a doubt it has returned"
    path = snapshot_path(snapshots.table, snapshot.id, snapshots.branch)
    raise CommitStateUnknown(
        f"the commit of user {snapshot.commit_user} to the table at {snapshots.table} may or may not be published: "
        f"the store did not answer ({words_of(doubt)}), and {path} was not found. Nothing was deleted. When "
        "the store answers again, look whether that snapshot names this user; if not, run the job again"
    ) from doubt


def _is_published(snapshots: SnapshotStore, snapshot: Snapshot, in_doubt: bool) -> bool | None:
    """True if the snapshot is published; False: another one has its id. None: neither is seen.

    A server is asked itself, because it says what is published, and its files may be late.
    """
    if in_doubt and snapshots.server is not None:
        latest = snapshots.server.latest(snapshots.branch)
        if latest is None or latest.id < snapshot.id:
            return None  # it may be working on our request
        if latest.id == snapshot.id:
            return latest.uuid == snapshot.uuid
    found = snapshots.find(snapshot.id)
    return None if found is None else found.uuid == snapshot.uuid


def _creation(
    snapshots: SnapshotStore,
    snapshot: Snapshot,
    base: Snapshot | None,
    changes: Callable[[], Sequence[PartitionChange]],
) -> Callable[[], bool]:
    server = snapshots.server
    if server is not None:
        partition_rows = changes()
        return lambda: server.publish(snapshots.branch, base, snapshot, partition_rows)
    path, data = snapshot_path(snapshots.table, snapshot.id, snapshots.branch), encode_snapshot(snapshot)
    return lambda: snapshots.file_io.create_if_absent(path, data)


def publish_file(store: FileIO, path: str, data: bytes, locked: bool = False) -> bool:
    """Creates a file that other processes may create concurrently.

    Args:
        locked: the caller holds a lock that all who create this file take.

    Returns:
        True: the file holds these bytes. False: it holds others.

    Raises:
        StorageError: the storage failed.
    """
    try:
        if create_locked(store, path, data) if locked else store.create_if_absent(path, data):
            return True
    except NotCreated:
        raise
    except _NO_ANSWER as error:
        try:
            return store.read_bytes(path) == data
        except FileNotFoundError:
            raise error from None
    return store.read_bytes(path) == data


def write_hint(snapshots: SnapshotStore, snapshot_id: int) -> None:
    """Sets LATEST to a new snapshot. Readers work without it, only slower, so a failure is logged and not raised.

    If a rollback has deleted the snapshot concurrently, the hint would name a lost one, so it is looked at again. The
    rollback looks too, after it has deleted; one of the two sees the other.

    A server does it by itself.
    """
    if snapshots.server is not None:
        return
    try:
        snapshots.advance_latest_hint(snapshot_id)
        if not snapshots.exists(snapshot_id):
            snapshots.settle_latest_hint()
    except _NO_ANSWER as error:
        _log.warning(
            "snapshot %d of %s is committed, but its LATEST hint is not: %s",
            snapshot_id,
            snapshots.table,
            words_of(error),
        )
