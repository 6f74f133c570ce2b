"""Changes the number of buckets of existing partitions by rewriting all their rows (Java: RescaleProcedure).

One OVERWRITE snapshot replaces exactly the files that were read. If another job has changed these partitions
concurrently, nothing is committed, because its rows would be lost.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CommitConflict, OptionError, RetriesExhausted, TableNotFound, UnsupportedFeature
from paimon_spark.format.bucket import number_words
from paimon_spark.format.manifest import DataFileMeta, FileKind, IndexManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.key_clustering import OVERRIDE, SORTED_LEVEL, orders_otherwise
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from paimon_spark.merge.compaction.append_picks import in_written_order
from paimon_spark.merge.compaction.rules import compaction_rules
from paimon_spark.merge.keys.sections import Section, partition_sections
from paimon_spark.store.commit.attempt import CommitRequest, Proposal, TableState
from paimon_spark.store.commit.commit_loop import commit_request
from paimon_spark.store.commit.table_commit import CommitResult
from paimon_spark.store.compact.live_buckets import LiveBucket, live_buckets
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.messages import CommitChanges, CommitMessage, appended
from paimon_spark.store.metadata.partitions import PartitionFilter, describe_partition
from paimon_spark.store.metadata.schemas import check_rewritable
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.read.splits import Split, pack_parts
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.rescale.postpone_placement import delete_created
from paimon_spark.store.rescale.rewrite import Rewrite, SplitSource, rewrite_here
from paimon_spark.store.scan.split_plan import skips_level_zero
from paimon_spark.store.write.write_plan import plan_write


@dataclass(frozen=True)
class RescalePlan:
    """The plan of a rescale.

    Attributes:
        rewrite: the rows of the partitions, and their new buckets.
        files: (canonical partition, bucket, name) of all data files to replace.
        index: the names of the index files to delete with them.
        previous: partition name -> its current number of buckets.
    """

    rewrite: Rewrite
    files: frozenset[tuple[bytes, int, str]]
    index: frozenset[str]
    previous: dict[str, int]


@dataclass(frozen=True, repr=False)
class RescaleResult(Result):
    """The result of a rescale.

    Attributes:
        partitions: the names of the rewritten partitions, with their former numbers of buckets.
        rows, files, bytes: the totals of the new data files.
        millis: the duration from the call to the commit.
        snapshot_id: the new snapshot; None if all partitions had the number of buckets already.
    """

    partitions: dict[str, int]
    rows: int
    files: int
    bytes: int
    millis: int
    snapshot_id: int | None


def rescale(
    table: Table,
    buckets: int | None = None,
    where: str | Predicate | None = None,
    run: Callable[[Rewrite], list[CommitMessage]] = rewrite_here,
) -> RescaleResult:
    """Changes the number of buckets of partitions and, without a condition, the option ``bucket`` too.

    Postponed files stay postponed, and the option of a table with postponed buckets is not changed.

    Args:
        table: the table in its latest schema, with the options of the call.
        buckets: the new number of buckets, at least 1; None: the option ``bucket`` of the table, so that partitions
            of another number get it.
        where: a condition on partition columns; None: all partitions.
        run: runs the rewrite, all or nothing.

    Raises:
        OptionError: the number or the condition is not valid, or a table with postponed buckets is given no number.
        UnsupportedFeature: the table has no fixed number of buckets, or cannot be written, or the files of a keyed
            partition name several numbers.
        CommitConflict: another job has changed a partition concurrently; nothing was committed.
        TableChanged: the table was opened before its columns were changed.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    began = time.monotonic()
    buckets = _own_number(table) if buckets is None else buckets
    plan = plan_rescale(table, buckets, where)
    result = None
    if plan.files:
        messages = run(plan.rewrite)
        try:
            result = commit_rescale(table, plan, messages)
        except (CommitConflict, RetriesExhausted, TableNotFound):
            delete_created(table, messages)
            raise
    if where is None and table.bucket_mode == BucketMode.HASH_FIXED:
        set_option(table, TableSettings.bucket.key, str(buckets))
    millis = millis_since(began)
    if result is None:
        return RescaleResult({}, 0, 0, 0, millis, None)
    return RescaleResult(plan.previous, result.rows, result.files, result.bytes, millis, result.snapshot_id)


