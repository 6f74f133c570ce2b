"""Plans a compaction: live files of a snapshot -> picks -> tasks. Only metadata is read (Java: CompactAction).

The key range of a task overlaps that of no other task of its bucket. So in whatever order and place tasks run, their
files together are one sorted run of the output level.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.errors import OptionError
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.key_clustering import clustering_fields, orders_otherwise
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataType
from paimon_spark.merge.compaction.levels import CompactUnit, level_runs, top_level
from paimon_spark.merge.compaction.pick import drops_deletes, never, pick_compaction, pick_full
from paimon_spark.merge.compaction.record_expiry import expired_files, record_expiry
from paimon_spark.merge.compaction.rules import CompactionRules, compaction_rules
from paimon_spark.merge.compaction.steps import CompactStep, compact_steps
from paimon_spark.merge.keys.key_order import key_range_of
from paimon_spark.merge.keys.sections import Section
from paimon_spark.store.compact.live_buckets import TRUE, LiveBucket, live_buckets, types_are_now, upper_files
from paimon_spark.store.compact.task import ClusterTask, CompactTask, MergeTask
from paimon_spark.store.metadata.partition_times import partitions_to_skip
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile, pack_ordered

TASK_BYTES = 256 * MB
"""A bucket of more is cut into tasks of about this size, where no key spans the cut."""


@dataclass(frozen=True)
class CompactionPlan:
    """The tasks of one compaction, biggest first.

    Attributes:
        table: the table, with the schema of new files, which has every column of the files to compact.
        snapshot: the snapshot of the plan; None for a table without snapshots, which has no tasks.
        upper: for buckets in which rows are looked up above level 0: names and levels of these files.
    """

    table: Table
    snapshot: Snapshot | None
    tasks: tuple[CompactTask, ...] = ()
    upper: Mapping[Place, frozenset[tuple[str, int]]] = field(default_factory=dict)


def plan_compaction(
    table: Table,
    where: str | Predicate | None = None,
    full: bool | None = None,
    places: Collection[Place] | None = None,
    at_once: bool = False,
) -> CompactionPlan:
    """Plans on the latest snapshot.

    Args:
        table: with the options of the call.
        where: a condition on partition columns; None: all partitions.
        full: True: all files of a bucket become one run of the top level. False: the files that a writer would pick.
            None: full, the default of the official compaction job. For append tables see plan_append_compaction.
        places: only these buckets (`place_of`); None: all, except in expired partitions with
            `compaction.skip-expired-partitions`.
        at_once: whether level 0 is taken up now, where `lookup-compact` = gentle lets writers wait for more files.

    Raises:
        OptionError, PredicateError: the condition does not fit, or names other columns.
        CorruptFile: metadata is missing or damaged.
    """
    snapshot = table.snapshots.latest()
    table = at_newest_schema(table)  # after the snapshot: no file in it can have a newer one
    predicate = partition_condition(table, where)
    if snapshot is None:
        return CompactionPlan(table, None)
    is_skipped = partitions_to_skip(table.schema, table.settings, dt.datetime.now()) if places is None else _none
    if not table.schema.primary_keys:
        from paimon_spark.store.compact.append_plan import plan_append_compaction

        files = plan_append_compaction(table, snapshot, predicate, full, places)
        return CompactionPlan(table, snapshot, biggest_first([x for x in files if not is_skipped(x.partition)]))
    rules = compaction_rules(table.settings)
    if at_once:
        rules = replace(rules, force_interval=None)
    tasks: list[CompactTask] = []
    upper: dict[Place, frozenset[tuple[str, int]]] = {}
    for bucket in live_buckets(table, snapshot, predicate, places):
        if is_skipped(bucket.entries[0].partition):
            continue
        found = _bucket_tasks(table, bucket, rules, full is None or full)
        tasks += found
        if found and rules.needs_lookup:
            upper[bucket.place] = frozenset(upper_files(bucket.entries))
    return CompactionPlan(table, snapshot, biggest_first(tasks), upper)


def _none(partition: bytes) -> bool:
    return False


def at_newest_schema(table: Table) -> Table:
    """The table in its newest schema, with the options of the call on top.

    A job may have opened the table long ago. With the old schema, columns that were added since then would be lost from
    the files that it compacts.
    """
    schema = table.schemas.latest()
    if schema is None or schema == table.schema:
        return table
    call = {key: value for key, value in table.settings.items() if table.schema.options.get(key) != value}
    return replace(table, schema=schema, settings=TableSettings({**schema.options, **call}))


def partition_condition(table: Table, where: str | Predicate | None) -> Predicate:
    """The condition of a call, bound to the table.

    Raises:
        PredicateError: it does not fit the table.
        OptionError: it uses columns that are not partition columns.
    """
    if where is None:
        return TRUE
    from paimon_spark.arrow.predicates.expressions import as_predicate

    predicate = as_predicate(where, table.schema.fields, table.time_zone)
    others = sorted(columns_of(predicate) - set(table.schema.partition_keys))
    if others:
        keys = ", ".join(table.schema.partition_keys) or "none"
        raise OptionError(
            f"{table.location} where {where}: {', '.join(others)} is no partition column (those are: {keys}), and only "
            "whole partitions can be chosen here"
        )
    return predicate


def biggest_first(tasks: Sequence[CompactTask]) -> tuple[CompactTask, ...]:
    """The tasks in the order of their start, the longest first."""
    return tuple(sorted(tasks, key=lambda task: -task.weight))


def _bucket_tasks(table: Table, bucket: LiveBucket, rules: CompactionRules, full: bool) -> list[CompactTask]:
    """The tasks of one bucket; none when nothing is picked."""
    if orders_otherwise(table.settings):
        return _cluster_tasks(table, bucket, rules, full)
    runs = level_runs(bucket.files)
    expires = _expires(table)
    if full:
        unit = pick_full(runs, rules, bucket.deletions.keys(), expires)
    else:
        unit = pick_compaction(runs, rules, dt.datetime.now())
    if unit is None:
        return []
    types = [f.type for f in table.schema.key_fields]
    steps = compact_steps(unit, top_level(runs, rules.num_levels), types, rules, expires)
    above = _files_above(bucket, unit) if any(step.changelog for step in steps) else []
    first = bucket.entries[0]
    whole = MergeTask(
        partition=first.partition,
        bucket=first.bucket,
        total_buckets=first.total_buckets,
        output_level=unit.output_level,
        drop_deletes=drops_deletes(unit, runs, rules.keeps_vectors) and not table.settings.chain_table_enabled,
        steps=steps,
    )
    return [_with_its_files(whole, part, above, bucket.deletions, types) for part in cut_steps(steps, TASK_BYTES)]


def _cluster_tasks(table: Table, bucket: LiveBucket, rules: CompactionRules, full: bool) -> list[CompactTask]:
    """The one task of a bucket whose compacted files are sorted by other columns than the key; none: nothing to do."""
    from paimon_spark.merge.compaction.clustered_picks import pick_clustered, values_of
    from paimon_spark.store.write.file_layout import TARGET_WITH_KEY

    files, fields = bucket.files, clustering_fields(table.schema, table.settings)
    compacted = tuple(file for file in files if file.level > 0)
    alike = all(types_are_now(table, fields, number) for number in {file.schema_id for file in compacted})
    find = values_of(fields) if alike else None
    target = table.settings.files.target_size or TARGET_WITH_KEY
    pick = pick_clustered(files, find, target, full, bucket.deletions.keys(), rules.rewrites_all)
    if pick is None:
        return []
    first = bucket.entries[0]
    names = (file.file_name for file in compacted)
    return [
        ClusterTask(
            partition=first.partition,
            bucket=first.bucket,
            total_buckets=first.total_buckets,
            new=pick.new,
            groups=pick.groups,
            together=pick.together,
            compacted=compacted,
            deletions={name: bucket.deletions[name] for name in names if name in bucket.deletions},
        )
    ]


def _expires(table: Table) -> Callable[[DataFileMeta], bool]:
    """A function that returns whether a file may hold expired rows."""
    expiry = record_expiry(table.schema, table.settings)
    if expiry is None:
        return never
    return expired_files(expiry, int(time.time()), lambda schema_id: table.schemas.load(schema_id).fields)


def _files_above(bucket: LiveBucket, unit: CompactUnit) -> list[DataFileMeta]:
    picked = {file.file_name for file in unit.files}
    return [f for f in bucket.files if f.level > unit.output_level and f.file_name not in picked]


def cut_steps(steps: Sequence[CompactStep], task_bytes: int) -> list[tuple[CompactStep, ...]]:
    """The steps in groups, one for each task; a step is divided only between sections.

    The groups have even sizes: 520 MB become three groups of 173 MB rather than two of 256 and one of 8.

    Args:
        steps: the steps of one bucket, in key order.
        task_bytes: the most bytes that a task reads, unless one section is bigger.
    """
    pieces = [(number, section) for number, step in enumerate(steps) for section in step.sections]
    sizes = [_bytes_read(steps[number], section) for number, section in pieces]
    tasks = max(1, -(-sum(sizes) // task_bytes))
    parts: list[tuple[CompactStep, ...]] = []
    for start, end in pack_ordered(sizes, -(-sum(sizes) // tasks)):
        by_step: dict[int, list[Section]] = {}
        for number, section in pieces[start:end]:
            by_step.setdefault(number, []).append(section)
        parts.append(tuple(replace(steps[i], sections=tuple(sections)) for i, sections in by_step.items()))
    return parts


def _bytes_read(step: CompactStep, section: Section) -> int:
    if not (step.rewrites or step.changelog):
        return 0
    return sum(file.file_size for run in section for file in run)


def _with_its_files(
    whole: MergeTask,
    steps: tuple[CompactStep, ...],
    above: Sequence[DataFileMeta],
    deletions: Mapping[str, DeletionFile],
    key_types: Sequence[DataType],
) -> MergeTask:
    """The task of some steps, with the files above that may hold their keys, and the vectors of all these files."""
    task = replace(whole, steps=steps)
    looked_up = [file for step in steps if step.changelog for file in step.files]
    if looked_up and above:
        key_range = key_range_of(key_types)
        ranges = [key_range(file) for file in looked_up]
        first, last = min(low for low, _ in ranges), max(high for _, high in ranges)
        met = ((file, *key_range(file)) for file in above)
        task = replace(task, above=tuple(file for file, low, high in met if low <= last and first <= high))
    names = [file.file_name for file in (*task.files, *task.above)]
    return replace(task, deletions={name: deletions[name] for name in names if name in deletions})
