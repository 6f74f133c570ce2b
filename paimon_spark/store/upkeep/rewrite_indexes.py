"""Makes the file indexes of data files that are there (Java: RewriteFileIndexProcedure, FileIndexProcessor).

The data files stay as they are. One COMPACT snapshot replaces their manifest entries by those with the new indexes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from paimon_spark.arrow.file_index.builder import FileIndexBuilder
from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.file_index.container import decode_container
from paimon_spark.format.file_index.settings import IndexSetting, check_type, index_settings
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.paths import INDEX_SUFFIX, data_file_path, extra_file_path
from paimon_spark.format.rules.supported import check_writable, refuse_evolution
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.store.compact.commit import commit_compaction
from paimon_spark.store.compact.live_buckets import LiveBucket, live_buckets
from paimon_spark.store.compact.plan import partition_condition
from paimon_spark.store.compact.task import CompactTaskResult
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_index_files import has_file_index, opened_file_index
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file
from paimon_spark.store.reporting.result import Result, millis_since
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import map_parallel

_TASK_BYTES = 128 * MB
_THREADS = 2  # each holds the columns of a file


@dataclass(frozen=True)
class IndexTask:
    """Some data files of one bucket that get new indexes."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]


BuildIndexes: TypeAlias = Callable[[Table, Sequence[IndexTask]], Sequence[CompactTaskResult]]
"""Runs tasks, all or nothing: here or on a cluster. After an error the files that were made are deleted."""


@dataclass(frozen=True, repr=False)
class RewriteFileIndexResult(Result):
    """The result of making indexes anew.

    Attributes:
        written_partitions: how many partitions have files with new indexes.
        written_indexes: how many files have new indexes; those whose indexes were as they should be are not among them.
        left_out: how many files got none, because other jobs changed their buckets concurrently; run it again for them.
        snapshot_id: the new snapshot; None if there was nothing to change.
        millis: the duration of the call.
    """

    written_partitions: int
    written_indexes: int
    left_out: int
    snapshot_id: int | None
    millis: int


@dataclass(frozen=True)
class IndexOutcome:
    """The result of a task, or the error that ended it."""

    result: CompactTaskResult | None
    error: OSError | CorruptFile | None = None


def build_here(table: Table, tasks: Sequence[IndexTask]) -> list[CompactTaskResult]:
    """Runs the tasks in threads of this process; see BuildIndexes."""
    return settled(table, map_parallel(partial(attempt_indexes, table), tasks, _THREADS))


def attempt_indexes(table: Table, task: IndexTask) -> IndexOutcome:
    """Makes the indexes of a task, as build_indexes does."""
    try:
        return IndexOutcome(build_indexes(table, task))
    except (OSError, CorruptFile) as error:
        return IndexOutcome(None, error)


def settled(table: Table, outcomes: Sequence[IndexOutcome]) -> list[CompactTaskResult]:
    """The results of all tasks. Raises the first error, and then deletes what the other tasks have made."""
    results = [outcome.result for outcome in outcomes if outcome.result is not None]
    for outcome in outcomes:
        if outcome.error is not None:
            discard(table.file_io, [path for result in results for path in result.created])
            raise outcome.error
    return results


def rewrite_file_index(
    table: Table, where: str | Predicate | None = None, run: BuildIndexes = build_here
) -> RewriteFileIndexResult:
    """Gives the data files of a table the indexes that its options ask for, and takes away all others.

    Args:
        table: the table in its latest schema, with the options of the call.
        where: a condition on partition columns; None: all partitions.
        run: runs the tasks.

    Raises:
        OptionError: an option of indexes, or the condition, is not valid.
        UnsupportedFeature: the table cannot be written.
        RetriesExhausted: other writers were faster in every attempt; nothing was committed.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """
    began = time.monotonic()
    check_writable(table.schema, table.settings)
    refuse_evolution(table.settings, f"making indexes of {table.location} anew")
    index_settings(table.settings)
    condition = partition_condition(table, where)
    snapshot = table.snapshots.latest()
    found = live_buckets(table, snapshot, condition)
    results = [r for r in run(table, [task for bucket in found for task in _tasks(bucket)]) if r.after]
    millis = partial(millis_since, began)
    if snapshot is None or not results:
        return RewriteFileIndexResult(0, 0, 0, None, millis())
    made = commit_compaction(table, snapshot, {}, results)
    written = sum(len(message.compact_after) for message in made.messages)
    partitions = {message.partition for message in made.messages}
    total = sum(len(result.after) for result in results)
    return RewriteFileIndexResult(len(partitions), written, total - written, made.snapshot_id, millis())


