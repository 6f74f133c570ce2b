"""Restores an older state as a new snapshot (Java: RollbackToAsLatestProcedure, rollbackToAsLatest).

Nothing is deleted, and a concurrent commit finds a new snapshot as after any other overwrite. This is safe with writers
of the official system too, which do not detect the deletion of snapshots by a rollback.

Invariant: protocol R6.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace

from paimon_spark.errors import CommitStateUnknown, SnapshotNotFound
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.format.paths import tag_path
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, table_state
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.expire.used import mark_revival
from paimon_spark.store.history.rollback import check_indexes, rollback_target
from paimon_spark.store.history.tags import keep_as_tag
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since

_log = logging.getLogger(__name__)

_PREFIX = "rollback-to-as-latest-"


@dataclass(frozen=True, repr=False)
class RollbackToAsLatestResult(Result):
    """The result of restoring an older state.

    Attributes:
        previous_snapshot_id: the latest snapshot before, which still exists.
        rolled_back_snapshot_id: the snapshot whose state the table has again.
        current_snapshot_id: the new snapshot.
        tag: a new tag that keeps the old state, so that an expiry of the official system does not delete its files;
            delete it when the snapshots before the new one have expired.
        millis: the duration of the call.
    """

    previous_snapshot_id: int
    rolled_back_snapshot_id: int
    current_snapshot_id: int
    tag: str
    millis: int


def rollback_to_as_latest(
    table: Table, version: int | str | None = None, snapshot: int | None = None, tag: str | None = None
) -> RollbackToAsLatestResult:
    """Commits an older state as the latest snapshot; later snapshots are kept. Give one of the three targets.

    Args:
        table: the table, opened on the branch to roll back.
        version: a snapshot id, as a number or text of digits, else the name of a tag.
        snapshot: the id of a snapshot that exists, or that a tag keeps.
        tag: the name of a tag.

    Raises:
        OptionError: none or several targets are given.
        SnapshotNotFound: the target does not exist or is expiring.
        UnsupportedFeature: the table cannot be written, or an index of the state may have old values.
        CommitConflict: other jobs changed the table concurrently.
        CommitStateUnknown: the storage did not answer; the snapshot may or may not exist.
        StorageError: the storage failed.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    target, name = rollback_target(table, version, snapshot, tag)
    check_indexes(table, target)
    latest = table.snapshots.latest()
    if latest is None:
        raise SnapshotNotFound(f"rolling back {table.location}: the table has no snapshot")
    with hold_snapshot(table.snapshots, target), ExitStack() as undo:
        if name is None:
            name = f"{_PREFIX}{target.id}-{uuid.uuid4()}"
            keep_as_tag(table, name, target, None)
            undo.callback(table.file_io.delete, tag_path(table.location, name, table.branch))
        undo.callback(table.file_io.delete, mark_revival(table.snapshots, latest.id))
        request = CommitRequest(
            user=f"{_PREFIX}{uuid.uuid4()}",
            identifier=BATCH_COMMIT_IDENTIFIER,
            kind=CommitKind.OVERWRITE,
            operation=None,
            propose=lambda state: Proposal(_changes(state, target), None),
            checks_files=True,
            brings_back=True,
        )
        try:
            made = commit_request(table, request, latest.id).published
        except CommitStateUnknown:
            undo.pop_all()
            raise
        undo.pop_all()
    _log.info("rolled %s back to snapshot %d, as snapshot %d", table.location, target.id, made.id)
    millis = millis_since(began)
    return RollbackToAsLatestResult(made.id - 1, target.id, made.id, name, millis)


def _changes(state: TableState, target: Snapshot) -> CommitChanges:
    """The changes of files that turn the latest state into the target."""
    then = table_state(state.table, target)
    now, wanted = state.live_entries(None), then.live_entries(None)
    known, back = {e.identity for e in now}, {e.identity for e in wanted}
    return CommitChanges(
        files=(
            *(e._replace(kind=FileKind.DELETE) for e in now if e.identity not in back),
            *(e for e in wanted if e.identity not in known),
        ),
        index=_index_changes(state.index_entries, then.index_entries),
    )


def _index_changes(
    now: Iterable[IndexManifestEntry], wanted: Iterable[IndexManifestEntry]
) -> tuple[IndexManifestEntry, ...]:
    known, back = {e.file_name: e for e in now}, {e.file_name: e for e in wanted}
    return (
        *(replace(e, kind=FileKind.DELETE) for name, e in known.items() if name not in back),
        *(e for name, e in back.items() if name not in known),
    )