def _own_number(table: Table) -> int:
    if table.bucket_mode == BucketMode.POSTPONE_MODE:
        raise OptionError(
            f"rescaling {table.location}: the table postpones buckets and so has no number of its own; give the number "
            "of buckets"
        )
    return table.settings.bucket


def plan_rescale(table: Table, buckets: int, where: str | Predicate | None = None) -> RescalePlan:
    """Plans a rescale on the latest snapshot; partitions that already have the number of buckets are not rewritten.

    Every live file is included, even files of level 0 that readers do not see yet.

    Raises:
        OptionError: the number or the condition is not valid.
        UnsupportedFeature: the table has no fixed number of buckets, or cannot be written, or the files of a keyed
            partition name several numbers.
        TableChanged: the table was opened before its columns were changed.
    """
    if table.bucket_mode not in (BucketMode.HASH_FIXED, BucketMode.POSTPONE_MODE):
        raise UnsupportedFeature(
            f"rescaling {table.location}: its option 'bucket' is {table.settings.bucket}, and only tables with "
            "a fixed number of buckets, or with postponed ones, have a number to change"
        )
    if type(buckets) is not int or buckets < 1:  # True is an int too
        raise OptionError(f"rescaling {table.location} to {buckets!r} buckets: give a whole number above 0")
    predicate = partition_condition(table, where)
    check_writable(table.schema, table.settings)
    plan = replace(plan_write(table), overwrites=True)  # rows that move are no input
    snapshot = table.snapshots.load(plan.since) if plan.since else None
    found = [b for b in live_buckets(table, snapshot, predicate) if b.entries]
    counts = _bucket_counts(table, found)
    chosen = [b for b in found if counts[b.place[0]] != {buckets}]
    check_rewritable(
        table.location, table.schema, table.schemas, (file.schema_id for bucket in chosen for file in bucket.files)
    )
    sources = [SplitSource(split) for bucket in chosen for split in _splits(table, bucket)]
    numbers = {b.place[0]: buckets for b in chosen}
    rewrite = Rewrite(table, tuple(sources), numbers, str(uuid.uuid4()), plan, True, _level(table))
    files = frozenset((*b.place, file.file_name) for b in chosen for file in b.files)
    index = frozenset(e.file_name for e in _index_of(TableState(table, snapshot, (), ()), rewrite))
    previous = {describe_partition(table, b.place[0]): max(counts[b.place[0]]) for b in chosen}
    return RescalePlan(rewrite, files, index, previous)


def _bucket_counts(table: Table, found: Sequence[LiveBucket]) -> dict[bytes, set[int]]:
    """Partition -> the numbers of buckets that its files name, which is one.

    Raises:
        UnsupportedFeature: the files of a keyed partition name several: nothing tells which of two rows of a key, in
            buckets of different numbers, is the newer one. A writer of the official system that ran while another
            job changed the number leaves this, because it looks at the number once (Java: ConflictDetection).
    """
    counts: dict[bytes, set[int]] = {}
    for bucket in found:
        counts.setdefault(bucket.place[0], set()).update(entry.total_buckets for entry in bucket.entries)
    for partition, numbers in counts.items():
        if table.schema.primary_keys and len(numbers) > 1:
            raise UnsupportedFeature(
                f"rescaling {table.location}: {describe_partition(table, partition)} has files of "
                f"{number_words(numbers)} buckets, because a job wrote on while another one changed the number, and a "
                "key may have a row in each. Stop that job, choose the rows to keep, and overwrite the partition with "
                "them, or roll back to a snapshot before the change"
            )
    return counts


