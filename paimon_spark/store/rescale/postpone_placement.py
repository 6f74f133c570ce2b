"""Moves staged or postponed rows into buckets, in this process (features 2.2).

Staged rows are moved before their job is committed; postponed rows of the table are moved by a compaction
(``postpone_compact``).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_spark.arrow.row_buckets import assign_buckets
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.bucket import Partition, bucket_fields
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.write_settings import PostponeSettings
from paimon_spark.format.paths import POSTPONE_BUCKET, data_file_path
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.schema import VALUE_KIND, VALUE_KIND_ID
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.file_paths import bucket_directory, created_paths
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.partitions import describe_partition
from paimon_spark.store.metadata.postponed import bucket_number, needed_buckets, positive, write_place
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import FileRequest, StoredFile, read_file
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import submitted
from paimon_spark.store.write.placement import writes_fixed_buckets
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import WritePlan
from paimon_spark.store.write.write_rules import write_rules

_log = logging.getLogger(__name__)

MOVE_THREADS = 4
_KIND_FIELD = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False))


@dataclass(frozen=True)
class Move:
    """Postponed files of a partition, whose rows are moved to some of its buckets.

    Attributes:
        partition: arity-prefixed row.
        files: oldest first.
        total_buckets: the number of buckets of the partition.
        every, first: the rows of the buckets first, first + every, ... are moved, so several moves can share the files.
    """

    partition: bytes
    files: tuple[DataFileMeta, ...]
    total_buckets: int
    every: int = 1
    first: int = 0


def run_move(table: Table, move: Move, commit_user: str, plan: WritePlan, share: int = 1) -> list[CommitMessage]:
    """Writes the rows of a move as level 0 of their buckets; on any error the new files are deleted.

    Args:
        table: with postponed buckets.
        plan: of the job; moved rows get its first sequence numbers.
        share: as of WriteRules.with_buckets.

    Raises:
        CorruptFile: a postponed file is missing or damaged.
    """
    fields = bucket_fields(table.schema, table.settings)
    function = table.settings.bucket_function
    rules = write_rules(table).of_moved_rows().with_buckets(move.total_buckets, share)
    write = TableWrite(table, commit_user, 0, replace(plan, buckets={}), rules=rules)
    try:
        for batch, kinds in postponed_rows(table, move.partition, move.files):
            if move.every > 1:
                buckets = assign_buckets(batch, fields, move.total_buckets, function)
                mine = buckets % move.every == move.first
                batch, kinds = batch.filter(pa.array(mine)), kinds[mine]
            write.write(batch, kinds)
        return write.finish()
    except BaseException:
        write.abort()
        raise


def postponed_rows(
    table: Table, partition: bytes, files: Iterable[DataFileMeta]
) -> Iterator[tuple[pa.RecordBatch, Kinds]]:
    """The rows of postponed files, in their order, with all columns of the table, and their kinds.

    Raises:
        CorruptFile: a file is missing or damaged.
    """
    schema = table.schema
    directory = bucket_directory(table, partition, POSTPONE_BUCKET)
    types = schema.partition_types
    values = dict(zip(schema.partition_keys, decode_arity_row(partition, types), strict=True))
    request = FileRequest(schema.fields, (_KIND_FIELD,))
    for file in files:
        written = schema if file.schema_id == schema.id else table.schemas.load(file.schema_id)
        stored = StoredFile(data_file_path(directory, file), file, written, values)
        for batch in read_file(table.file_io, stored, request):
            kinds: Kinds = batch.column(VALUE_KIND).to_numpy()
            yield batch.select(schema.names), kinds


def plan_moves(partition: bytes, files: Sequence[DataFileMeta], total_buckets: int, parallelism: int) -> Iterator[Move]:
    """The moves of one partition's files, enough to occupy all workers.

    Every move reads all the files; for staged files, which are columnar, this is faster than writing with one worker.
    """
    every = min(total_buckets, parallelism)
    for first in range(every):
        yield Move(partition, tuple(files), total_buckets, every, first)


def place_staged(
    table: Table, commit_user: str, plan: WritePlan, messages: Sequence[CommitMessage]
) -> list[CommitMessage]:
    """Moves the staged rows of a job into buckets, in this process, and deletes the staged files.

    Args:
        table: a table with postponed buckets.
        commit_user: the commit user of the job.
        plan: the plan of the job.
        messages: the messages of all tasks.

    Returns:
        The messages to commit: those without staged files, and those of the moves.

    Raises:
        CorruptFile: a staged file is missing or damaged. After this or any other error nothing is moved, and the files
            of the messages are unchanged.
    """
    if not writes_fixed_buckets(table):
        return list(messages)
    staged, placed = split_staged(messages)
    tell_of_few_buckets(table, placed)
    if not staged:
        return placed
    workers = min(MOVE_THREADS, os.cpu_count() or 1)
    files = staged_files(table, staged)
    numbers = settled_numbers(table, plan, files)
    moves = [move for row, found in files.items() for move in plan_moves(row, found, numbers[row], workers)]
    moved = run_moves(table, moves, commit_user, plan, workers)
    delete_created(table, staged)
    return [*placed, *moved]


def run_moves(
    table: Table, moves: Iterable[Move], commit_user: str, plan: WritePlan, workers: int
) -> list[CommitMessage]:
    """Runs moves in threads of this process; on an error the new files of all moves are deleted.

    Args:
        table: a table with postponed buckets.
        moves: the moves.
        commit_user: the commit user of the job.
        plan: the plan of the job; moved rows get its first sequence numbers.
        workers: the number of threads.

    Raises:
        CorruptFile: a postponed file is missing or damaged.
    """
    with ThreadPoolExecutor(workers) as threads:
        running = [submitted(threads, run_move, table, move, commit_user, plan, workers) for move in moves]
        try:
            return [message for result in running for message in result.result()]
        except BaseException:
            for result in running:
                result.cancel()
            wait(running)
            finished = (r for r in running if not r.cancelled() and r.exception() is None)
            delete_created(table, [message for r in finished for message in r.result()])
            raise


def tell_of_few_buckets(table: Table, messages: Iterable[CommitMessage]) -> None:
    """Logs the partitions that received far more rows from one job than their buckets are sized for.

    The option ``postpone.batch-write-fixed-bucket.rescale-load-factor`` is the threshold; the official system rescales
    these partitions before it writes (Java: PostponeUtils.decideFixedBucketNum).

    Args:
        table: the table.
        messages: the messages of one job, for buckets.
    """
    if not writes_fixed_buckets(table):
        return
    written: dict[bytes, list[CommitMessage]] = {}
    for message in messages:
        written.setdefault(message.partition, []).append(message)
    factor = positive(table.settings, PostponeSettings.rescale_load_factor)
    for partition, found in written.items():
        files, buckets = [f for m in found for f in m.new_files], found[0].total_buckets
        rows, size = sum(f.row_count for f in files), sum(f.file_size for f in files)
        if needed_buckets(rows, size, table.settings) > buckets * factor:
            _log.warning(
                "%s of %s has %d buckets, and got %d rows in %d bytes by one job, for more than %d times as many; "
                "PaimonTable.forPath(spark, path).rescale(%d, where=...) would make reads and writes of it faster",
                *(describe_partition(table, partition), table.location, buckets, rows, size, factor),
                bucket_number(rows, size, table.settings),
            )


def split_staged(messages: Iterable[CommitMessage]) -> tuple[list[CommitMessage], list[CommitMessage]]:
    """The messages that name staged files, and the others."""
    every = list(messages)
    staged = [m for m in every if m.bucket == POSTPONE_BUCKET]
    return staged, [m for m in every if m.bucket != POSTPONE_BUCKET]


def staged_files(table: Table, staged: Sequence[CommitMessage]) -> dict[Partition, tuple[DataFileMeta, ...]]:
    """The staged files of one job, oldest first, by canonical partition.

    Args:
        table: the table.
        staged: the messages with staged files of all tasks of the job.
    """
    types = table.schema.partition_types
    files: dict[Partition, list[DataFileMeta]] = {}
    for message in staged:
        files.setdefault(canonical_row(message.partition, types), []).extend(message.new_files)
    return {row: tuple(sorted(found, key=_task_order)) for row, found in files.items()}


def _task_order(file: DataFileMeta) -> tuple[int, int]:
    place = write_place(file)
    return place.writer, place.number


def delete_created(table: Table, messages: Iterable[CommitMessage]) -> None:
    """Deletes the files of messages that are not and will not be committed."""
    for message in messages:
        discard(table.file_io, created_paths(table, message))


def settled_numbers(
    table: Table, plan: WritePlan, files: Mapping[Partition, Sequence[DataFileMeta]]
) -> dict[Partition, int]:
    """The number of buckets of each partition with postponed rows: the existing number, else what its rows need.

    Args:
        table: the table.
        plan: the plan of the job.
        files: canonical partition -> its postponed files.

    Raises:
        OptionError: an option postpone.* is not positive.
    """
    numbers: dict[Partition, int] = {}
    for row, found in files.items():
        rows, size = sum(f.row_count for f in found), sum(f.file_size for f in found)
        numbers[row] = plan.buckets.get(row) or bucket_number(rows, size, table.settings)
    return numbers
