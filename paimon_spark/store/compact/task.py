"""What one task of a compaction gets and what it hands back (Java: CompactTask, CompactResult)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.compaction.steps import CompactStep
from paimon_spark.store.read.splits import DeletionFile


@dataclass(frozen=True)
class MergeTask:
    """One compaction of a bucket of a primary-key table, or a part of one that shares no key with the rest.

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket: number of the bucket.
        total_buckets: as the bucket's files name it.
        output_level: of all files that come out.
        drop_deletes: rows that retract do not come out: no file below holds what they retract.
        steps: what happens to the files; the steps share no key.
        above: files of the bucket on levels higher than output_level; only steps with a changelog look at them.
        deletions: deletion vectors by data file name, of the files of the steps and of those above.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    output_level: int
    drop_deletes: bool
    steps: tuple[CompactStep, ...]
    above: tuple[DataFileMeta, ...] = ()
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files of all steps."""
        return tuple(file for step in self.steps for file in step.files)

    @property
    def weight(self) -> int:
        """Bytes of the files that are read; what only changes its level counts for nothing."""
        read = (step for step in self.steps if step.rewrites or step.changelog)
        return sum(file.file_size for step in read for file in step.files)


@dataclass(frozen=True)
class AppendTask:
    """Files of one bucket (or partition) of an append table whose rows, in this order, go into new files.

    Attributes:
        partition, bucket, total_buckets: as of MergeTask.
        files: in the order of their rows.
        deletions: deletion vectors by data file name.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)

    @property
    def weight(self) -> int:
        """Bytes of the files that are read."""
        return sum(file.file_size for file in self.files)


CompactTask: TypeAlias = MergeTask | AppendTask


@dataclass(frozen=True)
class CompactTaskResult:
    """What a task did; nothing is visible before it is committed.

    Attributes:
        partition, bucket, total_buckets: of the task.
        before: the files that go; after: those that come, in key order.
        changelog: changelog files.
        superseded: data file name -> positions (int64, little-endian) that a deletion vector has to delete now.
        created: paths of all files that the task wrote: what to delete if nobody commits the result.
        rows_read, rows_written: rows of the files read, and of the new data files.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    before: tuple[DataFileMeta, ...]
    after: tuple[DataFileMeta, ...]
    changelog: tuple[DataFileMeta, ...] = ()
    superseded: Mapping[str, bytes] = field(default_factory=dict)
    created: tuple[str, ...] = ()
    rows_read: int = 0
    rows_written: int = 0
