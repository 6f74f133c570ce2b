"""Truncates a table, or drops some of its partitions (features 7; Java: truncateTable, truncatePartitions)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate
from paimon_spark.errors import OptionError
from paimon_spark.format.manifest import ManifestEntry
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.store.clean.live_partitions import alive_elsewhere
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, table_state
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.commit_user import new_user
from paimon_spark.store.commit.overwrite import overwritten
from paimon_spark.store.commit.partition_registration import keeper_of, unregister_partitions
from paimon_spark.store.compact.live_buckets import is_chosen
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.metadata.commit_changes import CommitChanges
from paimon_spark.store.metadata.manifest_files import read_manifest_columns
from paimon_spark.store.metadata.partition_filter import PartitionFilter
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import manifest_filter
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.scan.latest_only import refuse_travel


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


@dataclass(frozen=True)
class CommitName:
    """The name under which a commit happens once.

    Attributes:
        user, identifier: the name.
        since: the id of a snapshot (0: none): only newer ones can be the commit.
    """

    user: str
    identifier: int
    since: int


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
        millis=round((time.monotonic() - began) * 1000),
        snapshot_id=snapshot_id,
    )
