"""Plans the compaction of a table without primary key (features 3.6).

Java: AppendCompactCoordinator for tables without buckets, BucketedAppendCompactManager for those with.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.bucket import Place
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.paths import file_format_of
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
from paimon_spark.merge.compaction.column_picks import NOTHING_DELETED, PartRules, pick_columns
from paimon_spark.merge.keys.row_ids import is_blob_file, is_part_file
from paimon_spark.store.compact.live_buckets import TRUE, LiveBucket, live_buckets
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.read.file_statistics import ids_of_file
from paimon_spark.store.write.file_layout import blob_layouts


def plan_append_compaction(
    table: Table,
    snapshot: Snapshot | None,
    predicate: Predicate = TRUE,
    full: bool | None = None,
    places: Collection[Place] | None = None,
) -> tuple[AppendTask, ...]:
    """The tasks of a compaction of an append table, each with the files that are rewritten together.

    Rows keep their order within a task; in buckets a task has neighbouring files only, so that rows keep their order.
    Without buckets there is no order: any files of a partition may be rewritten together. With data evolution a task
    has all files with columns of some neighbouring rows.

    Args:
        table: a table without primary key, with the options of the call.
        snapshot: the snapshot to plan on; None: the table has none.
        predicate: a condition on partition columns.
        full: in buckets, True or None compacts all files, False those that a writer would pick. Without buckets, True
            also compacts fewer files than `compaction.min.file-num`.
        places: only these buckets; None: all.

    Raises:
        UnsupportedFeature: the table cannot be written, or its columns cannot be joined.
        CorruptFile: metadata is missing or damaged.
    """
    check_writable(table.schema, table.settings)
    evolves = table.settings.data_evolution_enabled
    has_vectors = table.settings.deletion_vectors_enabled
    leaves_out = evolves and has_vectors and table.settings.data_evolution_rewrite_row_ids
    rules, parts = append_rules(table.settings), _part_rules(table)
    tasks: list[AppendTask] = []
    for bucket in live_buckets(table, snapshot, predicate, places):
        if evolves:
            deleted = {name: d.cardinality for name, d in bucket.deletions.items()} if leaves_out else NOTHING_DELETED
            picks = pick_columns(_joinable(table, bucket.files), rules, full is True, parts, deleted)
            groups: Sequence[Group] = (*picks.wide, *picks.blobs)
            tasks += (replace(_task(bucket, _rewritable(table, g)), leaves_out_deleted=True) for g in picks.rewritten)
        elif table.bucket_mode is BucketMode.BUCKET_UNAWARE:
            vectors = {name: FileVector(d.path, d.cardinality) for name, d in bucket.deletions.items()}
            groups = pick_any_order(bucket.files, rules, vectors, takes_few=full is True)
        elif full is None or full:
            picked = pick_all_neighbours(bucket.files, rules, bucket.deletions.keys(), has_vectors)
            groups = () if picked is None else (picked,)
        else:
            groups = tuple(_picks_of_a_writer(bucket.files, rules))
        tasks += (_task(bucket, group) for group in groups)
    return tuple(tasks)


def _vector_file(files: Sequence[DataFileMeta]) -> DataFileMeta | None:
    """The first file that has VECTOR columns apart from the others; None: there is none."""
    return next((file for file in files if is_part_file(file) and not is_blob_file(file)), None)


def _joinable(table: Table, files: Sequence[DataFileMeta]) -> Sequence[DataFileMeta]:
    """The files, unless some have VECTOR columns apart from the others, and new ones would not.

    Raises:
        UnsupportedFeature: there are such files.
    """
    part = _vector_file(files)
    if part is not None and table.settings.files.vector_format is None:
        raise UnsupportedFeature(
            f"compacting {table.location}: {part.file_name} has VECTOR columns apart from the others, and the table "
            f"has no option '{FileSettings.vector_format.key}' that says so; set it to the format of this file first"
        )
    return files


def _rewritable(table: Table, files: Group) -> Group:
    """The files, unless some have VECTOR columns apart from the others, which the official system does not write anew.

    Raises:
        UnsupportedFeature: there are such files.
    """
    part = _vector_file(files)
    if part is not None:
        raise UnsupportedFeature(
            f"compacting {table.location}: {part.file_name} has VECTOR columns apart from the others, and rows with "
            "such files get no new ids, neither here nor in the official system; compact the table with "
            f"'{TableSettings.data_evolution_rewrite_row_ids.key}' set to false"
        )
    return files


def _part_rules(table: Table) -> PartRules:
    layouts = blob_layouts(table.schema, table.settings, table.schema.names)
    columns: dict[tuple[int, tuple[str, ...] | None], int] = {}

    def part_of(file: DataFileMeta) -> Hashable:
        key = file.schema_id, file.write_cols
        if not is_blob_file(file):
            return *key, file_format_of(file.file_name)
        if key not in columns:
            (columns[key],) = ids_of_file(file, table.schema, table.schemas.load)
        return columns[key]

    joined = [table.schema.by_name[layout.column].id for layout in layouts if table.settings.compaction.blobs]
    return PartRules(part_of, frozenset(joined), layouts[0].target_bytes if layouts else 0)


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
