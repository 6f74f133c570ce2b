"""Finds the files of a bucket that must be merged together (Java: IntervalPartition, SortedRun; format section 7.2)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.key_order import SortKey, key_range_of


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Files whose key ranges ascend without overlap: read one after the other they are one sorted stream."""

    files: tuple[DataFileMeta, ...]

    def __iter__(self) -> Iterator[DataFileMeta]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)


Section: TypeAlias = tuple[SortedRun, ...]


@dataclass(frozen=True, slots=True)
class _Range:
    """A file with its first and last key."""

    first: SortKey
    last: SortKey
    file: DataFileMeta


def partition_sections(files: Sequence[DataFileMeta], key_types: Sequence[DataType]) -> list[Section]:
    """Splits the files of one bucket into sections that share no key, each with as few sorted runs as possible.

    Sections are in key order. A section of one run needs no merge. The runs of a section are not ordered by age: see
    ``runs_by_age``.

    Args:
        files: live data files of one (partition, bucket), in any order.
        key_types: types of the trimmed primary key, in key order.

    Raises:
        CorruptFile: a minimum or maximum key does not decode, or holds a null.
    """
    return [_fewest_runs(section) for section in _ranges_by_section(files, key_types)]


def runs_by_age(section: Section, key_types: Sequence[DataType]) -> Section | None:
    """The files of a section as runs in which a later run is newer wherever keys overlap; None if that is impossible.

    The age of a row then follows from its run, so ``_SEQUENCE_NUMBER`` need not be read. It is possible if, of any two
    files whose key ranges overlap, one has only smaller sequence numbers than the other. Each file, oldest first, is
    put into the first run above every file that it overlaps. The result is also None if this takes more than twice as
    many runs as the section has: reading that many files at once costs more than reading the numbers.
    """
    files = [file for run in section for file in run]
    (ranges,) = _ranges_by_section(files, key_types)
    place = {key: i for i, key in enumerate(sorted({key for r in ranges for key in (r.first, r.last)}))}
    height = np.zeros(len(place), np.int64)
    newest = np.full(len(place), np.iinfo(np.int64).min, np.int64)
    runs: list[list[_Range]] = []
    for item in sorted(ranges, key=lambda r: (r.file.min_sequence_number, r.file.max_sequence_number)):
        covered = slice(place[item.first], place[item.last] + 1)
        level = int(height[covered].max())
        if item.file.min_sequence_number <= newest[covered].max():
            return None
        if level == len(runs):
            runs.append([])
        runs[level].append(item)
        height[covered] = level + 1
        newest[covered] = item.file.max_sequence_number
    if len(runs) > 2 * len(section):
        return None
    return tuple(_sorted_run(sorted(run, key=lambda r: r.first)) for run in runs)


def _ranges_by_section(files: Sequence[DataFileMeta], key_types: Sequence[DataType]) -> list[list[_Range]]:
    """The files with their key ranges, sorted by (first, last) and cut where no earlier file reaches."""
    key_range = key_range_of(key_types)
    ranges = sorted((_Range(*key_range(file), file) for file in files), key=lambda r: (r.first, r.last))
    sections: list[list[_Range]] = []
    reach: SortKey = ()
    for item in ranges:
        if not sections or reach < item.first:
            sections.append([])
        sections[-1].append(item)
        reach = max(reach, item.last)
    return sections


def _fewest_runs(section: list[_Range]) -> Section:
    """Append each file to the run that ends first, or to a new run if it ends too late (interval partitioning)."""
    runs: list[list[_Range]] = []
    ends: list[tuple[SortKey, int]] = []
    for item in section:
        if ends and ends[0][0] < item.first:
            run = ends[0][1]
            runs[run].append(item)
            heapq.heapreplace(ends, (item.last, run))
        else:
            heapq.heappush(ends, (item.last, len(runs)))
            runs.append([item])
    return tuple(_sorted_run(run) for run in runs)


def _sorted_run(ranges: Sequence[_Range]) -> SortedRun:
    return SortedRun(tuple(r.file for r in ranges))
