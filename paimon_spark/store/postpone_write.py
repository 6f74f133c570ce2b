"""Batch writes to a table with postponed buckets, `postpone.batch-write-fixed-bucket` = true (features 2.2).

Rows of a partition that has buckets go there at once. How many buckets a new partition needs is known only when all of
its rows are there: they are staged in files that are never committed, and moved by who commits the job.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.bucketing import Buckets, assign_buckets, group_rows
from paimon_spark.spec import options as o
from paimon_spark.spec.binary_row import decode_arity_row
from paimon_spark.spec.manifest import EMPTY_ROW, DataFileMeta
from paimon_spark.spec.option_catalog import check_writable
from paimon_spark.spec.paths import POSTPONE_BUCKET, data_file_path
from paimon_spark.spec.schema import VALUE_KIND, VALUE_KIND_ID
from paimon_spark.spec.types import DataField, DataType, Root
from paimon_spark.store.bucket_filter import bucket_fields
from paimon_spark.store.file_paths import bucket_directory, created_paths
from paimon_spark.store.file_rows import FileRequest, StoredFile, read_file
from paimon_spark.store.live_files import canonical_row
from paimon_spark.store.messages import CommitMessage
from paimon_spark.store.postpone_files import bucket_number, positive, write_place
from paimon_spark.store.row_rules import Kinds, row_rules
from paimon_spark.store.table import BucketMode, Table
from paimon_spark.store.write import Rows, TableWrite
from paimon_spark.store.write_plan import WritePlan, plan_write

_log = logging.getLogger(__name__)

MOVE_THREADS = 4
STAGE_OWNERS = 64  # so many tasks share the rows of a partition whose number of buckets is not known yet
_KIND_FIELD = DataField(VALUE_KIND_ID, VALUE_KIND, DataType(Root.TINYINT, False))


class TaskWrite(Protocol):
    """One task of a write job: TableWrite, or what does the same over several of them."""

    def write(self, batch: pa.RecordBatch, kinds: Kinds | None = None) -> None: ...

    def finish(self) -> list[CommitMessage]: ...

    def abort(self) -> None: ...


def open_task_write(table: Table, commit_user: str, task_id: int = 0, plan: WritePlan | None = None) -> TaskWrite:
    """The write of one task, as the table's options say; arguments and errors as of TableWrite."""
    if not writes_fixed_buckets(table):
        return TableWrite(table, commit_user, task_id, plan)
    return FixedBucketWrite(table, commit_user, task_id, plan or plan_write(table))


def writes_fixed_buckets(table: Table) -> bool:
    """Whether batch writes to the table, which postpones, choose buckets nevertheless."""
    postpones = table.bucket_mode == BucketMode.POSTPONE_MODE
    return postpones and table.options.value(o.POSTPONE_BATCH_WRITE_FIXED_BUCKET)


