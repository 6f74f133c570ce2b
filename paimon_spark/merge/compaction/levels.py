"""The sorted runs of a bucket by level, and the unit picked from them for compaction (Java: Levels, CompactUnit)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from paimon_spark.format.manifest import DataFileMeta


@dataclass(frozen=True)
class LevelRun:
    """One sorted run: a single file of level 0, or all files of a higher level, in no order."""

    level: int
    files: tuple[DataFileMeta, ...]

    @cached_property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.file_size for file in self.files)


@dataclass(frozen=True)
class CompactUnit:
    """Files of one bucket that are compacted together.

    Attributes:
        output_level: the level of the new files.
        files: the input files, in the order of their runs.
        each_alone: every file is rewritten by itself, whatever its size (Java: FileRewriteCompactTask). Only if all
            files are on the output level.
    """

    output_level: int
    files: tuple[DataFileMeta, ...]
    each_alone: bool = False


def level_runs(files: Iterable[DataFileMeta]) -> tuple[LevelRun, ...]:
    """The sorted runs of one bucket: each file of level 0, newest first, then levels 1, 2, ... that have any.

    The newest file has the largest maximum sequence number; where two jobs gave the same, the smaller minimum, then the
    earlier creation, then the smaller name comes first (Java: Levels).

    Args:
        files: live data files of one (partition, bucket), in any order.
    """
    level_0: list[DataFileMeta] = []
    levels: dict[int, list[DataFileMeta]] = {}
    for file in files:
        (level_0 if file.level == 0 else levels.setdefault(file.level, [])).append(file)
    level_0.sort(key=lambda f: (-f.max_sequence_number, f.min_sequence_number, f.creation_time or 0, f.file_name))
    singles = tuple(LevelRun(0, (file,)) for file in level_0)
    return singles + tuple(LevelRun(level, tuple(levels[level])) for level in sorted(levels))


def unit_of_runs(output_level: int, runs: Iterable[LevelRun]) -> CompactUnit:
    """All files of the runs."""
    return CompactUnit(output_level, tuple(file for run in runs for file in run.files))


def top_level(runs: Sequence[LevelRun], num_levels: int) -> int:
    """The highest level that the bucket can have: existing files may be above the configured levels (Java: Levels)."""
    return max([num_levels - 1, *(run.level for run in runs)])
