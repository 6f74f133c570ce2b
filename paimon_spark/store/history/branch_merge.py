"""Adding the files of one branch to another (features 7; Java: FileSystemBranchManager, BranchMergeHandler).

No branch remembers where it began. So only tables whose rows have no key, and branches of which every snapshot since
the first is there and only added files, can be merged: whatever is not in the target yet is new to it then.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.errors import OptionError, SchemaError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, table_state
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.holds.tag_holds import hold_snapshot
from paimon_spark.store.metadata.commit_changes import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.storage.parallel import map_parallel

_ADDING = (CommitKind.APPEND, CommitKind.ANALYZE)


@dataclass(frozen=True, repr=False)
class MergeBranchResult(Result):
    """What came into the target.

    Attributes:
        snapshot_id: the new snapshot of the target; None: it had all files already.
        files, rows, bytes: of the data files that came.
        millis: wall time.
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
        source, target: names of branches, "main" one of them maybe.

    Raises:
        OptionError: both are the same.
        SnapshotNotFound: there is no such branch, it has no snapshot, or that of the source expires just now.
        UnsupportedFeature: the table has a primary key, cannot be written, or a branch has done more than add files.
        SchemaError: the branches have other columns, or other schemas under one number.
        Others as TableCommit.append.
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
        check_writable(branch.schema, branch.options)
    if theirs.schema.fields != ours.schema.fields:
        raise SchemaError(f"{what}: their columns differ; give both the same columns first")
    new, old = (_whole_history(what, branch) for branch in (theirs, ours))
    with hold_snapshot(theirs.snapshots, new):
        return _merge(what, table_state(theirs, new), ours, old, began)


def _merge(what: str, theirs: TableState, ours: Table, latest: Snapshot, began: float) -> MergeBranchResult:
    """latest: of ours."""
    now = {entry.identity for entry in table_state(ours, latest).live_entries(None)}
    entries = [entry for entry in theirs.live_entries(None) if entry.identity not in now]
    if not entries:
        return _merged(None, entries, began)
    _check_schemas(what, theirs.table, ours, {entry.file.schema_id for entry in entries})
    proposal = Proposal(CommitChanges(files=tuple(entries)), None)
    request = CommitRequest(str(uuid.uuid4()), 0, CommitKind.APPEND, None, lambda state: proposal, checks_files=True)
    snapshot = commit_request(ours, request, latest.id).published
    return _merged(snapshot.id, entries, began)


def _whole_history(what: str, branch: Table) -> Snapshot:
    """The latest snapshot of a branch, all of whose snapshots are there and only add files."""
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
    """A file is read by the number of its schema, which must be the same in both branches."""
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
        millis=round((time.monotonic() - began) * 1000),
    )
