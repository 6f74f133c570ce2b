"""Whether the snapshot that a commit was put on top of is still there; Java does not look.

A rollback takes snapshots away, a fast-forward replaces them. Whoever has prepared a commit before may publish it
afterwards, and what was taken away would be back. So each commit looks, after it has published, whether its base is
there, and takes itself back if not. A rollback looks after its last delete for snapshots without a base: one of the
two sees the other.
"""

from __future__ import annotations

import logging
from enum import StrEnum

from paimon_spark.errors import CommitStateUnknown
from paimon_spark.spec.paths import snapshot_path
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.store.expire_marks import expiring_until
from paimon_spark.store.snapshots import SnapshotStore

_log = logging.getLogger(__name__)


class Base(StrEnum):
    """What became of the snapshot that a commit was put on."""

    THERE = "there"
    TAKEN_AWAY = "taken away"
    EXPIRED = "expired"  # or there never was one


def base_now(store: SnapshotStore, base: Snapshot | None) -> Base:
    """What became of the base of a snapshot that was just published; None: it is to be the first of the table."""
    found = None if base is None else store.find(base.id)
    if base is None or (found is None and not was_taken_away(store, base.id)):
        return Base.EXPIRED
    return Base.THERE if found == base else Base.TAKEN_AWAY


def was_taken_away(store: SnapshotStore, snapshot_id: int) -> bool:
    """Whether a snapshot that is not there went with a rollback: an expiry takes the older ones too.

    An expiry of ours may take them in any order, but leaves its mark until all are gone; that of Java goes by age.
    """
    expiring = expiring_until(store) or 0
    return expiring <= snapshot_id and any(number < snapshot_id for number in store.ids())


def take_back(store: SnapshotStore, published: Snapshot) -> None:
    """Takes a snapshot away again that stands on a lost base, and first what others have put on top of it.

    Its files stay for the removal of orphan files, for nobody knows who still reads them.

    Raises:
        CommitStateUnknown: the storage failed; the snapshot may still be there, with the rows of the lost state.
    """
    try:
        if store.find(published.id) != published:
            return  # the rollback has seen it, or somebody else has that id now
        _log.warning(
            "snapshot %d of %s was put on one that a rollback or a fast-forward took away meanwhile: it is taken back, "
            "and tried again on the new state",
            published.id,
            store.table,
        )
        for number in [n for n in reversed(store.ids()) if n > published.id]:
            _log.warning("snapshot %d of %s, on top of it, is lost too", number, store.table)
            store.file_io.delete(snapshot_path(store.table, number, store.branch))
        store.file_io.delete(snapshot_path(store.table, published.id, store.branch))
    except OSError as error:
        raise CommitStateUnknown(
            f"the commit of user {published.commit_user} to the table at {store.table} was published as snapshot "
            f"{published.id} on top of a snapshot that a rollback or a fast-forward took away meanwhile, and could not "
            f"be taken back: {error}. Roll the table back again, then run the job again"
        ) from error