def with_buckets(table: Table, buckets: int, share: int = 1) -> Table:
    """The table as one with so many fixed buckets.

    Args:
        share: how many writes of one process divide the write buffer among them.
    """
    buffer = max(table.options.value(o.WRITE_BUFFER_SIZE) // share, o.MB)
    changed = {o.BUCKET.key: str(buckets), o.WRITE_BUFFER_SIZE.key: f"{buffer} b"}
    return replace(table, options=table.options.merged(changed))


def settled_number(table: Table, plan: WritePlan, partition: bytes) -> int | None:
    """The number of buckets of a partition if it is known before its rows are counted.

    Args:
        plan: of the write; its buckets are those of partitions that have some.
        partition: canonical row.

    Raises:
        OptionError: an option postpone.* is not positive.
    """
    known = plan.buckets.get(partition) or positive(table.options, o.POSTPONE_DEFAULT_BUCKET_NUM)
    return known or (1 if positive(table.options, o.POSTPONE_MAX_PARALLELISM) == 1 else None)


def stages_all(table: Table, plan: WritePlan) -> bool:
    """Whether no partition can have a number of buckets before its rows are counted: all rows are staged."""
    return writes_fixed_buckets(table) and not plan.buckets and settled_number(table, plan, EMPTY_ROW) is None


def numbered_buckets(table: Table, plan: WritePlan, batch: pa.RecordBatch) -> Buckets:
    """The bucket of each row in its partition; one of STAGE_OWNERS where the number of buckets is not known yet.

    Args:
        batch: holds the partition and bucket key columns.
    """
    fields, function = bucket_fields(table.schema, table.options), table.options.value(o.BUCKET_FUNCTION)
    by_number: dict[int, list[Rows]] = {}
    for partition, _, positions in group_rows(batch, table.schema.partition_fields, None):
        number = settled_number(table, plan, partition) or STAGE_OWNERS
        by_number.setdefault(number, []).append(positions)
    buckets = np.zeros(batch.num_rows, np.int32)
    for number, parts in by_number.items():
        chosen = np.concatenate(parts)
        buckets[chosen] = assign_buckets(batch, fields, number, function)[chosen]
    return buckets


class FixedBucketWrite:
    """One task of a write job; rows go to the buckets of their partition, or are staged if it has none yet."""

    def __init__(self, table: Table, commit_user: str, task_id: int, plan: WritePlan, moves_rows: bool = False) -> None:
        """
        Args:
            table, commit_user, task_id, plan: as of TableWrite.
            moves_rows: the rows are in the table already, and older than what others write meanwhile.

        Raises:
            As TableWrite, and OptionError: an option postpone.* is not positive.
        """
        self._table = table
        self._user = commit_user
        self._task = task_id
        self._number_task = 0 if moves_rows else task_id + 1
        self._plan = plan
        self._rules = row_rules(table.location, table.schema, table.options)
        self._share = len(set(plan.buckets.values())) + 1
        self._writes: dict[int | None, TableWrite] = {}  # by number of buckets; None: staged
        bucket_number(0, 0, table.options)  # a bad option is told before the first row
        check_writable(table.schema, with_buckets(table, 1).options)

    def write(self, batch: pa.RecordBatch, kinds: Kinds | None = None) -> None:
        """As TableWrite.write."""
        batch, kinds = self._rules.prepare(batch, kinds)
        by_number: dict[int | None, list[Rows]] = {}
        for partition, _, positions in group_rows(batch, self._table.schema.partition_fields, None):
            by_number.setdefault(settled_number(self._table, self._plan, partition), []).append(positions)
        for number, parts in by_number.items():
            if len(by_number) == 1:
                self._write_of(number).write(batch, kinds)
                continue
            chosen = np.sort(np.concatenate(parts))
            self._write_of(number).write(batch.take(pa.array(chosen)), None if kinds is None else kinds[chosen])

    def finish(self) -> list[CommitMessage]:
        """As TableWrite.finish; messages of bucket -2 name staged files, which ``place_staged`` has to move."""
        return [message for write in self._writes.values() for message in write.finish()]

    def abort(self) -> None:
        """As TableWrite.abort."""
        for write in self._writes.values():
            write.abort()

    def _write_of(self, number: int | None) -> TableWrite:
        write = self._writes.get(number)
        if write is None:
            if number is None:
                write = TableWrite(self._table, self._user, self._task, self._plan, staged=True)
            else:
                table, plan = with_buckets(self._table, number, self._share), replace(self._plan, buckets={})
                write = TableWrite(table, self._user, self._number_task, plan)
            self._writes[number] = write
        return write


@dataclass(frozen=True)
class Move:
    """Postponed files of a partition whose rows go to some of its buckets.

    Attributes:
        partition: arity-prefixed row.
        files: oldest first.
        total_buckets: the number of buckets of the partition.
        every, first: rows of the buckets first, first + every, ... are moved: several moves share the files.
    """

    partition: bytes
    files: tuple[DataFileMeta, ...]
    total_buckets: int
    every: int = 1
    first: int = 0


def run_move(table: Table, move: Move, commit_user: str, plan: WritePlan, share: int = 1) -> list[CommitMessage]:
    """Writes the rows of a move as level 0 of their buckets; on any error what it wrote is deleted.

    Args:
        table: with postponed buckets.
        plan: of the job; moved rows get its first sequence numbers.
        share: as of with_buckets.

    Raises:
        CorruptFile: a postponed file is missing or damaged.
    """
    fields = bucket_fields(table.schema, table.options)
    function = table.options.value(o.BUCKET_FUNCTION)
    write = TableWrite(with_buckets(table, move.total_buckets, share), commit_user, 0, replace(plan, buckets={}))
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
    types = [field.type for field in schema.partition_fields]
    values = dict(zip(schema.partition_keys, decode_arity_row(partition, types), strict=True))
    request = FileRequest(schema.fields, (_KIND_FIELD,))
    for file in files:
        written = schema if file.schema_id == schema.id else table.schemas.load(file.schema_id)
        stored = StoredFile(data_file_path(directory, file), file, written, values)
        for batch in read_file(table.file_io, stored, request):
            kinds: Kinds = batch.column(VALUE_KIND).to_numpy()
            yield batch.select(schema.names), kinds


def plan_moves(partition: bytes, files: Sequence[DataFileMeta], total_buckets: int, parallelism: int) -> Iterator[Move]:
    """The moves of one partition's files, so many that as many workers have something to do.

    Every move reads all the files, which costs less than one worker writing all the rows.
    """
    every = min(total_buckets, parallelism)
    for first in range(every):
        yield Move(partition, tuple(files), total_buckets, every, first)


def place_staged(
    table: Table, commit_user: str, plan: WritePlan, messages: Sequence[CommitMessage]
) -> list[CommitMessage]:
    """Moves what the tasks of a job have staged into buckets, in this process, and deletes the staged files.

    Args:
        messages: of all tasks.

    Returns:
        What is to be committed: the other messages, and those of the moves.

    Raises:
        CorruptFile, OSError, ...: nothing is moved; the files of messages are as they were.
    """
    if not writes_fixed_buckets(table):
        return list(messages)
    staged, placed = split_staged(messages)
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
    """Runs moves in threads of this process; on an error what any of them wrote is deleted. Arguments as of run_move.

    Raises:
        As run_move.
    """
    with ThreadPoolExecutor(workers) as threads:
        running = [threads.submit(run_move, table, move, commit_user, plan, workers) for move in moves]
        try:
            return [message for result in running for message in result.result()]
        except BaseException:
            for result in running:
                result.cancel()
            wait(running)
            finished = (r for r in running if not r.cancelled() and r.exception() is None)
            delete_created(table, [message for r in finished for message in r.result()])
            raise


def split_staged(messages: Iterable[CommitMessage]) -> tuple[list[CommitMessage], list[CommitMessage]]:
    """The messages that name staged files, and the others."""
    every = list(messages)
    staged = [m for m in every if m.bucket == POSTPONE_BUCKET]
    return staged, [m for m in every if m.bucket != POSTPONE_BUCKET]


def staged_files(table: Table, staged: Sequence[CommitMessage]) -> dict[bytes, tuple[DataFileMeta, ...]]:
    """What the tasks of one job have staged, oldest first, by canonical partition.

    Args:
        staged: messages of all tasks of one job.
    """
    types = [field.type for field in table.schema.partition_fields]
    files: dict[bytes, list[DataFileMeta]] = {}
    for message in staged:
        files.setdefault(canonical_row(message.partition, types), []).extend(message.new_files)
    return {row: tuple(sorted(found, key=_task_order)) for row, found in files.items()}


def _task_order(file: DataFileMeta) -> tuple[int, int]:
    place = write_place(file)
    return place.writer, place.number


def delete_created(table: Table, messages: Iterable[CommitMessage]) -> None:
    """Deletes the files of messages that nobody has committed or will commit."""
    for message in messages:
        for path in created_paths(table, message):
            try:
                table.file_io.delete(path)
            except OSError as error:
                _log.warning("left behind %s, which no snapshot names: %s", path, error)


def settled_numbers(table: Table, plan: WritePlan, files: Mapping[bytes, Sequence[DataFileMeta]]) -> dict[bytes, int]:
    """The number of buckets of each partition whose rows wait: what it has, else what its rows need.

    Args:
        files: canonical partition -> its files that wait.

    Raises:
        OptionError: an option postpone.* is not positive.
    """
    numbers: dict[bytes, int] = {}
    for row, found in files.items():
        rows, size = sum(f.row_count for f in found), sum(f.file_size for f in found)
        numbers[row] = plan.buckets.get(row) or bucket_number(rows, size, table.options)
    return numbers
