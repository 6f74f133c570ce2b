"""One request becomes one snapshot, or none: attempt by attempt, until nobody is faster (Java: FileStoreCommitImpl).

Invariants: protocol C1 to C3, C10 and C11.

Also cleans up after a failed commit: deletes its files, unless its snapshot may exist. Invariants: protocol C7 and C8.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

from paimon_spark.errors import CommitConflict, CommitStateUnknown, PaimonError, RetriesExhausted, TableNotFound
from paimon_spark.file_io import is_far
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.store.commit.attempt import (
    CommitRequest,
    Detail,
    Proposal,
    TableState,
    attempt,
    live_file_counts,
    live_partitions,
    overwritten,
    table_state,
)
from paimon_spark.store.commit.base import confirm_published, may_be_withdrawn, withdrawn_error
from paimon_spark.store.commit.chain_branches import check_chains, outdated
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.history import CommitHistory, is_committed
from paimon_spark.store.commit.partition_registration import keeper_of, register_partitions
from paimon_spark.store.iceberg.after import after_commit
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.partitions import PartitionFilter
from paimon_spark.store.metadata.publish import write_hint
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import together
from paimon_spark.store.storage.retrying import RetryRules, retry

_log = logging.getLogger(__name__)


class _LostRace(Exception):
    """Another writer published the next snapshot first, or the latest one was taken away."""


class _InDoubt(_LostRace):
    """The latest snapshot may be taken away again. above: the one that it stands above of, though not on it."""

    def __init__(self, latest: int, above: int) -> None:
        self.latest, self.above = latest, above


def commit_retries(settings: TableSettings) -> RetryRules:
    """How often a commit is tried that others were faster than, by the options commit.*."""
    timeout = settings.commits.timeout
    return RetryRules(
        tries=settings.commits.max_retries + 1,
        shortest=settings.commits.min_retry_wait / 1000,
        longest=settings.commits.max_retry_wait / 1000,
        seconds=None if timeout is None else timeout / 1000,
    )


@dataclass(frozen=True)
class Committed(Generic[Detail]):
    """What became of a request.

    Attributes:
        snapshot: that holds it; None: there was nothing to commit, or no more.
        attempts: how many it took: 0 when an earlier try of the same commit had made it.
        proposal: the last one; None: an earlier try of the same commit had made the snapshot before this one proposed
            anything, and nobody knows any more what it holds.
        found: whether the snapshot was there: made by an earlier try of the same commit, or by an attempt of this one
            whose answer was lost.
    """

    snapshot: Snapshot | None
    attempts: int
    proposal: Proposal[Detail] | None
    found: bool = False

    @property
    def snapshot_id(self) -> int | None:
        """The id of the snapshot, if there is one."""
        return None if self.snapshot is None else self.snapshot.id

    @property
    def published(self) -> Snapshot:
        """The snapshot of a request that always proposes something."""
        assert self.snapshot is not None, "the request proposes changes whatever the state"
        return self.snapshot


def commit_request(
    table: Table, request: CommitRequest[Detail], since: int | None, retries: RetryRules | None = None
) -> Committed[Detail]:
    """Tries until the request is a snapshot, waiting longer each time, with jitter.

    Args:
        table: with the options of the write.
        request: what to commit.
        since: as for TableCommit.
        retries: how often; None: as the options say.

    Raises:
        As TableCommit.append.
    """
    attempts = _Attempts(table, request, CommitHistory(table.snapshots, since))
    try:
        made = retry(attempts.attempt, retries or commit_retries(table.settings), _LostRace)
    except (_LostRace, PaimonError, OSError) as error:
        failed = _exhausted(table, request, error, attempts.tried) if isinstance(error, _LostRace) else error
        if attempts.withdrawn is not None:
            raise withdrawn_error(table, attempts.withdrawn, failed) from failed
        if failed is error:
            raise
        raise failed from None
    if made.snapshot is None and attempts.withdrawn is not None:
        raise withdrawn_error(table, attempts.withdrawn, "nothing of it was left to commit")
    _tell_partitions(table, made)
    if made.snapshot is not None:
        changes = None if made.found or made.proposal is None else made.proposal.changes
        known = None if changes is None or changes.base is not None else (changes.files, changes.index)
        after_commit(table, made.snapshot, known)
        if changes is not None:
            _take_outdated_away(table, request.kind, changes)
    return made


def _take_outdated_away(table: Table, kind: CommitKind, changes: CommitChanges) -> None:
    """Takes away whole partitions of a chain table, of which the branch of changes was overwritten."""
    found = outdated(table, kind, changes)
    if found is None:
        return
    whole, rewritten = found
    partitions = PartitionFilter.of_rows(table.schema.partition_fields, rewritten)
    latest = whole.snapshots.latest()
    if latest is None:
        return

    def propose(state: TableState) -> Proposal[None]:
        gone = overwritten(state, CommitChanges(), partitions)
        return Proposal(None if gone.is_empty else gone, None)

    user, identifier = new_user(whole), BATCH_COMMIT_IDENTIFIER
    request = CommitRequest(
        user, identifier, CommitKind.OVERWRITE, "TRUNCATE", propose, checks_files=True, rewritten=rewritten
    )
    try:
        commit_request(whole, request, latest.id)
    except PaimonError as error:
        raise CommitConflict(
            f"overwriting the branch '{table.branch}' of the chain table {table.location}: the overwrite is committed, "
            f"but the same partitions of the branch '{whole.branch}' could not be taken away: {error}"
        ) from error


def _tell_partitions(table: Table, made: Committed[Any]) -> None:
    """Java tells of what an earlier try has committed, too."""
    if made.snapshot is None or keeper_of(table) is None:
        return
    if made.proposal is not None and made.proposal.changes is not None:
        entries = made.proposal.changes.files
        register_partitions(table, (entry.partition for entry in entries if entry.kind == FileKind.ADD))
    else:
        lists = (made.snapshot.delta_manifest_list, made.snapshot.delta_manifest_list_size)
        metas = read_manifest_list(table.file_io, table.location, *lists)
        read = read_manifests(table.file_io, table.location, metas)
        register_partitions(table, (entry.partition for entry in read if entry.kind == FileKind.ADD))


@dataclass
class _Attempts(Generic[Detail]):
    """The attempts of one commit.

    Attributes:
        history: of the table, as far as it was looked at.
        tried: how many attempts there were.
        proposal: the last one.
        overwritten: whether others have overwritten something since.
        withdrawn: a snapshot of this commit that was published and taken back.
    """

    table: Table
    request: CommitRequest[Detail]
    history: CommitHistory
    tried: int = 0
    proposal: Proposal[Detail] | None = None
    overwritten: bool = False
    withdrawn: Snapshot | None = None

    def attempt(self, number: int) -> Committed[Detail]:
        """One attempt; see commit_request.

        Raises:
            _LostRace: the next attempt may be luckier.
        """
        table, history, self.tried = self.table, self.history, number
        found = history.look()
        done = next((snapshot for snapshot in found if self.request.names(snapshot)), None)
        if done in (None, history.latest) and not history.is_sure:
            _check_ground(table, history)
        if done is not None:
            return Committed(done, number - 1, self.proposal, found=True)
        looks = (partial(table_state, table, history.latest), lambda: table.is_there)
        state, is_there = together(is_far(table.location), *looks)
        _check_still_there(table, state, is_there)
        self.overwritten = self.overwritten or any(s.commit_kind == CommitKind.OVERWRITE for s in found)
        proposal = self.proposal = self.request.propose(state)
        if proposal.changes is None:
            return Committed(None, number, proposal)
        here, of_request = partial(live_file_counts, table, state), self.request
        check_chains(table, of_request.kind, proposal.changes, here, live_partitions, of_request.rewritten)
        checks = self.request.checks_files or _may_be_rescaled(state, self.overwritten)
        snapshot = attempt(state, replace(self.request, checks_files=checks), proposal.changes, number == 1)
        if snapshot is None:
            raise _LostRace
        if not confirm_published(table, state.snapshot, snapshot, history.is_sure):
            self.withdrawn = snapshot
            history.forget()
            raise _LostRace
        table.snapshots.note_published(snapshot)
        write_hint(table.snapshots, snapshot.id)
        return Committed(snapshot, number, proposal)


def _check_still_there(table: Table, state: TableState, is_there: bool) -> None:
    """Nothing is committed to a place without a table, or to another table that was made there since (protocol C11)."""
    if table.schema.id in state.schema_ids and is_there:
        return
    others = ", and another table was made there" if state.schema_ids else ""
    raise TableNotFound(
        f"the commit to {table.location}: the table is not there any more; it was dropped or renamed since this job "
        f"opened it{others}. Nothing was committed; run the job again on the table of today"
    )


def _check_ground(table: Table, history: CommitHistory) -> None:
    """Nothing is put on a snapshot that its committer may take back, and no commit is done that is such a one."""
    latest = history.latest
    if latest is not None and may_be_withdrawn(table, latest):
        history.forget()
        raise _InDoubt(latest.id, max((n for n in table.snapshots.ids() if n < latest.id), default=0))


def _exhausted(table: Table, request: CommitRequest[Any], lost: _LostRace, tried: int) -> RetriesExhausted:
    begin = f"the commit of user {request.user} to {table.location}"
    if isinstance(lost, _InDoubt):
        return RetriesExhausted(
            f"{begin} looked {tried} times, and each time the latest snapshot {lost.latest} was not built on the one "
            f"before, which a rollback or a fast-forward has taken away or replaced; nothing was committed. The job "
            f"that made it is slow, or ended before it could take it back: look at it, roll the table back to snapshot "
            f"{lost.above}, then run this job again"
        )
    return RetriesExhausted(
        f"{begin} lost the race against other writers {tried} times; nothing was committed. Run the job again when "
        "fewer write to the table, or raise commit.max-retries"
    )


def _may_be_rescaled(state: TableState, overwritten: bool) -> bool:
    """True if partitions may have other numbers of buckets than they were written for.

    Partitions of a table that postpones buckets have a number each. Else the numbers can only differ if the option was
    ever changed, or an overwrite has come in between, as that of a rescale.
    """
    table = state.table
    if table.bucket_mode == BucketMode.POSTPONE_MODE:
        return True
    if table.bucket_mode != BucketMode.HASH_FIXED:
        return False
    known = {TableSettings(table.schemas.load(i).options).bucket for i in state.schema_ids}
    return overwritten or known != {table.settings.bucket}


@contextmanager
def discarding_if_failed(
    table: Table, request: CommitRequest[Any], since: int, created: Callable[[], Iterable[str]]
) -> Iterator[None]:
    """Deletes the files of the commit in the block if it certainly failed; the error is raised again.

    After CommitStateUnknown they are kept, because the snapshot may exist.

    Args:
        table: the table.
        request: the commit.
        since: the latest snapshot id when the commit user was drawn: only later snapshots can be this commit.
        created: returns the paths of the files of this commit; called after the failure.
    """
    try:
        yield
    except CommitStateUnknown:
        raise
    except (PaimonError, OSError):
        if not _may_be_committed(table, request, since):
            discard(table.file_io, created())
        raise


def _may_be_committed(table: Table, request: CommitRequest[Any], since: int) -> bool:
    """When in doubt the files stay: orphans harm nobody."""
    try:
        return is_committed(table.snapshots, since, request.names)
    except (PaimonError, OSError) as error:
        _log.warning("a failed commit to %s leaves its files behind: %s", table.location, error)
        return True
