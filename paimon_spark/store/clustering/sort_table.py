"""Sorts the rows of partitions and replaces their files, by one snapshot (Java: CompactProcedure with order_strategy).

Java commits an overwrite of the partitions, which loses rows that others append concurrently, and which streams may
take for new rows. Here it is a compaction: it replaces just the files that were read.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.bucket import Place
from paimon_spark.format.options.write_settings import ClusteringSettings
from paimon_spark.format.rules.supported import check_writable, refuse_evolution
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.clustering.strategy import Clustering, new_clustering
from paimon_spark.store.clustering.local import cluster_here
from paimon_spark.store.clustering.work import ClusterUnit, ClusterWork, GroupResult
from paimon_spark.store.compact.commit import CompactedBuckets, commit_compaction
from paimon_spark.store.compact.compaction import ROUNDS
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.outcomes import CompactResult, compact_result
from paimon_spark.store.compact.plan import at_newest_schema, partition_condition
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.metadata.partition_times import partitions_to_skip
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.table import BucketMode, Table

_log = logging.getLogger(__name__)

ClusterRows: TypeAlias = Callable[[ClusterWork], Sequence[GroupResult]]
"""Does the work, all or nothing: here or on a cluster. After an error the files that were made are deleted."""

Places: TypeAlias = Collection[Place] | None
Choice: TypeAlias = tuple[Clustering, Sequence[ClusterUnit]]
Choose: TypeAlias = Callable[[Table, Snapshot, Places], Choice]
"""The order and the files to sort, in a snapshot of the table, of some buckets or of all."""


def sort_table(
    table: Table,
    strategy: str,
    columns: Sequence[str],
    where: str | Predicate | None = None,
    run: ClusterRows = cluster_here,
) -> CompactResult:
    """Sorts all rows of a table without buckets, each partition by itself.

    Deleted rows are left out. A partition in which another job replaces or deletes rows concurrently is sorted again a
    few times, then left as it is and named in the result; rows that others append concurrently stay where they are.

    Args:
        table: with the options of the call.
        strategy: order, zorder or hilbert.
        columns: to sort by.
        where: a condition on partition columns; None: all partitions.
        run: does the work.

    Raises:
        OptionError, PredicateError: the columns, the strategy or the condition do not fit.
        UnsupportedFeature: the table has a primary key or buckets, or cannot be written.
        CorruptFile: a file is missing or damaged.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    check_sortable(table)

    def choose(table: Table, snapshot: Snapshot, places: Places) -> Choice:
        clustering = new_clustering(table.schema, table.settings, strategy, columns)
        found = live_buckets(table, snapshot, partition_condition(table, where), places)
        is_skipped = partitions_to_skip(table.schema, table.settings, dt.datetime.now())
        units = (
            ClusterUnit(entry.partition, entry.bucket, entry.total_buckets, tuple(bucket.files), bucket.deletions)
            for bucket in found
            for entry in bucket.entries[:1]
        )
        return clustering, [unit for unit in units if not is_skipped(unit.partition)]

    choice = at_newest_schema(table)
    new_clustering(choice.schema, choice.settings, strategy, columns)  # also of an empty table
    partition_condition(choice, where)
    return cluster_files(table, choose, run)


def check_sortable(table: Table) -> None:
    """Checks that the rows of a table have no order that a sort would change.

    Raises:
        UnsupportedFeature: they have, or the table cannot be written.
    """
    check_writable(table.schema, table.settings)
    refuse_evolution(table.settings, f"sorting {table.location}")
    if table.settings.clustering.incremental:
        raise UnsupportedFeature(
            f"cannot sort {table.location}: the table is clustered incrementally by "
            f"'{ClusteringSettings.columns.key}'; compact it without an order, or set these columns"
        )
    if table.schema.primary_keys:
        raise UnsupportedFeature(
            f"cannot sort {table.location}: the table has a primary key, and its files are in the order of the key; "
            "compact it without an order"
        )
    if table.bucket_mode is not BucketMode.BUCKET_UNAWARE:
        raise UnsupportedFeature(
            f"cannot sort {table.location}: the table has buckets, and only tables with 'bucket' = '-1' are sorted, as "
            "in the official system; compact it without an order"
        )


def cluster_files(table: Table, choose: Choose, run: ClusterRows, places: Places = None) -> CompactResult:
    """Sorts files and replaces them; buckets that others change concurrently are chosen and sorted again.

    Args:
        table: that can be written, with the options of the call.
        choose: what is sorted.
        run: does the work.
        places: only these buckets; None: all.

    Raises:
        RetriesExhausted: other writers were faster in every attempt; earlier rounds are committed.
        CommitStateUnknown: the store did not answer; no file is deleted.
        Exception: that of choose or run.
    """
    began = time.monotonic()
    done: list[CompactedBuckets] = []
    dropped: dict[Place, str] = {}
    for _ in range(ROUNDS):
        snapshot = table.snapshots.latest()
        newest = at_newest_schema(table)
        if snapshot is None:
            break
        clustering, units = choose(newest, snapshot, places)
        dropped = {}
        if not units:
            break
        work = ClusterWork(newest, clustering, tuple(units))
        made = commit_compaction(newest, snapshot, {}, _results(work, run(work)))
        done.append(made)
        dropped = dict(made.dropped)
        if not dropped:
            break
        _log.info("sorting %s: other jobs changed %d partitions meanwhile", table.location, len(dropped))
        places = set(dropped)
    for place, reason in dropped.items():
        _log.warning("sorting %s left out %s: %s", table.location, describe_partition(table, place[0]), reason)
    return compact_result(table, done, dropped, began)


def _results(work: ClusterWork, written: Sequence[GroupResult]) -> list[CompactTaskResult]:
    """One result for each unit: its files are replaced together or not at all."""
    by_unit: dict[int, list[GroupResult]] = {}
    for result in sorted(written, key=lambda result: result.group):
        by_unit.setdefault(result.unit, []).append(result)
    return [
        CompactTaskResult(
            partition=unit.partition,
            bucket=unit.bucket,
            total_buckets=unit.total_buckets,
            before=unit.files,
            after=tuple(file for result in by_unit.get(number, ()) for file in result.files),
            created=tuple(path for result in by_unit.get(number, ()) for path in result.created),
            rows_read=unit.rows,
            rows_written=sum(result.rows for result in by_unit.get(number, ())),
        )
        for number, unit in enumerate(work.units)
    ]