def build_indexes(table: Table, task: IndexTask) -> CompactTaskResult:
    """Makes the indexes of the files of a task; nothing is visible before the result is committed."""
    created: list[str] = []
    directory = bucket_directory(table, task.partition, task.bucket)
    try:
        pairs = [(file, _with_new_index(table, task, directory, file, created)) for file in task.files]
    except BaseException:
        discard(table.file_io, created)
        raise
    changed = [(old, new) for old, new in pairs if old != new]
    before, after = tuple(old for old, _ in changed), tuple(new for _, new in changed)
    place = (task.partition, task.bucket, task.total_buckets)
    return CompactTaskResult(*place, before, after, created=tuple(created))


def _tasks(bucket: LiveBucket) -> Iterator[IndexTask]:
    """The files of a bucket, in tasks of some size."""
    first = bucket.entries[0]
    chosen: list[DataFileMeta] = []
    for file in bucket.files:
        chosen.append(file)
        if sum(each.file_size for each in chosen) >= _TASK_BYTES:
            yield IndexTask(first.partition, first.bucket, first.total_buckets, tuple(chosen))
            chosen = []
    if chosen:
        yield IndexTask(first.partition, first.bucket, first.total_buckets, tuple(chosen))


def _with_new_index(
    table: Table, task: IndexTask, directory: str, file: DataFileMeta, created: list[str]
) -> DataFileMeta:
    """The file with the indexes that the options ask for; itself if it has them. A new file is added to created."""
    old = _old_index(table, directory, file)
    data = _new_index(table, task, directory, file)
    if (decode_container(data, file.file_name) if data else {}) == old:
        return file
    others = tuple(name for name in file.extra_files if not name.endswith(INDEX_SUFFIX))
    if len(data) <= table.settings.files.index_in_manifest_threshold:
        return file._replace(extra_files=others, embedded_index=data or None)
    name = f"{file.file_name}-{uuid.uuid4()}{INDEX_SUFFIX}"  # another job may be making one too
    path = extra_file_path(directory, file, name)
    created.append(path)
    table.file_io.write_bytes(path, data)
    return file._replace(extra_files=(*others, name), embedded_index=None)


def _old_index(table: Table, directory: str, file: DataFileMeta) -> dict[str, dict[str, bytes | None]]:
    if not has_file_index(file):
        return {}
    with opened_file_index(table.file_io, directory, file) as container:
        return {
            column: {kind: None if part is None else part.take(part.rest) for kind, part in by_kind.items()}
            for column, by_kind in container.items()
        }


def _new_index(table: Table, task: IndexTask, directory: str, file: DataFileMeta) -> bytes:
    """The container of the indexes; empty if the file has no column that gets one."""
    written = table.schema if file.schema_id == table.schema.id else table.schemas.load(file.schema_id)
    settings = _of_schema(index_settings(table.settings), table.schema, written)
    if not settings:
        return b""
    fields = {setting.column: written.by_name[setting.column] for setting in settings}
    partition = _partition_values(table, task.partition)
    legacy = table.settings.files.orc_legacy_ltz
    stored = StoredFile(data_file_path(directory, file), file, written, partition, orc_legacy_ltz=legacy)
    builder = FileIndexBuilder(settings, fields)
    for batch in read_file(table.file_io, stored, FileRequest(tuple(fields.values()))):
        builder.add(batch)
    return builder.to_bytes()


def _of_schema(settings: Sequence[IndexSetting], now: TableSchema, then: TableSchema) -> list[IndexSetting]:
    """The settings for a file of an older schema, in its names.

    Columns that it lacks are left out, and those whose type then can have no such index.
    """
    by_id = {field.id: field for field in then.fields}
    found = []
    for setting in settings:
        field = by_id.get(now.by_name[setting.column].id) if setting.column in now.by_name else None
        if field is not None and _can_be_indexed(setting, field):
            found.append(replace(setting, column=field.name))
    return found


def _can_be_indexed(setting: IndexSetting, field: DataField) -> bool:
    try:
        check_type(setting.kind, setting.data_type(field))
    except UnsupportedFeature:  # the type that the column has now can be indexed, the one that it had could not
        return False
    return True


def _partition_values(table: Table, partition: bytes) -> Mapping[str, object]:
    values = decode_arity_row(partition, table.schema.partition_types)
    return dict(zip(table.schema.partition_keys, values, strict=True))
