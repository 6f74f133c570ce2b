"""Rewrites rows of a table into other buckets, to move postponed rows and to rescale partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.format.bucket import Partition
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.rules.blobs import AS_REFERENCES
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.merge.compaction.clustered_picks import in_order_of_writes
from paimon_spark.merge.compaction.merge import compact_rules
from paimon_spark.merge.compaction.steps import CompactStep
from paimon_spark.merge.keys.sections import partition_sections
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.task import ClusterTask, MergeTask
from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.split_reader import SplitReader
from paimon_spark.store.read.splits import Split, pack_ordered
from paimon_spark.store.rescale.postpone_placement import delete_created, postponed_rows
from paimon_spark.store.write.task_write import FixedBucketWrite
from paimon_spark.store.write.write_plan import WritePlan
from paimon_spark.store.write.write_rules import write_rules

SOURCE_BYTES = 128 * MB  # of postponed files that one task reads
Rows: TypeAlias = Iterator[tuple[pa.RecordBatch, Kinds | None]]


@dataclass(frozen=True)
class Rewrite:
    """One rewrite job; picklable.

    Attributes:
        table: that is read and written.
        sources: of rows; those of a later one are newer.
        numbers: canonical partition -> its number of buckets.
        commit_user: of the job.
        plan: made before the sources were chosen.
        of_stored_rows: the sources give merged rows of the table, which stay as they are.
        level: the new files of a bucket become one sorted run on this level; None: they stay as they are written, on 0.
    """

    table: Table
    sources: tuple[RowSource, ...]
    numbers: Mapping[Partition, int]
    commit_user: str
    plan: WritePlan
    of_stored_rows: bool = False
    level: int | None = None

    @cached_property
    def first_owners(self) -> dict[Partition, int]:
        """For each canonical partition the number of its first bucket, with all buckets numbered consecutively."""
        first, counted = {}, 0
        for partition, number in self.numbers.items():
            first[partition] = counted
            counted += number
        return first

    @property
    def owners(self) -> int:
        """The total number of buckets."""
        return sum(self.numbers.values())

    def partition_of(self, source: RowSource) -> Partition:
        """The canonical partition of a source."""
        return canonical_row(source.partition, self.table.schema.partition_types)

    def write(self, batches: Iterable[tuple[pa.RecordBatch, Kinds | None]]) -> list[CommitMessage]:
        """Writes rows; on any error the new files are deleted.

        Args:
            batches: all rows of some buckets, in order.
        """
        plan = replace(self.plan, buckets=self.numbers)
        rules = write_rules(self.table)
        rules = rules.of_stored_rows() if self.of_stored_rows else rules.of_moved_rows()
        write = FixedBucketWrite(self.table, self.commit_user, 0, plan, rules, moves_rows=True)
        done: list[CommitMessage] = []
        try:
            for batch, kinds in batches:
                write.write(batch, kinds)
            for message in write.finish():
                done.append(message if self.level is None else self._sorted(message, self.level))
        except BaseException:
            write.abort()
            delete_created(self.table, done)
            raise
        return done

    def _sorted(self, message: CommitMessage, level: int) -> CommitMessage:
        """The new files of a bucket as one sorted run: merged into one where they are none, as many rows make them."""
        table = self.table
        if orders_otherwise(table.settings):
            place = message.partition, message.bucket, message.total_buckets
            result = run_task(table, ClusterTask(*place, in_order_of_writes(message.new_files), (), together=True))
            delete_created(table, [message])
            return replace(message, new_files=result.after)
        sections = partition_sections(message.new_files, [f.type for f in table.schema.key_fields])
        if all(len(section) == 1 for section in sections):
            return replace(message, new_files=tuple(f._replace(level=level) for f in message.new_files))
        steps = (CompactStep(tuple(sections), rewrites=True, changelog=False),)
        task = MergeTask(message.partition, message.bucket, message.total_buckets, level, True, steps)
        rules = compact_rules(table.schema, table.settings, level, drop_deletes=not table.settings.chain_table_enabled)
        result = run_task(table, task, rules=rules.of_stored_rows() if self.of_stored_rows else rules)
        delete_created(table, [message])
        return replace(message, new_files=result.after)


def postponed_rewrite(
    table: Table,
    commit_user: str,
    plan: WritePlan,
    files: Mapping[Partition, Sequence[DataFileMeta]],
    numbers: Mapping[Partition, int],
) -> Rewrite:
    """The rewrite that moves the rows of postponed or staged files into buckets.

    Args:
        table: the table.
        commit_user: the commit user of the job.
        plan: the plan of the write.
        files: canonical partition -> its files, oldest first.
        numbers: canonical partition -> its number of buckets.
    """
    sources = [
        PostponedSource(partition, tuple(found[start:end]))
        for partition, found in files.items()
        for start, end in pack_ordered([file.file_size for file in found], SOURCE_BYTES)
    ]
    return Rewrite(table, tuple(sources), numbers, commit_user, plan)


def rewrite_here(rewrite: Rewrite) -> list[CommitMessage]:
    """Runs the job in this thread; on any error the new files are deleted.

    Raises:
        CorruptFile: a file of a source is missing or damaged.
    """
    return rewrite.write(batch for source in rewrite.sources for batch in source.rows(rewrite.table))


@dataclass(frozen=True)
class PostponedSource:
    """Postponed or staged files of one partition, oldest first."""

    partition: bytes
    files: tuple[DataFileMeta, ...]

    def rows(self, table: Table) -> Rows:
        """All columns of the table, in write order; and the kind of each row."""
        return postponed_rows(table, self.partition, self.files)


@dataclass(frozen=True)
class SplitSource:
    """A split: its merged rows."""

    split: Split

    @property
    def partition(self) -> bytes:
        return self.split.partition

    def rows(self, table: Table) -> Rows:
        """All columns of the table; all rows are inserts."""
        settings = table.settings.merged(AS_REFERENCES)  # a write copies the bytes to which references lead
        reader = SplitReader(replace(table, settings=settings), table.schema.fields, AlwaysTrue())
        return ((batch, None) for batch in reader.read(self.split))


RowSource: TypeAlias = PostponedSource | SplitSource
