"""Merges all manifests of a table on demand (features 7; Java: FileStoreCommitImpl.compactManifest)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from paimon_spark.format.manifest import ManifestFileMeta
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.manifest_merge import plan_full_merge
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_bytes
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result, millis_since


@dataclass(frozen=True, repr=False)
class CompactManifestResult(Result):
    """The result of merging the manifests.

    Attributes:
        snapshot_id: the new snapshot; None: there was nothing to merge.
        manifests_before, manifests_after: the numbers of manifests of the live files.
        manifests_merged: how many of these are merged with others, or would be.
        bytes_before, bytes_after: their bytes.
        millis: the duration of the call.
    """

    snapshot_id: int | None
    manifests_before: int
    manifests_after: int
    bytes_before: int
    bytes_after: int
    millis: int
    manifests_merged: int = 0


def compact_manifests(table: Table, dry_run: bool = False) -> CompactManifestResult:
    """Rewrites the manifests so that none has deletions and at most one is small, in one COMPACT snapshot.

    The rows, the schema and the statistics of the table do not change. Manifests that have the size of
    `manifest.target-file-size` and name only live files are kept.

    Args:
        dry_run: nothing is written.

    Raises:
        CorruptFile: a manifest cannot be read; nothing was committed.
        UnsupportedFeature: the table cannot be written.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    latest = table.snapshots.latest()
    before = [] if latest is None else read_data_manifests(table.file_io, table.location, latest)
    read = partial(read_manifest_bytes, table.file_io, table.location)
    fields = table.schema.partition_fields
    plan = None if latest is None else plan_full_merge(before, table.settings, read, fields)
    if latest is None or plan is None or dry_run:
        return _metrics(None, before, before, began, 0 if plan is None else len(plan.opened))
    request = CommitRequest(
        user=new_user(table),
        identifier=BATCH_COMMIT_IDENTIFIER,
        kind=CommitKind.COMPACT,
        operation=None,
        propose=_no_changes,
        checks_files=False,
        rewrites_manifests=True,
    )
    snapshot = commit_request(table, request, latest.id).published
    after = read_data_manifests(table.file_io, table.location, snapshot)
    return _metrics(snapshot.id, before, after, began, len(plan.opened))


def _no_changes(state: TableState) -> Proposal[None]:
    return Proposal(CommitChanges(), None)


def _metrics(
    snapshot_id: int | None, before: list[ManifestFileMeta], after: list[ManifestFileMeta], began: float, merged: int
) -> CompactManifestResult:
    return CompactManifestResult(
        snapshot_id=snapshot_id,
        manifests_before=len(before),
        manifests_after=len(after),
        bytes_before=sum(meta.file_size for meta in before),
        bytes_after=sum(meta.file_size for meta in after),
        millis=millis_since(began),
        manifests_merged=merged,
    )
