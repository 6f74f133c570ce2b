"""The input and the result of one compaction task (Java: CompactTask, CompactResult)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.rules.key_clustering import SORTED_LEVEL
from paimon_spark.merge.compaction.steps import CompactStep
from paimon_spark.store.read.splits import DeletionFile


@dataclass(frozen=True)
class MergeTask:
    """One compaction of a bucket of a primary-key table, or a part of one that shares no key with the rest.

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket: number of the bucket.
        total_buckets: the number of buckets that the bucket's files record.
        output_level: the level of all new files.
        drop_deletes: True drops retractions, because no older row of their keys exists.
        steps: the work; the key ranges of steps do not overlap.
        above: files of the bucket on levels higher than output_level; only steps with a changelog use them.
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
        """Bytes of the files that are read; files that are only upgraded do not count."""
        read = (step for step in self.steps if step.rewrites or step.changelog)
        return sum(file.file_size for step in read for file in step.files)


@dataclass(frozen=True)
class AppendTask:
    """Files of one bucket (or partition) of an append table whose rows are written, in this order, to new files.

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket: number of the bucket.
        total_buckets: the number of buckets that the bucket's files record.
        files: in the order of their rows.
        deletions: deletion vectors by data file name.
        leaves_out_deleted: whether deleted rows are left out, and the others get new ids, of a table with data
            evolution, where rows keep their ids otherwise.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    leaves_out_deleted: bool = False

    @property
    def weight(self) -> int:
        """Bytes of the files that are read."""
        return sum(file.file_size for file in self.files)


@dataclass(frozen=True)
class ClusterTask:
    """One compaction of a bucket whose compacted files are sorted by other columns than the key.

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket: number of the bucket.
        total_buckets: the number of buckets that the bucket's files record.
        new: the files of level 0, oldest first: the rows of a later one replace those of an earlier one.
        groups: compacted files that are merged, those of each group into one sorted run.
        together: whether all these files become one sorted run.
        compacted: all compacted files of the bucket: the new rows replace rows of theirs.
        deletions: deletion vectors by data file name, of the compacted files.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new: tuple[DataFileMeta, ...]
    groups: tuple[tuple[DataFileMeta, ...], ...]
    together: bool
    compacted: tuple[DataFileMeta, ...] = ()
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)

    @property
    def output_level(self) -> int:
        """The level of the new files."""
        return SORTED_LEVEL

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        """The files that are replaced."""
        return (*self.new, *(file for group in self.groups for file in group))

    @property
    def weight(self) -> int:
        """Bytes of the files that are read as a whole."""
        return sum(file.file_size for file in self.files)


CompactTask: TypeAlias = MergeTask | AppendTask | ClusterTask


@dataclass(frozen=True)
class CompactTaskResult:
    """The result of a task; nothing is visible before it is committed.

    Attributes:
        partition, bucket, total_buckets: those of the task.
        before: the replaced files.
        after: the new files, in key order.
        changelog: the new changelog files.
        superseded: data file name -> positions (int64, little-endian) that a deletion vector must delete.
        created: the paths of all files that the task wrote, to be deleted if the result is not committed.
        rows_read, rows_written: the rows of the files read, and of the new data files.
        gives_new_ids: whether the rows of a table with data evolution get new ids.
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
    gives_new_ids: bool = False
