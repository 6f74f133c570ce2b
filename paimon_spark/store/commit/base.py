"""Checks of the snapshot that a commit builds on (its base), and of the table; the Java system has no such checks.

Four races can leave a published snapshot outside of the table's history:

- A rollback or a fast-forward removed the base after the commit had been prepared. Publishing the prepared snapshot
  would bring back rows that were removed. So a commit checks after publishing that its base still exists, and
  withdraws its snapshot if not. A rollback checks after its last deletion for snapshots without a base. One of the two
  always sees the other.
- Other writers used and expired the snapshot id in the meantime: a commit reads snapshot 7 as the latest one and is
  delayed, others commit 8 to 20 and expire everything up to 15. Nothing prevents the slow writer from publishing
  another 8, but no later snapshot contains its rows. So a commit whose base is missing checks that the next snapshot
  was built on its own.
- A snapshot that will be withdrawn is visible for a moment. A snapshot built on it would be withdrawn too, although
  its writer had already reported success. So nobody builds on a snapshot whose own base is missing
  (``may_be_withdrawn``).
- The table was dropped, and perhaps another one made at its place, after the commit had looked for it. So a commit
  looks again after publishing, and withdraws a snapshot that stands in no table, or in another one.

Invariants: protocol C4 to C6 and C11.
"""

from __future__ import annotations

import logging
from enum import StrEnum
from functools import partial

from paimon_spark.errors import CommitStateUnknown, CorruptFile, MissingFile, words_of
from paimon_spark.file_io import is_far
from paimon_spark.format.paths import snapshot_path
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.holds.lineage import builds_on
from paimon_spark.store.holds.marks import expired_below, expiring_below
from paimon_spark.store.metadata.publish import TRIES
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.parallel import together
from paimon_spark.store.storage.retrying import RetryRules, retry

_log = logging.getLogger(__name__)


class _Base(StrEnum):
    """The state of the snapshot that a commit was built on."""

    PRESENT = "present"
    ROLLED_BACK = "rolled back"
    EXPIRED = "expired"  # or the commit is the first


def may_be_withdrawn(table: Table, latest: Snapshot) -> bool:
    """True if the base of a snapshot that the LATEST hint does not name yet was removed, so that it may be withdrawn.

    A snapshot that the hint names needs no check: its committer has finished.

    Raises:
        CorruptFile, OSError: the metadata of the snapshot or of its base cannot be read.
    """
    store = table.snapshots
    before = store.find(latest.id - 1)
    if before is None:
        return _was_rolled_back(store, latest.id - 1)
    try:
        return not builds_on(table, before, latest)
    except MissingFile:  # one of the two is being removed: the next check decides
        return True


_NO_ANSWER = (OSError, MemoryError, CorruptFile)


def confirm_published(table: Table, base: Snapshot | None, published: Snapshot, is_sure: bool = False) -> bool:
    """True if a snapshot that was just published on top of base is part of the table; otherwise withdraws it.

    A storage call that fails is repeated, so that one lost answer does not leave the outcome open.

    Args:
        base: the snapshot that the commit was built on; None: the commit is the first of the table.
        is_sure: whether the base was not checked because LATEST named it before it was read.

    Raises:
        CommitStateUnknown: the outcome cannot be determined, or the snapshot could not be withdrawn; a tag may keep it.
    """

    def confirmed(_: int) -> bool:
        try:
            return _confirm(table, base, published, is_sure)
        except _NO_ANSWER as error:
            _log.warning("looking at the base of snapshot %d of %s failed: %s", published.id, table.location, error)
            raise

    try:
        return retry(confirmed, RetryRules(TRIES), _NO_ANSWER)
    except _NO_ANSWER as failure:
        raise CommitStateUnknown(
            f"the commit of user {published.commit_user} to the table at {table.location} is published as snapshot "
            f"{published.id}, but whether a rollback or an expiry came before it could not be found out: "
            f"{words_of(failure)}. Nothing was deleted. Look whether the rows are there; if not, run the job again"
        ) from failure


def withdrawn_error(table: Table, withdrawn: Snapshot, why: object) -> CommitStateUnknown:
    """The error of a commit whose snapshot was withdrawn and whose next attempt failed. why: in words, or its error."""
    return CommitStateUnknown(
        f"the commit of user {withdrawn.commit_user} to the table at {table.location} was snapshot {withdrawn.id} "
        f"for a moment, was taken back because of a rollback, an expiry or a drop, and failed then: {why}. As somebody "
        "may have made a tag of it in that moment, nothing was deleted. Run the job again"
    )


def _confirm(table: Table, base: Snapshot | None, published: Snapshot, is_sure: bool) -> bool:
    if table.server is not None:
        return True  # it has compared the base with the latest snapshot
    store = table.snapshots
    looks = (
        lambda: table.is_there,
        partial(_base_state, store, base),
        lambda: base is None or not is_sure or store.is_final(base),
    )
    is_there, now, is_final = together(is_far(table.location), *looks)
    if not is_there:
        return not _withdraw_from_place(table, published)
    if now == _Base.PRESENT and not is_final and base is not None and may_be_withdrawn(table, base):
        now = _Base.ROLLED_BACK
    if now == _Base.ROLLED_BACK:
        _withdraw(table.snapshots, published)
        return False
    if now == _Base.EXPIRED and _is_overtaken(table, published):
        _withdraw_overtaken(table, published)
        return False
    return True


