"""The work of one sort, cut into parts: sources that are read, ranges of keys that are sorted, groups that are written.

Sizes are those of the files that are read. A range fits into the memory of a task; a group is some neighbouring ranges
whose rows one task writes to files of the target size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise

import pyarrow as pa

from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.options.option import MB
from paimon_spark.merge.clustering.strategy import Clustering
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile, pack_ordered
from paimon_spark.store.write.file_layout import file_layout

SOURCE_BYTES = 32 * MB
RANGE_BYTES = 32 * MB  # about four times as many in memory, and twice that while they are sorted
GROUP_BYTES = 128 * MB
MOST_RANGES = 4096  # of one bucket: the ranges of a huge one are larger
SAMPLED_ROWS = 200  # for each range
SAMPLED_FILES = 32
SAMPLED_FILES_OF_RANGE = 2


@dataclass(frozen=True)
class ClusterUnit:
    """Files of one bucket, or of one partition of a table without buckets, that are sorted together.

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket, total_buckets: as the files record them.
        files: that are replaced.
        deletions: deletion vectors by data file name.
        level: of the new files.
        shuffles: whether the rows of all files are sorted together; False: those of each source by themselves.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    level: int = 0
    shuffles: bool = True

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.file_size for file in self.files)

    @property
    def rows(self) -> int:
        return sum(file.row_count for file in self.files)


@dataclass(frozen=True)
class Source:
    """Some files of a unit that one task reads.

    Attributes:
        unit: its number.
        files: of the unit.
        range: the number of the first range of its rows: of its unit, or its own one where rows are not shuffled.
    """

    unit: int
    files: tuple[DataFileMeta, ...]
    range: int


@dataclass(frozen=True)
class ClusterWork:
    """One sort; picklable.

    Attributes:
        table: with the schema that the new files get.
        clustering: the order.
        units: what is sorted.
        range_bytes: the size of a range.
        group_bytes: about what one task writes; None: GROUP_BYTES, or a file if that is larger.
    """

    table: Table
    clustering: Clustering
    units: tuple[ClusterUnit, ...]
    range_bytes: int = RANGE_BYTES
    group_bytes: int | None = None

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """What is read, unit by unit."""
        found = []
        for number, unit in enumerate(self.units):
            first = self.first_ranges[number]
            for place, files in enumerate(self._parts(unit)):
                found.append(Source(number, files, first if unit.shuffles else first + place))
        return tuple(found)

    @cached_property
    def first_ranges(self) -> tuple[int, ...]:
        """The number of the first range of each unit; at last the number of all ranges."""
        return tuple(accumulate((self._ranges(unit) for unit in self.units), initial=0))

    @cached_property
    def groups(self) -> tuple[range, ...]:
        """The ranges of each group, in order; all those of a group are of one unit."""
        found: list[range] = []
        layout = file_layout(self.table.schema, self.table.settings, 0, FileSource.COMPACT)
        target = self.group_bytes or max(GROUP_BYTES, layout.target_bytes)
        for number, unit in enumerate(self.units):
            first, ranges = self.first_ranges[number], self.range_count(number)
            groups = min(max(unit.size // target, 1), ranges)
            cuts = [first + ranges * place // groups for place in range(groups + 1)]
            found += (range(start, end) for start, end in pairwise(cuts))
        return tuple(found)

    @cached_property
    def group_of(self) -> Mapping[int, int]:
        """The number of the group of each range."""
        return {number: group for group, ranges in enumerate(self.groups) for number in ranges}

    def range_count(self, unit: int) -> int:
        """How many ranges the rows of a unit are in."""
        return self.first_ranges[unit + 1] - self.first_ranges[unit]

    def is_cut(self, unit: int) -> bool:
        """True if the rows of a unit are divided by bounds."""
        return self.units[unit].shuffles and self.range_count(unit) > 1

    def unit_of(self, group: int) -> int:
        """The number of the unit of a group."""
        return bisect_right(self.first_ranges, self.groups[group].start) - 1

    def stride(self, unit: int) -> int:
        """One file in so many of a unit is sampled to find its bounds: some for each range, and evenly spread."""
        wanted = max(SAMPLED_FILES, SAMPLED_FILES_OF_RANGE * self.range_count(unit))
        return max(len(self.units[unit].files) // wanted, 1)

    def share(self, unit: int) -> float:
        """The share of the rows of these files that is sampled."""
        rows = SAMPLED_ROWS * self.range_count(unit) * self.stride(unit)
        return min(1.0, rows / max(self.units[unit].rows, 1))

    def task_of(self, unit: int, files: Sequence[DataFileMeta]) -> AppendTask:
        """Files of a unit as the compaction reads and writes them."""
        of = self.units[unit]
        return AppendTask(of.partition, of.bucket, of.total_buckets, tuple(files), of.deletions)

    def _ranges(self, unit: ClusterUnit) -> int:
        if not unit.shuffles:
            return len(list(self._parts(unit)))
        return min(max(-(-unit.size // self.range_bytes), 1), MOST_RANGES)

    def _parts(self, unit: ClusterUnit) -> Iterator[tuple[DataFileMeta, ...]]:
        size = SOURCE_BYTES if unit.shuffles else self.range_bytes
        for start, end in pack_ordered([file.file_size for file in unit.files], size):
            yield unit.files[start:end]


@dataclass(frozen=True)
class Bounds:
    """The bounds of the units whose rows are in several ranges, by the number of the unit."""

    of_unit: Mapping[int, pa.RecordBatch]


@dataclass(frozen=True)
class GroupResult:
    """What a task has written of one group.

    Attributes:
        unit: its number.
        group: that of the group.
        files: new files, in the order of their rows.
        created: the paths of all files that were begun.
        rows: how many rows were written.
    """

    unit: int
    group: int
    files: tuple[DataFileMeta, ...]
    created: tuple[str, ...]
    rows: int