def commit_rescale(table: Table, plan: RescalePlan, messages: Sequence[CommitMessage]) -> CommitResult:
    """Replaces the files that were read by the new ones, in one OVERWRITE snapshot.

    Raises:
        CommitConflict: the live files or deletion vectors differ from those that were read; nothing was committed.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer; no file may be deleted.
    """
    began = time.monotonic()
    new = appended(messages)
    fields, rewrite = table.schema.partition_fields, plan.rewrite

    def propose(state: TableState) -> Proposal[None]:
        live = [e for e in state.live_entries(PartitionFilter.of_rows(fields, rewrite.numbers)) if e.bucket >= 0]
        index = _index_of(state, rewrite)
        now = {(_row(table, e.partition), e.bucket, e.file.file_name): e for e in live}
        changed = {row for row, _, _ in now.keys() ^ plan.files}
        changed |= {_row(table, e.partition) for e in index if e.file_name not in plan.index}
        if changed or len(index) != len(plan.index):
            words = ", ".join(sorted(describe_partition(table, row) for row in changed or rewrite.numbers)[:5])
            raise CommitConflict(
                f"rescaling {table.location}: other jobs have changed {words} since snapshot {rewrite.plan.since}, "
                "which was read; nothing was replaced. Run it again when nobody writes there"
            )
        gone = (entry._replace(kind=FileKind.DELETE) for entry in live)
        without = tuple(replace(e, kind=FileKind.DELETE) for e in index)
        return Proposal(CommitChanges((*gone, *new.files), index=without), None)

    request = CommitRequest(
        rewrite.commit_user, BATCH_COMMIT_IDENTIFIER, CommitKind.OVERWRITE, "OVERWRITE", propose, True
    )
    made = commit_request(table, request, rewrite.plan.since)
    files = [e.file for e in new.files]
    rows, size = sum(f.row_count for f in files), sum(f.file_size for f in files)
    return CommitResult(made.published.id, made.attempts, rows, len(files), size, millis_since(began))


def _splits(table: Table, bucket: LiveBucket) -> list[Split]:
    """The splits of a bucket, in row order if its rows have one."""
    entry = bucket.entries[0]
    where = bucket_directory(table, entry.partition, entry.bucket)
    alone: list[DataFileMeta] = []
    sections: list[Section] = []
    if table.schema.primary_keys and orders_otherwise(table.settings):
        alone = _compacted(table, bucket)
    elif table.schema.primary_keys:
        for section in partition_sections(bucket.files, [f.type for f in table.schema.key_fields]):
            if len(section) == 1:
                alone += section[0].files
            else:
                sections.append(section)
    else:
        alone = list(in_written_order(bucket.files))
    target = table.settings.scan.split_target_size
    open_cost = table.settings.scan.open_file_cost
    return [
        Split(entry.partition, entry.bucket, where, *part, deletions=bucket.deletions)
        for part in pack_parts(alone, sections, target, open_cost)
    ]


def _compacted(table: Table, bucket: LiveBucket) -> list[DataFileMeta]:
    """The files of a bucket that is sorted by other columns than the key, where each key has one row.

    Raises:
        UnsupportedFeature: some files wait for a compaction, and could be merged only in the order of the key.
    """
    if any(file.level == 0 for file in bucket.files):
        raise UnsupportedFeature(
            f"rescaling {table.location}: {describe_partition(table, bucket.entries[0].partition)}, bucket "
            f"{bucket.entries[0].bucket} has files that are not compacted, and those of a table with '{OVERRIDE}' are "
            "not in the order of the key; compact the table first"
        )
    return bucket.files


def _level(table: Table) -> int | None:
    """The level of the new files: the highest, because they are all files of their bucket; None: 0."""
    if not table.schema.primary_keys:
        return None
    if orders_otherwise(table.settings):
        return SORTED_LEVEL
    if not skips_level_zero(table.settings) and not table.settings.overwrite_upgrade:
        return None
    return compaction_rules(table.settings).max_level


def _index_of(state: TableState, rewrite: Rewrite) -> list[IndexManifestEntry]:
    """The live index files of the partitions that are rewritten."""
    return [e for e in state.index_entries if e.bucket >= 0 and _row(state.table, e.partition) in rewrite.numbers]


def _row(table: Table, partition: bytes) -> bytes:
    return canonical_row(partition, table.schema.partition_types)
