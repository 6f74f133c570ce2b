"""What others have committed meanwhile, and whether one of it is this very commit (Java: FileStoreCommitImpl)."""

from __future__ import annotations

from collections.abc import Callable

from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.parallel import map_parallel

_THREADS = 8


def recent_snapshots(snapshots: SnapshotStore, latest: Snapshot | None, since: int | None) -> list[Snapshot]:
    """The snapshots newer than since (None: all that the table keeps), newest first; expired ones are left out.

    Args:
        snapshots: of the table.
        latest: the newest snapshot, as read.
        since: a snapshot id, 0 for the time before the first.
    """
    if latest is None:
        return []
    earlier = snapshots.ids() if since is None else range(since + 1, latest.id)
    ids = [number for number in reversed(earlier) if number < latest.id]
    few = len(ids) < _THREADS  # which are read sooner than threads have begun
    found = [snapshots.find(i) for i in ids] if few else map_parallel(snapshots.find, ids, _THREADS)
    newest = [latest] if since is None or latest.id > since else []
    return [*newest, *(snapshot for snapshot in found if snapshot is not None)]


def is_committed(
    snapshots: SnapshotStore, since: int | None, names: Callable[[Snapshot], bool], planned: str | None = None
) -> bool:
    """True if a commit is in the table after all. After a rollback its id may be older than what it was planned on.

    Args:
        snapshots: of the table.
        since: as for recent_snapshots.
        names: whether a snapshot is this commit.
        planned: the base manifest list of the snapshot since. None: it is not known whether there was a rollback, and
            all snapshots are looked at.
    """
    latest = snapshots.latest()
    base = None if since is None or planned is None else snapshots.find(since)
    if base is None or base.base_manifest_list != planned:
        since = None
    return any(names(snapshot) for snapshot in recent_snapshots(snapshots, latest, since))


class CommitHistory:
    """The snapshots of a table as a commit sees them come.

    The first look searches for the latest snapshot. The next ones only walk on from there: who has lost a race is
    sooner at the start of the next than who has just come, so that nobody loses for ever.

    Attributes:
        latest: the newest snapshot at the last look; None when there was none.
        is_sure: whether the LATEST hint names it: its committer knows that it is there to stay.
    """

    def __init__(self, snapshots: SnapshotStore, since: int | None) -> None:
        """
        Args:
            snapshots: of the table.
            since: where the first look begins: after this id, 0 for the first snapshot; None: all that are kept.
        """
        self.latest: Snapshot | None = None
        self.is_sure = False
        self._snapshots = snapshots
        self._seen = since
        self._has_looked = False

    def look(self) -> list[Snapshot]:
        """The snapshots that were not returned before, newest first.

        After a rollback or a fast-forward all that are kept, for other ones may have the ids of old ones.
        """
        found = self._walk() if self._has_looked else None
        if found is None:
            self.latest, self.is_sure = self._snapshots.hinted_latest()
            went_back = (self._seen or 0) > (0 if self.latest is None else self.latest.id)
            found = recent_snapshots(self._snapshots, self.latest, None if went_back else self._seen)
        elif found:
            self.latest, self.is_sure = found[0], False
        self._has_looked = True
        self._seen = 0 if self.latest is None else self.latest.id
        return found

    def forget(self) -> None:
        """Nothing seen so far counts any more: it was taken away."""
        self._has_looked, self._seen = False, None

    def _walk(self) -> list[Snapshot] | None:
        """The snapshots after the latest known one, newest first; None when that one is gone, and maybe more."""
        found: list[Snapshot] = []
        last = 0 if self.latest is None else self.latest.id
        while (following := self._snapshots.find(last + 1)) is not None:
            found.append(following)
            last = following.id
        now = None if self.latest is None else self._snapshots.find(self.latest.id)
        if now != self.latest:
            if now is not None:
                self.forget()
            return None
        return found[::-1]
