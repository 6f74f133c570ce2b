"""Whether a snapshot was published under an id that others had used and expired before; Java does not look.

A commit reads the latest snapshot, 7, and gets stuck. Others commit 8 to 20 and expire all up to 15. Then nobody is in
the way of an 8, but it lies below the table, and its rows are in no later snapshot. Whose base is gone therefore looks
whether the next snapshot was built on it.
"""

from __future__ import annotations

import logging

from paimon_spark.errors import CommitStateUnknown, CorruptFile
from paimon_spark.spec.paths import snapshot_path
from paimon_spark.spec.snapshot import Snapshot
from paimon_spark.store.commit_base import Base, base_now, take_back
from paimon_spark.store.expire_marks import expiring_until
from paimon_spark.store.publish import TRIES
from paimon_spark.store.snapshot_chain import builds_on
from paimon_spark.store.table import Table

_log = logging.getLogger(__name__)


def lasts(table: Table, base: Snapshot | None, published: Snapshot) -> bool:
    """Whether a snapshot just published on top of base is a part of the table; if not, it is gone again.

    A store that gives no answer is asked again: one lost answer leaves no outcome open.

    Raises:
        CommitStateUnknown: it cannot be told, or it could not be taken away; it may be kept by a tag meanwhile.
    """
    failure: OSError | CorruptFile | None = None
    for _ in range(TRIES):
        try:
            return _lasts(table, base, published)
        except (OSError, CorruptFile) as error:
            _log.warning("looking at the base of snapshot %d of %s failed: %s", published.id, table.location, error)
            failure = error
    raise CommitStateUnknown(
        f"the commit of user {published.commit_user} to the table at {table.location} is published as snapshot "
        f"{published.id}, but whether a rollback or an expiry came before it could not be found out: {failure}. "
        "Nothing was deleted. Look whether the rows are there; if not, run the job again"
    ) from failure


def _lasts(table: Table, base: Snapshot | None, published: Snapshot) -> bool:
    now = base_now(table.snapshots, base)
    if now == Base.TAKEN_AWAY:
        take_back(table.snapshots, published)
        return False
    if now == Base.EXPIRED and is_overtaken(table, published):
        take_from_below(table, published)
        return False
    return True


def lost_sight(table: Table, taken_back: Snapshot, error: Exception) -> CommitStateUnknown:
    """The error of a commit that was taken back, and failed then."""
    return CommitStateUnknown(
        f"the commit of user {taken_back.commit_user} to the table at {table.location} was snapshot {taken_back.id} "
        f"for a moment, was taken back because of a rollback or an expiry, and failed then: {error}. As somebody may "
        "have made a tag of it in that moment, nothing was deleted. Run the job again"
    )


def is_overtaken(table: Table, published: Snapshot) -> bool:
    """Whether a snapshot that was just published, and whose base is not there, is in no later one.

    Raises:
        CommitStateUnknown: it cannot be told, for the snapshots that could tell have expired too.
    """
    store = table.snapshots
    later = [number for number in store.ids() if number > published.id]
    if not later:
        return False
    following = store.find(published.id + 1)
    if following is not None:
        return not builds_on(table, published, following)
    expiring = expiring_until(store) or 0  # before the snapshot is looked at: its mark goes last
    if expiring <= published.id and store.exists(published.id):
        return True  # an expiry of the official system takes the oldest first
    raise CommitStateUnknown(
        f"the commit of user {published.commit_user} to the table at {table.location} was published as snapshot "
        f"{published.id}, but it took so long that the snapshots up to {later[0] - 1} have expired meanwhile: whether "
        "its rows are in the later ones is not known. Nothing was deleted. Keep more snapshots "
        "(snapshot.num-retained.min), look for the rows, and run the job again if they are missing"
    )


def take_from_below(table: Table, published: Snapshot) -> None:
    """Takes a snapshot that is in no later one away again. Its files stay for the removal of orphan files.

    Raises:
        StorageError: the storage failed; the snapshot harms nobody where it is.
    """
    store = table.snapshots
    _log.warning(
        "the commit of user %s to %s took so long that snapshot %d had come and expired before: it is tried again",
        published.commit_user,
        table.location,
        published.id,
    )
    if store.find(published.id) == published:
        table.file_io.delete(snapshot_path(store.table, published.id, store.branch))
