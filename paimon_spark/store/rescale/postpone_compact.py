"""Compacts postponed files: moves their rows into the buckets of their partitions (features 2.2).

One COMPACT commit deletes the postponed files and adds the new ones, so a row is moved exactly once or not at all. The
new files are of level 0; a normal compaction then compacts the buckets (Java: SparkPostponeCompactProcedure).
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CommitConflict, RetriesExhausted, TableNotFound, UnsupportedFeature
from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import POSTPONE_BUCKET
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState, table_state
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.compact.live_buckets import is_chosen
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.messages import CommitMessage, compacted
from paimon_spark.store.metadata.partitions import PartitionFilter, describe_partition
from paimon_spark.store.metadata.postponed import in_write_order
from paimon_spark.store.metadata.schemas import check_rewritable
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.rescale.postpone_placement import (
    MOVE_THREADS,
    Move,
    delete_created,
    plan_moves,
    run_moves,
    settled_numbers,
)
from paimon_spark.store.write.write_plan import WritePlan, plan_write

_log = logging.getLogger(__name__)

TRIES = 3  # plans on new states of the table if other jobs replace the files to move


@dataclass(frozen=True)
class PostponeCompaction:
    """The plan of a compaction of postponed files; picklable.

    Attributes:
        plan: the plan of the write.
        numbers: canonical partition -> its number of buckets.
        files: canonical partition -> its postponed files, oldest first.
    """

    plan: WritePlan
    numbers: dict[Partition, int]
    files: dict[Partition, tuple[DataFileMeta, ...]]

    def moves(self) -> list[Move]:
        """The moves, one per partition, the largest first. They are not divided: reading Avro is the main cost."""
        sizes = {row: sum(f.file_size for f in files) for row, files in self.files.items()}
        rows = sorted(sizes, key=lambda row: -sizes[row])
        return [move for row in rows for move in plan_moves(row, self.files[row], self.numbers[row], parallelism=1)]


@dataclass(frozen=True, repr=False)
class CompactPostponedResult(Result):
    """The result of moving postponed rows.

    Attributes:
        snapshot_ids: the new COMPACT snapshots, in order; empty if there was nothing to move.
        files, rows: the postponed files that were removed, and their rows.
        left: the names of partitions that were left unchanged, because other jobs replaced their files.
    """

    snapshot_ids: tuple[int, ...] = ()
    files: int = 0
    rows: int = 0
    left: tuple[str, ...] = ()


def plan_postpone_compaction(table: Table, where: str | Predicate | None = None) -> PostponeCompaction:
    """Plans the moves of the postponed files in the latest snapshot; no data file is read.

    Args:
        table: the table, with the options of the call.
        where: a condition on partition columns; None: all partitions.

    Raises:
        PredicateError: the condition does not fit.
        OptionError: the condition does not fit, or an option postpone.* is not positive.
        UnsupportedFeature: the table does not postpone buckets, or cannot be written.
        TableChanged: the table was opened before its columns were changed.
    """
    if table.bucket_mode != BucketMode.POSTPONE_MODE:
        raise UnsupportedFeature(
            f"moving postponed files of {table.location}: its option 'bucket' is {table.settings.get('bucket', '-1')}, "
            "and only tables with 'bucket' = -2 have such files; use the compaction of the table"
        )
    check_writable(table.schema, table.settings)
    predicate = partition_condition(table, where)
    plan = plan_write(table)
    state = table_state(table, table.snapshots.load(plan.since) if plan.since else None)
    files = {row: tuple(in_write_order(found)) for row, found in _postponed(state, predicate).items()}
    ids = (file.schema_id for found in files.values() for file in found)
    check_rewritable(table.location, table.schema, table.schemas, ids)
    return PostponeCompaction(plan, settled_numbers(table, plan, files), files)


def commit_postpone_compaction(
    table: Table, commit_user: str, compaction: PostponeCompaction, messages: Sequence[CommitMessage]
) -> CompactPostponedResult:
    """Makes the moved rows visible, in one COMPACT snapshot that also deletes the postponed files.

    Partitions whose postponed files or number of buckets other jobs have changed concurrently are left out; their new
    files are deleted.

    Args:
        table: the table, with the options of the call.
        commit_user: the commit user of the job.
        compaction: the plan.
        messages: the messages of all its moves.

    Raises:
        CommitConflict: all partitions were left out; nothing was committed, and the files are deleted.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed, and the files are deleted.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    every = [*_gone(compaction), *(_as_compacted(message) for message in messages)]

    def propose(state: TableState) -> Proposal[Set[Partition]]:
        left = _changed(state, compaction)
        kept = [m for m in every if _row(table, m.partition) not in left]
        if not kept:
            raise CommitConflict(
                f"moving the postponed files of {table.location}: others have replaced all of them meanwhile"
            )
        return Proposal(compacted(kept), left)

    # propose compares the live files with the plan; a second check would read all of them again.
    request = CommitRequest(commit_user, BATCH_COMMIT_IDENTIFIER, CommitKind.COMPACT, None, propose, checks_files=False)
    try:
        made = commit_request(table, request, compaction.plan.since)
    except (CommitConflict, RetriesExhausted, TableNotFound):
        delete_created(table, messages)
        raise
    left: Set[Partition] = set() if made.proposal is None else made.proposal.detail
    delete_created(table, [m for m in messages if _row(table, m.partition) in left])
    gone = [file for row, files in compaction.files.items() if row not in left for file in files]
    words = tuple(describe_partition(table, row) for row in sorted(left))
    return CompactPostponedResult((made.published.id,), len(gone), sum(file.row_count for file in gone), words)


