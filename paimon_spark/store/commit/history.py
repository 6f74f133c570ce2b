"""Finds the snapshots that other jobs committed concurrently, or this commit itself (Java: FileStoreCommitImpl)."""

from __future__ import annotations

from collections.abc import Callable

from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.parallel import map_parallel

_THREADS = 8


def recent_snapshots(snapshots: SnapshotStore, latest: Snapshot | None, since: int | None) -> list[Snapshot]:
    """The snapshots newer than since (None: all existing ones), newest first; expired ones are left out.

    Args:
        snapshots: the snapshots of the table.
        latest: the newest snapshot, as read.
        since: a snapshot id; 0 for the time before the first.
    """
    if latest is None:
        return []
    earlier = snapshots.ids() if since is None else range(since + 1, latest.id)
    ids = [number for number in reversed(earlier) if number < latest.id]
    few = len(ids) < _THREADS  # few are read faster than threads start
    found = [snapshots.find(i) for i in ids] if few else map_parallel(snapshots.find, ids, _THREADS)
    newest = [latest] if since is None or latest.id > since else []
    return [*newest, *(snapshot for snapshot in found if snapshot is not None)]


def is_committed(
    snapshots: SnapshotStore, since: int | None, names: Callable[[Snapshot], bool], planned: str | None = None
) -> bool:
    """True if a commit exists in the table. After a rollback its id may be lower than that it was planned on.

    Args:
        snapshots: the snapshots of the table.
        since: a snapshot id; 0 for the time before the first.
        names: whether a snapshot is this commit.
        planned: the base manifest list of the snapshot since. None: a rollback cannot be excluded, so all snapshots are
            searched.
    """
    latest = snapshots.latest()
    base = None if since is None or planned is None else snapshots.find(since)
    if base is None or base.base_manifest_list != planned:
        since = None
    return any(names(snapshot) for snapshot in recent_snapshots(snapshots, latest, since))


class CommitHistory:
    """The snapshots of a table that appear during a commit.

    The first look searches for the latest snapshot. Later looks only continue from there. So a commit that lost a race
    starts its next attempt sooner than a new one, and no commit loses forever.

    Attributes:
        latest: the newest snapshot at the last look; None if there was none.
        is_sure: True if the LATEST hint names it: its committer has confirmed that it is permanent.
    """

    def __init__(self, snapshots: SnapshotStore, since: int | None) -> None:
        """Reads nothing yet.

        Args:
            snapshots: the snapshots of the table.
            since: the first look returns snapshots after this id; 0: from the first one; None: all existing ones.
        """
        self.latest: Snapshot | None = None
        self.is_sure: bool = False
        self._snapshots = snapshots
        self._seen = since
        self._has_looked = False

    def look(self) -> list[Snapshot]:
        """The snapshots that were not returned before, newest first.

        After a rollback or a fast-forward these are all existing ones, because ids may have been used again.
        """
        found = self._walk() if self._has_looked and self._snapshots.server is None else None
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
        """Forgets the snapshots seen so far, because they were removed."""
        self._has_looked, self._seen = False, None

    def _walk(self) -> list[Snapshot] | None:
        """The snapshots after the latest known one, newest first; None if that one no longer exists."""
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
