"""Going back by a new snapshot that holds an older state (Java: RollbackToAsLatestProcedure, rollbackToAsLatest).

Nothing is deleted, and whoever commits meanwhile finds a new snapshot as after any other overwrite: also writers of the
official system, which do not notice that a rollback has taken snapshots away.

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
from paimon_spark.store.history.rollback import rollback_target
from paimon_spark.store.history.tags import keep_as_tag
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.commit_changes import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result

_log = logging.getLogger(__name__)

_PREFIX = "rollback-to-as-latest-"


@dataclass(frozen=True, repr=False)
class RollbackToAsLatestResult(Result):
    """What was made.

    Attributes:
        previous_snapshot_id: the latest before, which is still there.
        rolled_back_snapshot_id: whose state the table has again.
        current_snapshot_id: the new snapshot.
        tag: keeps the old state, so that an expiry of the official system leaves its files alone; delete it when the
            snapshots before the new one have expired.
        millis: wall time.
    """

    previous_snapshot_id: int
    rolled_back_snapshot_id: int
    current_snapshot_id: int
    tag: str
    millis: int


def rollback_to_as_latest(
    table: Table, version: int | str | None = None, snapshot: int | None = None, tag: str | None = None
) -> RollbackToAsLatestResult:
    """Makes an older state the latest snapshot again; later snapshots stay. Give one of the three targets.

    Args:
        table: the branch that goes back.
        version, snapshot, tag: as for rollback.

    Raises:
        OptionError: not just one target is given.
        SnapshotNotFound: there is no such target, or it is expiring just now.
        UnsupportedFeature: the table cannot be written.
        Others as TableCommit.append.
    """
    began = time.monotonic()
    check_writable(table.schema, table.options)
    target, name = rollback_target(table, version, snapshot, tag)
    latest = table.snapshots.latest()
    if latest is None:
        raise SnapshotNotFound(f"rolling back {table.location}: the table has no snapshot")
    with hold_snapshot(table.snapshots, target), ExitStack() as undo:
        if name is None:
            name = f"{_PREFIX}{target.id}-{uuid.uuid4()}"
            keep_as_tag(table, name, target, None)
            undo.callback(table.file_io.delete, tag_path(table.location, name, table.branch))
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
    millis = round((time.monotonic() - began) * 1000)
    return RollbackToAsLatestResult(made.id - 1, target.id, made.id, name, millis)


def _changes(state: TableState, target: Snapshot) -> CommitChanges:
    """From the latest state to the target, by files."""
    then = table_state(state.table, target)
    now, wanted = state.live_entries(None), then.live_entries(None)
    known, back = {e.identity for e in now}, {e.identity for e in wanted}
    return CommitChanges(
        files=(
            *(replace(e, kind=FileKind.DELETE) for e in now if e.identity not in back),
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
