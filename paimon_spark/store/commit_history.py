"""Looking back over snapshots for a commit that was made already (Java: FileStoreCommitImpl.tryCommitOnce)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.store.snapshots import SnapshotStore

RECENT = 100
_THREADS = 8


def recent_snapshots(snapshots: SnapshotStore, latest: Snapshot | None, since: int | None) -> list[Snapshot]:
    """The snapshots newer than since (None: the last RECENT), newest first; expired ones are left out.

    Args:
        snapshots: of the table.
        latest: the newest snapshot, as read.
        since: a snapshot id, 0 for the time before the first.
    """
    if latest is None:
        return []
    oldest = max(latest.id - RECENT if since is None else since, 0) + 1
    ids = range(latest.id - 1, oldest - 1, -1)
    if len(ids) < _THREADS:
        found = [snapshots.find(i) for i in ids]
    else:
        with ThreadPoolExecutor(_THREADS) as threads:
            found = list(threads.map(snapshots.find, ids))
    earlier = [snapshot for snapshot in found if snapshot is not None]
    return [latest, *earlier] if latest.id >= oldest else earlier


class CommitHistory:
    """What happened to a table while a commit was tried."""

    def __init__(self, snapshots: SnapshotStore, since: int | None) -> None:
        self._snapshots = snapshots
        self._seen = since

    def since_last_look(self, latest: Snapshot | None) -> list[Snapshot]:
        """The snapshots up to latest that were not returned before, newest first."""
        found = recent_snapshots(self._snapshots, latest, self._seen)
        if latest is not None:
            self._seen = max(latest.id, self._seen or 0)
        return found
