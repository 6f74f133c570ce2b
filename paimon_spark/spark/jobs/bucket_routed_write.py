"""A rewrite on Spark: some tasks read rows, a shuffle brings those of a bucket together, one task writes the bucket.

Rows travel as blocks of Arrow bytes: values pass through no Spark type, which might not hold them, and Spark sorts few
large rows instead of many small ones. The driver reads no data file.

So what tasks have staged, and what waits in a table with postponed buckets, moves into buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.arrow.row_buckets import Buckets, assign_buckets
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.options.option import MB
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.schema import VALUE_KIND
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.tasks import MESSAGE_ROWS, Task, by_number, collect_messages, in_worker, message_rows
from paimon_spark.spark.write.shuffled_columns import OWNER, PLACE, SHUFFLE_PARTITIONS
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_compact import CompactPostponedResult, PostponeCompaction, compact_postponed
from paimon_spark.store.rescale.postpone_placement import (
    delete_created,
    settled_numbers,
    split_staged,
    staged_files,
    tell_of_few_buckets,
)
from paimon_spark.store.rescale.rewrite import Rewrite, RowSource, postponed_rewrite
from paimon_spark.store.write.placement import writes_fixed_buckets
from paimon_spark.writes.commit_write import abort_job
from paimon_spark.writes.write_job import WriteJob

BLOCK = "block"
BLOCK_BYTES = 2 * MB
WAITING_BYTES = 64 * MB  # of rows that one task has read and not sent off
MAX_READERS = 1000  # Spark tasks that read: many small sources share one
BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BLOCKS = pa.schema([
    pa.field(OWNER, pa.int64(), False), pa.field(PLACE, pa.int64(), False), pa.field(BLOCK, pa.binary(), False)
])  # fmt: skip


@job_errors()
def rewrite_with_spark(spark: SparkSession, rewrite: Rewrite) -> list[CommitMessage]:
    """Does the job on Spark and returns what is to be committed.

    Raises:
        PaimonError: a task raised it.
        Spark's exception for a job that fails otherwise.
    """
    if not rewrite.sources:
        return []
    tasks = min(rewrite.owners, int(spark.conf.get(SHUFFLE_PARTITIONS) or 1))
    numbers = spark.range(0, len(rewrite.sources), 1, min(len(rewrite.sources), MAX_READERS))
    blocks = numbers.mapInArrow(in_worker(_reading(rewrite)), f"{OWNER} bigint, {PLACE} bigint, {BLOCK} binary")
    shuffled = by_number(blocks, OWNER, tasks).sortWithinPartitions(OWNER, PLACE)
    with bounded_batches(spark):
        return collect_messages(shuffled.mapInArrow(in_worker(_writing(rewrite)), MESSAGE_ROWS))


@contextmanager
def bounded_batches(spark: SparkSession) -> Iterator[None]:
    """Spark counts the rows of what it hands to Python; here a row is a block of many."""
    before = spark.conf.get(BATCH_BYTES, None)
    spark.conf.set(BATCH_BYTES, str(WAITING_BYTES))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(BATCH_BYTES)
        else:
            spark.conf.set(BATCH_BYTES, before)


def _reading(rewrite: Rewrite) -> Task:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():  # few
                yield from source_blocks(rewrite, number)

    return read


def _writing(rewrite: Rewrite) -> Task:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from message_rows(write_blocks(rewrite, batches))

    return write


@dataclass
class _Waiting:
    """Rows of one bucket that are not sent off yet."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    bytes: int = 0

    def add(self, rows: pa.RecordBatch) -> None:
        self.batches.append(rows)
        self.bytes += rows.nbytes


