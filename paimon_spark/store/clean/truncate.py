"""Truncates a table, or drops some of its partitions (features 7; Java: truncateTable, truncatePartitions)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate
from paimon_spark.arrow.types import from_internal
from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.paths import MAIN_BRANCH
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind, Snapshot
from paimon_spark.store.commit.attempt import (
    CommitRequest,
    Proposal,
    TableState,
    live_partitions,
    overwritten,
    table_state,
)
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.commit_user import CommitName, new_user
from paimon_spark.store.commit.partition_registration import keeper_of, unregister_partitions
from paimon_spark.store.compact.live_buckets import is_chosen
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.history.branches import on_branch
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.partitions import PartitionFilter, describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import manifest_filter
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.storage.files import list_branches


@dataclass(frozen=True, repr=False)
class TruncateResult(Result):
    """The removed data. The files stay in storage until the older snapshots expire.

    Attributes:
        partitions: the names of the partitions that had files, sorted.
        files, bytes, rows: the totals of the data files; rows with equal keys are counted separately.
        millis: the duration of the call.
        snapshot_id: the new snapshot; None: there was nothing to remove.
    """

    partitions: tuple[str, ...]
    files: int
    bytes: int
    rows: int
    millis: int
    snapshot_id: int | None


def truncate_table(table: Table, name: CommitName | None = None) -> TruncateResult:
    """Removes all rows, including concurrently committed ones, in one OVERWRITE snapshot (operation TRUNCATE).

    Args:
        table: the table, with the options of the call.
        name: of the commit; None: a new one.

    Raises:
        OptionError: an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    refuse_travel(table, "truncated")
    return take_away(
        table, lambda state: overwritten(state, CommitChanges(), None), "TRUNCATE", name=name, whole_partitions=False
    )


def drop_partitions(table: Table, where: str | Predicate, name: CommitName | None = None) -> TruncateResult:
    """Removes all rows of the partitions that satisfy a condition, in one OVERWRITE snapshot.

    Args:
        table: the table, with the options of the call.
        where: a condition on partition columns, such as ``dt < '2026-11-01'``.
        name: of the commit; None: a new one.

    Raises:
        PredicateError: the condition does not fit the table.
        OptionError: the condition uses columns that are not partition columns, or an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    refuse_travel(table, "what partitions are dropped from")
    if where is None:
        raise OptionError(f"dropping partitions of {table.location}: no condition is given; truncate() takes all rows")
    chosen = partition_condition(table, where)
    if isinstance(chosen, AlwaysTrue):
        return truncate_table(table, name)
    return take_away(table, lambda state: without_partitions(state, _partitions(state, chosen)), "TRUNCATE", name=name)


def without_partitions(state: TableState, rows: Iterable[bytes]) -> CommitChanges:
    """The changes that delete all live files of the partitions of these rows."""
    return overwritten(state, CommitChanges(), PartitionFilter.of_rows(state.table.schema.partition_fields, rows))


def take_away(
    table: Table,
    changes: Callable[[TableState], CommitChanges],
    operation: str | None,
    dry_run: bool = False,
    name: CommitName | None = None,
    whole_partitions: bool = True,
) -> TruncateResult:
    """Commits one OVERWRITE snapshot that only deletes, or none if there is nothing to delete.

    Args:
        table: the table, with the options of the call.
        changes: returns the deletions; called in every attempt, so that it includes concurrently added files.
        operation: the operation that the snapshot records.
        dry_run: True only reports what would be deleted.
        name: of the commit; None: a new one.
        whole_partitions: whether the partitions go with their files from a metastore.

    Raises:
        OptionError: an option chooses a snapshot.
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    latest = table.snapshots.latest()
    if latest is None:
        return _metrics(table, (), began, None)
    if dry_run:
        return _metrics(table, changes(table_state(table, latest)).files, began, None)

    def propose(state: TableState) -> Proposal[None]:
        gone = changes(state)
        return Proposal(None if gone.is_empty else gone, None)

    named = name or CommitName(new_user(table), BATCH_COMMIT_IDENTIFIER, latest.id)
    request = CommitRequest(named.user, named.identifier, CommitKind.OVERWRITE, operation, propose, True)
    made = commit_request(table, request, named.since)
    gone = None if made.proposal is None else made.proposal.changes
    files = () if gone is None else gone.files
    if whole_partitions and files and keeper_of(table) is not None:
        unregister_partitions(table, {entry.partition for entry in files} - alive_elsewhere(table))
    return _metrics(table, files, began, made.snapshot_id)


def _partitions(state: TableState, condition: Predicate) -> list[bytes]:
    """The rows of the partitions named in manifests that satisfy the condition."""
    table = state.table
    may_hold = manifest_filter(condition, table.schema.partition_fields)
    metas = [meta for meta in state.manifests if may_hold is None or may_hold(meta.partition_stats)]
    columns = read_manifest_columns(table.file_io, table.location, metas)
    return [row for row in columns.partitions if is_chosen(table, condition, row)]


def _metrics(table: Table, files: Sequence[ManifestEntry], began: float, snapshot_id: int | None) -> TruncateResult:
    return TruncateResult(
        partitions=tuple(sorted(describe_partition(table, row) for row in {entry.partition for entry in files})),
        files=len(files),
        bytes=sum(entry.file.file_size for entry in files),
        rows=sum(entry.file.row_count for entry in files),
        millis=millis_since(began),
        snapshot_id=snapshot_id,
    )


def alive_elsewhere(table: Table) -> set[bytes]:
    """The partitions that have files in other branches of the table (Java: removePartitionsExistsInOtherBranches)."""
    others = {MAIN_BRANCH, *list_branches(table.file_io, table.location)} - {table.branch}
    return {row for name in others for row in live_partitions(on_branch(table, name))}


def partition_rows(table: Table, snapshot: Snapshot | None) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) that the manifests of a snapshot name, some of which may be empty."""
    if snapshot is None:
        return []
    metas = table_state(table, snapshot).manifests
    return sorted(set(read_manifest_columns(table.file_io, table.location, metas).partitions))


def partition_columns(table: Table, rows: Sequence[bytes]) -> list[pa.Array]:
    """The values of the partition columns, a row for each partition."""
    values = [decode_arity_row(row, table.schema.partition_types) for row in rows]
    types = table.schema.partition_types
    return [from_internal([value[at] for value in values], data_type) for at, data_type in enumerate(types)]


def drop_partition_rows(table: Table, rows: Sequence[bytes], name: CommitName | None) -> TruncateResult:
    """Removes all rows of some partitions, in one OVERWRITE snapshot, or does nothing if they have none.

    Args:
        name: of the commit; None: a new one.

    Raises:
        UnsupportedFeature: the table cannot be written.
        CommitConflict, RetriesExhausted: other jobs committed concurrently; nothing was committed.
        CommitStateUnknown: the store did not answer.
    """
    return take_away(table, lambda state: without_partitions(state, rows), "TRUNCATE", name=name)