def _base_state(store: SnapshotStore, base: Snapshot | None) -> _Base:
    found = None if base is None else store.find(base.id)
    if base is None or (found is None and not _was_rolled_back(store, base.id)):
        return _Base.EXPIRED
    return _Base.PRESENT if found == base else _Base.ROLLED_BACK


def _was_rolled_back(store: SnapshotStore, snapshot_id: int) -> bool:
    """True if a rollback removed a missing snapshot; an expiry would have removed the older ones too.

    Our expiry may delete snapshots in any order, but its mark stays until all are deleted; Java deletes by age. A mark
    of an expiry that gives up, because a rollback has deleted the snapshots that it counted, is no such mark.
    """
    return expired_below(store) <= snapshot_id and any(number < snapshot_id for number in store.ids())


def _withdraw(store: SnapshotStore, published: Snapshot) -> None:
    """Removes a snapshot whose base was rolled back, after the snapshots that others have built on it.

    Its files are left to the removal of orphan files, because a reader may still use them.

    Raises:
        CommitStateUnknown: the storage failed; the snapshot may still be there, with the rows of the lost state.
    """
    try:
        if store.find(published.id) != published:
            return  # the rollback has removed it, or another writer has the id now
        _log.warning(
            "snapshot %d of %s was put on one that a rollback or a fast-forward took away meanwhile: it is taken back, "
            "and tried again on the new state",
            published.id,
            store.table,
        )
        for number in [n for n in reversed(store.ids()) if n >= published.id]:
            if store.find(published.id) != published:
                break  # looked directly before: others have had these ids since
            if number > published.id:
                _log.warning("snapshot %d of %s, on top of it, is lost too", number, store.table)
            store.file_io.delete(snapshot_path(store.table, number, store.branch))
        store.settle_latest_hint()  # a writer of the official system on top of it has written it
    except (OSError, MemoryError) as error:
        raise CommitStateUnknown(
            f"the commit of user {published.commit_user} to the table at {store.table} was published as snapshot "
            f"{published.id} on top of a snapshot that a rollback or a fast-forward took away meanwhile, and could not "
            f"be taken back: {words_of(error)}. Roll the table back again, then run the job again"
        ) from error


def _withdraw_from_place(table: Table, published: Snapshot) -> bool:
    """Removes a snapshot from a place where its table is not any more.

    Returns:
        False: it is not there: it was committed, and the table was dropped or renamed afterwards.

    Raises:
        CommitStateUnknown: others have built on it, in the table that was made there.
        StorageError: the storage failed; the snapshot may still be there.
    """
    store = table.snapshots
    if store.find(published.id) != published:
        return False
    later = [number for number in store.ids() if number > published.id]
    if later:
        raise CommitStateUnknown(
            f"the commit of user {published.commit_user} to {table.location} was published as snapshot {published.id} "
            "of another table: the one that this job had opened was dropped at the same moment, and another one was "
            f"made there, to which others have committed the snapshots up to {later[-1]} since. Nothing was deleted. "
            f"Roll that table back to a snapshot before {published.id}, and run those jobs again"
        )
    _log.warning(
        "snapshot %d of %s was published while the table was dropped or renamed: it is taken back",
        published.id,
        table.location,
    )
    if store.find(published.id) == published:
        store.file_io.delete(snapshot_path(store.table, published.id, store.branch))
    return True


def _is_overtaken(table: Table, published: Snapshot) -> bool:
    """True if no later snapshot contains a published one whose base is missing.

    Raises:
        CommitStateUnknown: it cannot be determined, because the deciding snapshots have expired too.
    """
    store = table.snapshots
    later = [number for number in store.ids() if number > published.id]
    if not later:
        return False
    following = store.find(published.id + 1)
    if following is not None:
        return not builds_on(table, published, following)
    expiring = expiring_below(store) or 0  # read before the snapshot is looked up: the mark is deleted last
    if expiring <= published.id and store.exists(published.id):
        return True  # an expiry of the official system takes the oldest first
    raise CommitStateUnknown(
        f"the commit of user {published.commit_user} to the table at {table.location} was published as snapshot "
        f"{published.id}, but it took so long that the snapshots up to {later[0] - 1} have expired meanwhile: whether "
        "its rows are in the later ones is not known. Nothing was deleted. Keep more snapshots "
        "(snapshot.num-retained.min), look for the rows, and run the job again if they are missing"
    )


def _withdraw_overtaken(table: Table, published: Snapshot) -> None:
    """Removes a snapshot that no later one contains. Its files are left to the removal of orphan files.

    Raises:
        StorageError: the storage failed; the snapshot does no harm where it is.
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
