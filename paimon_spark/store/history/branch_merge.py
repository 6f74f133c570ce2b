"""Merges a branch into another by adding its files (features 7; Java: FileSystemBranchManager, BranchMergeHandler).

A branch does not record where it began. So a merge needs an append table, and branches that still have all their
snapshots, which only added files. Then every file that is not in the target yet is new.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SchemaError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.format.rules.supported import check_writable, refuse_evolution
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, table_state
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.parallel import map_parallel

_ADDING = (CommitKind.APPEND, CommitKind.ANALYZE)


@dataclass(frozen=True, repr=False)
class MergeBranchResult(Result):
    """The result of merging a branch.

    Attributes:
        snapshot_id: the new snapshot of the target; None: it had all files already.
        files, rows, bytes: the totals of the added data files.
        millis: the duration of the call.
    """

    snapshot_id: int | None
    files: int
    rows: int
    bytes: int
    millis: int


def merge_branch(table: Table, source: str, target: str = MAIN_BRANCH) -> MergeBranchResult:
    """Adds the files of a branch that another one does not have yet, in one snapshot of the latter.

    Args:
        table: opened on any branch.
        source, target: names of branches; either may be "main".

    Raises:
        OptionError: both names are the same.
        SnapshotNotFound: a branch does not exist or has no snapshot, or that of the source is expiring.
        UnsupportedFeature: the table has a primary key, cannot be written, or a branch has done more than add files.
        SchemaError: the branches have different columns, different schemas under one id, or only one tracks its rows.
        CommitConflict: other jobs changed the target concurrently.
        CommitStateUnknown: the storage did not answer; the files may or may not be committed.
        StorageError: the storage failed.
    """
    began = time.monotonic()
    what = f"merging the branch '{source}' of {table.location} into '{target}'"
    if source == target:
        raise OptionError(f"{what}: name two branches")
    theirs, ours = on_branch(table, source), on_branch(table, target)
    for branch in (theirs, ours):
        if branch.schema.primary_keys:
            raise UnsupportedFeature(
                f"{what}: branch '{branch.branch}' has a primary key, and rows of one key may differ in the two. Read "
                "the one branch and append it to the other"
            )
        check_writable(branch.schema, branch.settings)
        refuse_evolution(branch.settings, what)
    if theirs.schema.fields != ours.schema.fields:
        raise SchemaError(f"{what}: their columns differ; give both the same columns first")
    if theirs.schema.tracking_fields != ours.schema.tracking_fields:
        raise SchemaError(
            f"{what}: only one of them has 'row-tracking.enabled'; append the rows of the one to the other"
        )
    new, old = (_whole_history(what, branch) for branch in (theirs, ours))
    with hold_snapshot(theirs.snapshots, new):
        return _merge(what, table_state(theirs, new), ours, old, began)


def _merge(what: str, theirs: TableState, ours: Table, latest: Snapshot, began: float) -> MergeBranchResult:
    """Commits the files of their state that ours lacks; latest is the latest snapshot of ours."""
    now = {entry.identity for entry in table_state(ours, latest).live_entries(None)}
    entries = [entry for entry in theirs.live_entries(None) if entry.identity not in now]
    if not entries:
        return _merged(None, entries, began)
    _check_schemas(what, theirs.table, ours, {entry.file.schema_id for entry in entries})
    # in the target their rows get ids of its own numbering
    added = tuple(entry._replace(file=entry.file._replace(first_row_id=None)) for entry in entries)
    proposal = Proposal(CommitChanges(files=added), None)
    request = CommitRequest(str(uuid.uuid4()), 0, CommitKind.APPEND, None, lambda state: proposal, checks_files=True)
    snapshot = commit_request(ours, request, latest.id).published
    return _merged(snapshot.id, entries, began)


def _whole_history(what: str, branch: Table) -> Snapshot:
    """The latest snapshot of a branch; raises an error unless all its snapshots exist and only add files."""
    latest = branch.snapshots.latest()
    if latest is None:
        raise SnapshotNotFound(f"{what}: branch '{branch.branch}' has no snapshot")
    found = map_parallel(branch.snapshots.find, range(1, latest.id + 1))
    for number, snapshot in enumerate(found, start=1):
        if snapshot is None:
            reason = f"snapshot {number} of branch '{branch.branch}' has expired or never was"
        elif snapshot.commit_kind not in _ADDING:
            reason = f"snapshot {number} of branch '{branch.branch}' is of the kind {snapshot.commit_kind}"
        else:
            continue
        raise UnsupportedFeature(
            f"{what}: {reason}, and only branches can be merged that have all snapshots from 1 on, which all add rows. "
            "Read the one branch and append it to the other"
        )
    return latest


def _check_schemas(what: str, source: Table, target: Table, schema_ids: set[int]) -> None:
    """Checks that the schemas of these ids, by which files are read, are the same in both branches."""
    known = set(target.schemas.ids())
    for number in sorted(schema_ids):
        if number not in known:
            raise SchemaError(f"{what}: files of the source have schema {number}, which the target has not")
        if source.schemas.load(number) != target.schemas.load(number):
            raise SchemaError(f"{what}: files of the source have schema {number}, which is another one in the target")


def _merged(snapshot_id: int | None, entries: Sequence[ManifestEntry], began: float) -> MergeBranchResult:
    return MergeBranchResult(
        snapshot_id=snapshot_id,
        files=len(entries),
        rows=sum(entry.file.row_count for entry in entries),
        bytes=sum(entry.file.file_size for entry in entries),
        millis=millis_since(began),
    )
