"""Incremental clustering: only files that have not been sorted yet, or too little, are sorted (features 3.17).

Files have levels, as those of tables with keys: new files are on level 0, each a run of its own; those that were sorted
together are one run of a higher level. Universal compaction picks the runs that are sorted together next. Java:
IncrementalClusterManager, IncrementalClusterStrategy, HistoryPartitionCluster.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import replace

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import ClusteringSettings
from paimon_spark.format.rules.supported import check_writable, refuse_evolution
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.clustering.strategy import Clustering, table_clustering
from paimon_spark.merge.compaction.levels import CompactUnit, LevelRun, level_runs, unit_of_runs
from paimon_spark.merge.compaction.rules import CompactionRules, compaction_rules
from paimon_spark.merge.compaction.universal import pick_universal
from paimon_spark.store.clustering.local import cluster_here
from paimon_spark.store.clustering.sort_table import Choice, ClusterRows, Places, cluster_files
from paimon_spark.store.clustering.work import ClusterUnit
from paimon_spark.store.compact.live_buckets import LiveBucket, is_chosen, live_buckets
from paimon_spark.store.compact.outcomes import CompactResult
from paimon_spark.store.compact.plan import at_newest_schema, partition_condition
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.storage.local_time import local_wall_millis, now_millis


def cluster_incrementally(
    table: Table, where: str | Predicate | None = None, full: bool | None = None, run: ClusterRows = cluster_here
) -> CompactResult:
    """Sorts what is not sorted enough, of a table with `clustering.incremental`.

    Args:
        table: with the options of the call.
        where: a condition on partition columns; None: all partitions. With it, and with
            `clustering.history-partition.idle-to-full-sort`, some other partitions that have not changed for so long
            are sorted as a whole too.
        full: True: all files of a partition become one run of the highest level; None or False: what universal
            compaction picks.
        run: does the work.

    Raises:
        OptionError, PredicateError: `clustering.columns` or the condition do not fit.
        UnsupportedFeature: the table cannot be written.
        CorruptFile: a file is missing or damaged.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    check_writable(table.schema, table.settings)
    refuse_evolution(table.settings, f"clustering {table.location}")
    if table.schema.primary_keys or table.bucket_mode is not BucketMode.BUCKET_UNAWARE:
        raise UnsupportedFeature(
            f"cannot cluster {table.location}: this release clusters tables without a primary key and without buckets "
            f"incrementally; compact it with '{ClusteringSettings.incremental.key}' = 'false'"
        )
    newest = at_newest_schema(table)
    _clustering(newest)
    partition_condition(newest, where)

    def choose(table: Table, snapshot: Snapshot, places: Places) -> Choice:
        shuffles = table.settings.clustering.incremental_mode == "global-sort"
        picked = _picked(table, snapshot, where, bool(full))
        units = [
            ClusterUnit(
                bucket.entries[0].partition,
                bucket.entries[0].bucket,
                bucket.entries[0].total_buckets,
                unit.files,
                bucket.deletions,
                unit.output_level,
                shuffles,
            )
            for bucket, unit in picked
            if places is None or bucket.place in places
        ]
        return _clustering(table), units

    return cluster_files(table, choose, run)


def _clustering(table: Table) -> Clustering:
    clustering = table_clustering(table.schema, table.settings)
    if clustering is None:
        raise OptionError(
            f"clustering {table.location}: the option '{ClusteringSettings.incremental.key}' asks for it, but "
            f"'{ClusteringSettings.columns.key}' names no column to sort by; set it"
        )
    return clustering


def _picked(
    table: Table, snapshot: Snapshot, where: str | Predicate | None, full: bool
) -> list[tuple[LiveBucket, CompactUnit]]:
    """The buckets that are sorted now, with the files and the level of the new ones."""
    rules = replace(
        compaction_rules(table.settings),
        off_peak=None, full_interval=None, total_size_threshold=None, incremental_size_threshold=None,
    )  # fmt: skip
    condition = partition_condition(table, where)
    idle = table.settings.clustering.history_partition_idle
    if where is None or idle is None:
        chosen, others = list(live_buckets(table, snapshot, condition)), []
    else:
        everything = list(live_buckets(table, snapshot))
        chosen = [b for b in everything if is_chosen(table, condition, b.entries[0].partition)]
        others = _history([b for b in everything if b not in chosen], rules, idle)
        others = others[: table.settings.clustering.history_partition_limit]
    picks = [(bucket, _pick(table, bucket, rules, full)) for bucket in chosen]
    picks += [(bucket, _pick(table, bucket, rules, True)) for bucket in others]
    return [(bucket, unit) for bucket, unit in picks if unit is not None and unit.files]


def _history(buckets: Sequence[LiveBucket], rules: CompactionRules, idle: int) -> list[LiveBucket]:
    """The buckets with files that are not on the highest level, none of which is younger than so many milliseconds;
    the oldest first."""
    latest = local_wall_millis(now_millis()) - idle

    def found() -> Iterator[tuple[int, int, LiveBucket]]:
        for number, bucket in enumerate(buckets):
            times = [file.creation_time or 0 for file in bucket.files if file.level < rules.max_level]
            if times and max(times) < latest:
                yield max(times), number, bucket

    return [bucket for _, _, bucket in sorted(found(), key=lambda item: item[:2])]


def _pick(table: Table, bucket: LiveBucket, rules: CompactionRules, full: bool) -> CompactUnit | None:
    runs = level_runs(bucket.files)
    if not full:
        return pick_universal(runs, rules, dt.datetime.now())
    if len(runs) == 1 and runs[0].level == rules.max_level and _is_of_these_columns(table, runs[0]):
        return None
    return unit_of_runs(rules.max_level, runs)


def _is_of_these_columns(table: Table, run: LevelRun) -> bool:
    """True if the run was sorted by the columns that the table has now, as its first file tells (as in Java)."""
    schema = table.schemas.load(run.files[0].schema_id)
    stored = TableSettings(schema.options).clustering.columns
    return stored == table.settings.clustering.columns