def source_blocks(rewrite: Rewrite, number: int) -> Iterator[pa.RecordBatch]:
    """The rows of a source as blocks, each of one bucket: who owns it, its place in the order of rows, Arrow bytes.

    Args:
        number: of the source among those of the job.
    """
    source = rewrite.sources[number]
    first = rewrite.first_owners[rewrite.partition_of(source)]
    waiting: dict[int, _Waiting] = {}
    place = number << 32
    for rows, buckets in _with_buckets(rewrite, source):
        order = np.argsort(buckets, kind="stable")
        cuts = np.flatnonzero(np.diff(buckets[order])) + 1
        for chosen in np.split(order, cuts) if len(order) else []:
            bucket = int(buckets[chosen[0]])
            whole = len(chosen) == rows.num_rows
            waiting.setdefault(bucket, _Waiting()).add(rows if whole else rows.take(pa.array(chosen)))
        crowded = sum(w.bytes for w in waiting.values()) >= WAITING_BYTES
        for bucket in [b for b, w in waiting.items() if crowded or w.bytes >= BLOCK_BYTES]:
            yield _block(first + bucket, place, waiting.pop(bucket))
            place += 1
    for bucket, left in waiting.items():
        yield _block(first + bucket, place, left)
        place += 1


def _with_buckets(rewrite: Rewrite, source: RowSource) -> Iterator[tuple[pa.RecordBatch, Buckets]]:
    """The rows of a source with their kinds as a last column, and the bucket of each."""
    table = rewrite.table
    fields, function = bucket_fields(table.schema, table.settings), table.settings.bucket_function
    total = rewrite.numbers[rewrite.partition_of(source)]
    for batch, kinds in source.rows(table):
        codes = pa.array(np.zeros(batch.num_rows, np.int8) if kinds is None else kinds)
        yield batch.append_column(VALUE_KIND, codes), assign_buckets(batch, fields, total, function)


def _block(owner: int, place: int, waiting: _Waiting) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, waiting.batches[0].schema) as stream:
        for batch in waiting.batches:
            stream.write_batch(batch)
    data = pa.array([sink.getvalue().to_pybytes()], pa.binary())
    return pa.RecordBatch.from_arrays([pa.array([owner]), pa.array([place]), data], schema=_BLOCKS)


def write_blocks(rewrite: Rewrite, batches: Iterator[pa.RecordBatch]) -> list[CommitMessage]:
    """Writes blocks in the order they come, all those of a bucket; on any error what was written is deleted."""
    names = rewrite.table.schema.names

    def rows() -> Iterator[tuple[pa.RecordBatch, Kinds]]:
        for batch in batches:
            for block in batch.column(BLOCK):
                with pa.ipc.open_stream(block.as_buffer()) as stream:
                    for part in stream:
                        yield part.select(names), part.column(VALUE_KIND).to_numpy()

    return rewrite.write(rows())


def place_staged_with_spark(
    spark: SparkSession, job: WriteJob, messages: Sequence[CommitMessage]
) -> Sequence[CommitMessage]:
    """Moves the staged rows of a job into buckets, by Spark tasks, and deletes the staged files.

    On an error the files of all messages are deleted.

    Returns:
        The messages to commit: those without staged files, and those of the moved rows.
    """
    if not writes_fixed_buckets(job.table):
        return messages
    staged, placed = split_staged(messages)
    tell_of_few_buckets(job.table, placed)
    if not staged:
        return placed
    table, files = job.table, staged_files(job.table, staged)
    try:
        numbers = settled_numbers(table, job.plan, files)
        moved = rewrite_with_spark(spark, postponed_rewrite(table, job.commit_user, job.plan, files, numbers))
    except BaseException:
        abort_job(job, messages)
        raise
    delete_created(table, staged)
    return [*placed, *moved]


def compact_postponed_with_spark(
    spark: SparkSession, table: Table, where: str | Predicate | None = None
) -> CompactPostponedResult:
    """Moves all postponed rows of a table into buckets by Spark tasks, and commits them.

    Args:
        spark: the session that runs the tasks.
        table: the table, with the options of the call.
        where: a condition on partition columns; None: all partitions.

    Raises:
        OptionError, PredicateError: the condition does not fit, or an option postpone.* is not positive.
        UnsupportedFeature: the table does not postpone buckets, or cannot be written.
        CommitConflict: other jobs changed all partitions in every try.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """

    def run(compaction: PostponeCompaction, user: str) -> list[CommitMessage]:
        files, numbers = compaction.files, compaction.numbers
        return rewrite_with_spark(spark, postponed_rewrite(table, user, compaction.plan, files, numbers))

    return compact_postponed(table, where, run)
