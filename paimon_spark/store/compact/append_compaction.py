"""Plans the compaction of a table without primary key (features 3.6).

Java: AppendCompactCoordinator for tables without buckets, BucketedAppendCompactManager for those with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.merge.compaction.append_picks import (
    AppendRules,
    FileVector,
    Group,
    append_rules,
    in_written_order,
    pick_all_neighbours,
    pick_any_order,
    pick_neighbours,
)
from paimon_spark.store.compact.live_buckets import TRUE, LiveBucket, live_buckets
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.table import BucketMode, Table


def plan_append_compaction(
    table: Table,
    snapshot: Snapshot | None,
    predicate: Predicate = TRUE,
    full: bool | None = None,
    places: Collection[Place] | None = None,
) -> tuple[AppendTask, ...]:
    """The tasks of a compaction of an append table, each with the files that are rewritten together.

    Rows keep their order within a task; in buckets a task has neighbouring files only, so that rows keep their order.
    Without buckets there is no order: any files of a partition may be rewritten together.

    Args:
        table: a table without primary key, with the options of the call.
        snapshot: the snapshot to plan on; None: the table has none.
        predicate: a condition on partition columns.
        full: in buckets, True or None compacts all files, False those that a writer would pick. Without buckets, True
            also compacts fewer files than `compaction.min.file-num`.
        places: only these buckets; None: all.

    Raises:
        UnsupportedFeature: the table cannot be written; with `row-tracking.enabled` new files would get new row ids.
        CorruptFile: metadata is missing or damaged.
    """
    check_writable(table.schema, table.settings)
    rules = append_rules(table.settings)
    has_vectors = table.settings.deletion_vectors_enabled
    tasks: list[AppendTask] = []
    for bucket in live_buckets(table, snapshot, predicate, places):
        if table.bucket_mode is BucketMode.BUCKET_UNAWARE:
            vectors = {name: FileVector(d.path, d.cardinality) for name, d in bucket.deletions.items()}
            groups: Sequence[Group] = pick_any_order(bucket.files, rules, vectors, takes_few=full is True)
        elif full is None or full:
            picked = pick_all_neighbours(bucket.files, rules, bucket.deletions.keys(), has_vectors)
            groups = () if picked is None else (picked,)
        else:
            groups = tuple(_picks_of_a_writer(bucket.files, rules))
        tasks += (_task(bucket, group) for group in groups)
    return tuple(tasks)


def _picks_of_a_writer(files: Sequence[DataFileMeta], rules: AppendRules) -> Iterator[Group]:
    """The successive picks of a writer, each after the files of the one before, until nothing is left to pick."""
    left = in_written_order(files)
    while (picked := pick_neighbours(left, rules)) is not None:
        yield picked
        left = left[left.index(picked[-1]) + 1 :]


def _task(bucket: LiveBucket, files: Group) -> AppendTask:
    entry = bucket.entries[0]
    names = {file.file_name for file in files}
    deletions = {name: deletion for name, deletion in bucket.deletions.items() if name in names}
    return AppendTask(entry.partition, entry.bucket, entry.total_buckets, files, deletions)
