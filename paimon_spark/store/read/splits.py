"""Splits, the units of a read: files and sections of one bucket, packed to a target size (Java: DataSplit)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain
from typing import TypeAlias, TypeVar

from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta
from paimon_spark.format.manifests.entry_files import EntryFiles
from paimon_spark.format.options.option import MB
from paimon_spark.merge.keys.row_ids import column_files, is_blob_file
from paimon_spark.merge.keys.sections import Section, SortedRun

_LEAST_PIECE = 2 * MB


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The place of the deletion vector of one data file; length as recorded (see format/deletion_vector.py)."""

    path: str
    offset: int
    length: int
    cardinality: int | None = None


class _Files(ABC):
    """The totals of the data files of a unit of a read."""

    __slots__ = ()

    @property
    @abstractmethod
    def files(self) -> Iterator[DataFileMeta]: ...

    @property
    def file_count(self) -> int:
        return sum(1 for _ in self.files)

    @property
    def row_counts(self) -> Iterator[tuple[DataFileMeta, int]]:
        """Each file, with the number of rows that it adds to those of the others."""
        return ((file, file.row_count) for file in self.files)

    @property
    def row_count(self) -> int:
        """Rows in the files: an upper bound of the rows that a read returns."""
        return sum(count for _, count in self.row_counts)

    @property
    def sizes(self) -> Iterator[int]:
        """The bytes of each file."""
        return (file.file_size for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(self.sizes)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file of a chain table lies, which a split has for another partition.

    Attributes:
        branch: whose file it is.
        bucket_path: the directory of its bucket.
    """

    branch: str
    bucket_path: str


@dataclass(frozen=True, slots=True)
class Split(_Files):
    """The part of one (partition, bucket) that one task reads.

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket: number of the bucket.
        bucket_path: directory of the files that have no external path.
        raw_files: files that need no merge, in the order to read them.
        sections: sorted runs that are merged, section by section.
        deletions: deletion vectors by data file name.
        snapshot_id: the snapshot that keeps the files, of a change the oldest one; None: not known.
        branch: whose files they are, in a read through two branches; None: that of the table.
        selections: by data file name, the rows that may satisfy the condition of the read, as their index has them (see
            format/file_index/row_sets); of files that need no merge, and of sections of columns (see selection_name).
        origins: by data file name, where the files of a chain table are from; their rows count as those of the
            partition of the split.
    """

    partition: bytes
    bucket: int
    bucket_path: str
    raw_files: Sequence[DataFileMeta]
    sections: tuple[Section, ...] = ()
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    snapshot_id: int | None = None
    branch: str | None = None
    selections: Mapping[str, bytes] = field(default_factory=dict)
    origins: Mapping[str, Origin] = field(default_factory=dict)

    @property
    def files(self) -> Iterator[DataFileMeta]:
        """All data files of the split."""
        return chain(self.raw_files, self._merged_files)

    @property
    def _merged_files(self) -> Iterator[DataFileMeta]:
        return (file for section in self.sections for run in section for file in run.files)

    @property
    def file_count(self) -> int:
        return len(self.raw_files) + sum(1 for _ in self._merged_files)

    @property
    def sizes(self) -> Iterator[int]:
        """The bytes of each file."""
        return chain(file_sizes(self.raw_files), (file.file_size for file in self._merged_files))

    @property
    def row_count(self) -> int:
        """Rows in the files: an upper bound of the rows that a read returns."""
        return sum(row_counts(self.raw_files)) + sum(count for _, count in self._merged_row_counts)

    @property
    def row_counts(self) -> Iterator[tuple[DataFileMeta, int]]:
        """Each file, with the number of rows that it adds to those of the others: none if it has columns of theirs."""
        return chain(((file, file.row_count) for file in self.raw_files), self._merged_row_counts)

    @property
    def _merged_row_counts(self) -> Iterator[tuple[DataFileMeta, int]]:
        for section in self.sections:
            files = [file for run in section for file in run.files]
            if any(file.first_row_id is None for file in files):
                yield from ((file, file.row_count) for file in files)
            else:
                yield files[0], column_files(section).row_count
                yield from ((file, 0) for file in files[1:])

    def without_statistics(self) -> Split:
        """The split without the statistics of its files, which plans need and readers do not: it travels to tasks."""
        sections = tuple(
            tuple(SortedRun(tuple(map(_without_statistics, run.files))) for run in section) for section in self.sections
        )
        if isinstance(self.raw_files, EntryFiles):  # they have none
            return replace(self, sections=sections)
        return replace(self, raw_files=tuple(map(_without_statistics, self.raw_files)), sections=sections)


def file_sizes(files: Sequence[DataFileMeta]) -> list[int]:
    """The bytes of each file, without making objects of those that are not made yet."""
    return files.sizes if isinstance(files, EntryFiles) else [file.file_size for file in files]


def row_counts(files: Sequence[DataFileMeta]) -> list[int]:
    """The rows of each file, as of file_sizes."""
    return files.row_counts if isinstance(files, EntryFiles) else [file.row_count for file in files]


def selection_name(section: Section) -> str:
    """The name under which a split has the rows of a section that may satisfy the condition (data evolution)."""
    return section[0].files[0].file_name


def _without_statistics(file: DataFileMeta) -> DataFileMeta:
    return file._replace(value_stats=EMPTY_STATS, value_stats_cols=None, embedded_index=None)


@dataclass(frozen=True, slots=True)
class DiffSplit(_Files):
    """Two states of the same keys; a task reads their difference (Java: IncrementalSplit).

    Each side has one split per bucket; files of tables with keys are all in its sections, which are in key order.
    """

    before: tuple[Split, ...]
    after: tuple[Split, ...]

    @property
    def files(self) -> Iterator[DataFileMeta]:
        """All data files of both states; a file that is live in both occurs twice, because it is read twice."""
        for split in (*self.before, *self.after):
            yield from split.files


@dataclass(frozen=True, slots=True)
class PostponeSplit(_Files):
    """Some buckets of a partition, and the postponed rows that belong to them (Java: PostponeMergePlan).

    Attributes:
        partition: arity-prefixed BinaryRow.
        real: one split per bucket; all their files are in sections.
        postponed: the postponed files of the partition, oldest first; all their rows are newer than those of real.
        postponed_path: the directory of the postponed files.
        first_sequence: a sequence number above those of all rows of the partition's buckets.
        total_buckets: the number of buckets of the partition.
        every, first: the split has the postponed rows of the buckets first, first + every, ...
        snapshot_id: the snapshot that keeps the files.
        branch: as of Split.
    """

    partition: bytes
    real: tuple[Split, ...]
    postponed: tuple[DataFileMeta, ...]
    postponed_path: str
    first_sequence: int
    total_buckets: int
    every: int
    first: int
    snapshot_id: int | None = None
    branch: str | None = None

    @property
    def files(self) -> Iterator[DataFileMeta]:
        """All data files of the split."""
        for split in self.real:
            yield from split.files
        yield from self.postponed


ReadUnit: TypeAlias = Split | DiffSplit | PostponeSplit
Unit = TypeVar("Unit", bound=ReadUnit)


def pack_ordered(weights: Sequence[int], target: int) -> list[tuple[int, int]]:
    """Packs neighbouring items into bins of at most the target weight, or one item (Java: BinPacking.packForOrdered).

    Args:
        weights: of the items; none is negative.
        target: the most that a bin of several items weighs.

    Returns:
        For each bin the index of its first item, and the index after its last.
    """
    bins: list[tuple[int, int]] = []
    ends, start, before = list(accumulate(weights)), 0, 0
    while start < len(ends):
        end = max(bisect_right(ends, before + target, start), start + 1)
        bins.append((start, end))
        start, before = end, ends[end - 1]
    return bins


def pack_parts(
    files: Sequence[DataFileMeta], sections: Sequence[Section], target: int, open_cost: int, counts_blobs: bool = True
) -> Iterator[tuple[Sequence[DataFileMeta], tuple[Section, ...]]]:
    """The files and sections of one bucket in groups, one for each split; the order is kept, files are first.

    Args:
        files: files that need no merge.
        sections: sections to merge; a section is never divided.
        target: bytes of a split.
        open_cost: the least bytes that a file or section counts as.
        counts_blobs: False: a file of a BLOB column counts as open_cost (Java: DataEvolutionSplitGenerator).
    """
    weights = [size if size > open_cost else open_cost for size in file_sizes(files)]  # max() takes twice as long
    for section in sections:
        sizes = (
            file.file_size if counts_blobs or not is_blob_file(file) else open_cost
            for run in section
            for file in run.files
        )
        weights.append(max(sum(sizes), open_cost))
    given, count = files if isinstance(files, EntryFiles) else tuple(files), len(files)
    for start, end in pack_ordered(weights, target):
        yield given[start:end], tuple(sections[max(start - count, 0) : max(end - count, 0)])


def divided(units: Sequence[ReadUnit], count: int) -> list[ReadUnit]:
    """The same files in the same order in about so many units, for threads of one process: tasks need larger ones.

    Merged sections stay together, and small files: a thread for each would take longer than one for all.
    """
    most = max(sum(unit.size for unit in units) // count, _LEAST_PIECE)
    return [piece for unit in units for piece in (_pieces(unit, most) if isinstance(unit, Split) else (unit,))]


def _pieces(split: Split, most: int) -> Iterator[Split]:
    """Pieces of a split with so many bytes at most, or one file, or all sections."""
    if len(split.raw_files) + bool(split.sections) <= 1 or split.size <= most:
        yield split
        return
    for start, end in pack_ordered(file_sizes(split.raw_files), most):
        yield replace(split, raw_files=split.raw_files[start:end], sections=())
    if split.sections:
        yield replace(split, raw_files=())


def group_splits(splits: Sequence[Unit], target: int, open_cost: int, parallelism: int = 8) -> list[tuple[Unit, ...]]:
    """Neighbouring splits in groups for one task each: many small buckets must not become as many tasks.

    Args:
        splits: the splits of a plan.
        target: the most bytes for one task, unless a single split is larger.
        open_cost: the least bytes that a file counts as.
        parallelism: the wanted number of tasks; tasks are smaller than target to reach it (Java: BinPackingSplits).
    """
    weights = [weight_of(split, open_cost) for split in splits]
    return [tuple(splits[start:end]) for start, end in fair_bins(weights, target, open_cost, parallelism)]


def weight_of(split: ReadUnit, open_cost: int) -> int:
    """The bytes of the files of a split, each counted as open_cost at least."""
    return sum(max(size, open_cost) for size in split.sizes)


def fair_bins(weights: Sequence[int], target: int, open_cost: int, parallelism: int = 8) -> list[tuple[int, int]]:
    """Neighbouring items in bins, one for each task; as group_splits and pack_ordered say."""
    return pack_ordered(weights, max(open_cost, min(target, sum(weights) // parallelism)))
