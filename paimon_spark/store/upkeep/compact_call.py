"""An explicitly requested compaction: moves postponed rows, compacts the buckets, then does the upkeep of a commit."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_spark.arrow.predicates.predicate import FALSE, Predicate
from paimon_spark.errors import OptionError
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import CompactionSettings
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.store.clustering.incremental import cluster_incrementally
from paimon_spark.store.clustering.local import cluster_here
from paimon_spark.store.clustering.sort_table import ClusterRows, sort_table
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.outcomes import CompactResult, TaskRunner
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.reporting.result import millis_since
from paimon_spark.store.rescale.postpone_compact import CompactPostponedResult, compact_postponed
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.upkeep.maintenance import maintain

_log = logging.getLogger(__name__)


def compact_on_call(
    table: Table,
    runner: TaskRunner,
    where: str | Predicate | None = None,
    full: bool | None = None,
    move_postponed: Callable[[Table, str | Predicate | None], CompactPostponedResult] = compact_postponed,
    cluster: ClusterRows = cluster_here,
) -> CompactResult:
    """Compacts a table or some partitions, without waiting for more files as writers may.

    Args:
        table: the table, with the options of the call.
        runner: runs the tasks; stopped on return.
        where: a condition on partition columns; None: all partitions.
        full: whether all files of a bucket become one run of the top level; see plan_compaction.
        move_postponed: moves postponed rows into buckets.
        cluster: sorts rows, of a table with `clustering.incremental`, which is compacted by nothing else.

    Raises:
        OptionError: an option chooses a snapshot, or the condition does not fit.
        PredicateError: the condition does not fit.
        CompactionFailed: tasks or commits failed repeatedly; all other buckets are compacted.
        PaimonError: the table cannot be written.
    """
    check_writable(table.schema, table.settings)
    refuse_travel(table, "compacted")
    began = time.monotonic()
    try:
        postpones = table.bucket_mode is BucketMode.POSTPONE_MODE
        moved = move_postponed(table, where) if postpones else CompactPostponedResult()
        if table.settings.clustering.incremental:
            metrics = cluster_incrementally(table, where, full, cluster)
        else:
            metrics = compact_table(table, runner, where, full, at_once=True)
    finally:
        runner.stop()
    if where is not None and not (metrics.buckets or moved.files):
        _warn_of_no_partition(table, where)
    maintain(table, dedicated=True)
    return replace(
        metrics,
        snapshot_ids=moved.snapshot_ids + metrics.snapshot_ids,
        postponed_files=moved.files,
        postponed_rows=moved.rows,
        millis=millis_since(began),
    )


def leaving_out_deleted(table: Table) -> Table:
    """The table with options by which a compaction leaves out deleted rows, and does nothing else.

    Java: MaterializeDeletionVectorsProcedure (release 2.1).

    Raises:
        OptionError: the table has no data evolution, or no deletion vectors.
    """
    settings = table.settings
    for is_set, option in (
        (settings.data_evolution_enabled, TableSettings.data_evolution_enabled),
        (settings.deletion_vectors_enabled, TableSettings.deletion_vectors_enabled),
    ):
        if not is_set:
            raise OptionError(
                f"leaving deleted rows out of the files of {table.location}: this is for tables with '{option.key}' = "
                "'true'; of others, a compaction leaves them out"
            )
    wanted = {
        TableSettings.data_evolution_rewrite_row_ids.key: "true",
        CompactionSettings.min_file_num.key: str(2**31 - 1),
        ScanSettings.open_file_cost.key: f"{2**62} b",  # so that no file is joined with its neighbours
        CompactionSettings.blobs.key: "false",
    }
    return replace(table, settings=TableSettings({**dict(settings.items()), **wanted}))


def _warn_of_no_partition(table: Table, where: str | Predicate) -> None:
    """Partitions that are compact already are no reason to warn, and no partition that is idle, which is FALSE."""
    condition = partition_condition(table, where)
    if condition != FALSE and next(live_buckets(table, table.snapshots.latest(), condition), None) is None:
        _log.warning("compacting %s: no partition with files fits the condition", table.location)


def sort_on_call(
    table: Table, strategy: str, columns: Sequence[str], where: str | Predicate | None, run: ClusterRows
) -> CompactResult:
    """Sorts the rows of a table or of some partitions, and does the upkeep of a commit; see sort_table.

    Raises:
        OptionError: an option chooses a snapshot, or what sort_table raises.
        PaimonError: what sort_table raises.
    """
    refuse_travel(table, "compacted")
    result = sort_table(table, strategy, columns, where, run)
    maintain(table, dedicated=True)
    return result