def compact_postponed(
    table: Table,
    where: str | Predicate | None = None,
    run: Callable[[PostponeCompaction, str], list[CommitMessage]] | None = None,
) -> CompactPostponedResult:
    """Moves all postponed rows into buckets and commits them; partitions that other jobs change are planned again.

    Args:
        table: the table, with the options of the call.
        where: a condition on partition columns; None: all partitions.
        run: runs the moves of a plan for a commit user, all or none; None: in this process.

    Raises:
        PredicateError: the condition does not fit.
        OptionError: the condition does not fit, or an option postpone.* is not positive.
        UnsupportedFeature: the table does not postpone buckets, or cannot be written.
        TableChanged: the table was opened before its columns were changed.
        CommitConflict: other jobs changed all partitions in every try; nothing was committed in the last one.
        RetriesExhausted: other writers were faster in every attempt.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    result = CompactPostponedResult()
    for trial in range(TRIES):
        compaction = plan_postpone_compaction(table, where)
        if not compaction.files:
            return result
        user = str(uuid.uuid4())
        messages = run(compaction, user) if run is not None else _run_here(table, compaction, user)
        try:
            done = commit_postpone_compaction(table, user, compaction, messages)
        except CommitConflict as error:
            if trial == TRIES - 1:
                raise
            _log.warning("%s; planning again", error)
            continue
        ids, files, rows = result.snapshot_ids + done.snapshot_ids, result.files + done.files, result.rows + done.rows
        result = CompactPostponedResult(ids, files, rows, done.left)
        if not done.left:
            break
        _log.warning("the postponed files of %s of %s were replaced meanwhile", ", ".join(done.left), table.location)
    return result


def _run_here(table: Table, compaction: PostponeCompaction, user: str) -> list[CommitMessage]:
    workers = min(MOVE_THREADS, os.cpu_count() or 1)
    return run_moves(table, compaction.moves(), user, compaction.plan, workers)


def _postponed(state: TableState, predicate: Predicate) -> dict[Partition, list[DataFileMeta]]:
    """The live postponed files by canonical partition."""
    found: dict[Partition, list[DataFileMeta]] = {}
    for entry in state.live_entries(None):
        if entry.bucket == POSTPONE_BUCKET:
            found.setdefault(_row(state.table, entry.partition), []).append(entry.file)
    return {row: files for row, files in found.items() if is_chosen(state.table, predicate, row)}


def _changed(state: TableState, compaction: PostponeCompaction) -> set[Partition]:
    """The partitions that differ from the plan: a file was removed, or the number of buckets has changed."""
    fields = state.table.schema.partition_fields
    live: dict[Partition, set[str]] = {}
    changed: set[Partition] = set()
    for entry in state.live_entries(PartitionFilter.of_rows(fields, compaction.files)):
        row = _row(state.table, entry.partition)
        if entry.bucket == POSTPONE_BUCKET:
            live.setdefault(row, set()).add(entry.file.file_name)
        elif entry.total_buckets > 0 and entry.total_buckets != compaction.numbers[row]:
            changed.add(row)
    for row, files in compaction.files.items():
        if not {f.file_name for f in files} <= live.get(row, set()):
            changed.add(row)
    return changed


def _gone(compaction: PostponeCompaction) -> Iterable[CommitMessage]:
    for row, files in compaction.files.items():
        yield CommitMessage(row, POSTPONE_BUCKET, POSTPONE_BUCKET, compact_before=files)


def _as_compacted(message: CommitMessage) -> CommitMessage:
    """The message of a writer, turned into one of a compaction."""
    return CommitMessage(
        message.partition,
        message.bucket,
        message.total_buckets,
        compact_after=message.new_files,
        compact_changelog=message.changelog_files,
    )


def _row(table: Table, partition: bytes) -> Partition:
    return canonical_row(partition, table.schema.partition_types)
