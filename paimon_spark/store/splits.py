"""The units of a read: sections that one task reads, packed to a target size (Java: DataSplit, SplitGenerator)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from paimon_spark.merge.sections import SortedRun
from paimon_spark.spec.manifest import EMPTY_ROW, DataFileMeta

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """Where the deletion vector of one data file lies; length as recorded (see spec/deletion_vector.py)."""

    path: str
    offset: int
    length: int
    cardinality: int | None = None


@dataclass(frozen=True, slots=True)
class SplitSection:
    """Files that no other file of the scan shares a key with: one run is read as it is, several are merged."""

    runs: tuple[SortedRun, ...]

    @property
    def needs_merge(self) -> bool:
        return len(self.runs) > 1

    @property
    def files(self) -> Iterator[DataFileMeta]:
        return (file for run in self.runs for file in run.files)


@dataclass(frozen=True, slots=True)
class Split:
    """What one task reads: sections of one (partition, bucket).

    Attributes:
        partition: arity-prefixed BinaryRow.
        bucket: the bucket, -1 never.
        bucket_path: directory of the files that name no path of their own.
        sections: read one after the other.
        deletions: deletion vectors by data file name.
    """

    partition: bytes
    bucket: int
    bucket_path: str
    sections: tuple[SplitSection, ...]
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)

    @property
    def files(self) -> Iterator[DataFileMeta]:
        return (file for section in self.sections for file in section.files)

    @property
    def file_count(self) -> int:
        return sum(1 for _ in self.files)

    @property
    def row_count(self) -> int:
        """Rows in the files: an upper bound of the rows that a read returns."""
        return sum(file.row_count for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.file_size for file in self.files)

    @property
    def exact_row_count(self) -> int | None:
        """The rows that a read without a condition returns; None when only reading can tell."""
        total = 0
        for section in self.sections:
            if section.needs_merge:
                return None
            for file in section.files:
                deletion = self.deletions.get(file.file_name)
                if file.delete_row_count != 0 and file.min_key != EMPTY_ROW:  # append tables have no retractions
                    return None
                if deletion is not None and deletion.cardinality is None:
                    return None
                total += file.row_count - (0 if deletion is None else deletion.cardinality or 0)
        return total


def raw_section(file: DataFileMeta) -> SplitSection:
    return SplitSection((SortedRun((file,)),))


def pack_ordered(items: Iterable[T], weight: Callable[[T], int], target: int) -> list[list[T]]:
    """Consecutive items in bins of at most the target weight, or of one item (Java: BinPacking.packForOrdered)."""
    bins: list[list[T]] = []
    room = -1
    for item in items:
        item_weight = weight(item)
        if item_weight > room or not bins:
            bins.append([])
            room = target
        bins[-1].append(item)
        room -= item_weight
    return bins


def section_weight(section: SplitSection, open_cost: int) -> int:
    """The size of a section in bytes, at least the cost of opening a file."""
    return max(sum(file.file_size for file in section.files), open_cost)


def pack_sections(sections: Sequence[SplitSection], target: int, open_cost: int) -> list[tuple[SplitSection, ...]]:
    """Sections of one bucket in groups for one split each; order is kept."""
    return [tuple(group) for group in pack_ordered(sections, lambda s: section_weight(s, open_cost), target)]
