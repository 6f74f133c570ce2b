"""Which files of a table with data evolution are joined into one (features 3.6; Java: DataEvolutionCompactCoordinator).

The new file has all columns of the rows of some files, whose ids have no gap. It takes the place of all files that have
columns of these rows.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.compaction.append_picks import AppendRules, Group
from paimon_spark.merge.keys.row_ids import (
    ColumnFiles,
    column_files,
    end_id,
    first_id,
    is_part_file,
    sections_by_row_id,
)

NOTHING_DELETED: Mapping[str, int | None] = {}
_LEAST = 2  # files that can be joined


@dataclass(frozen=True)
class ColumnPicks:
    """The groups of files of a bucket that are joined, each into one file.

    Attributes:
        wide: files of columns that have no files of their own.
        blobs: files of one BLOB column each.
        rewritten: all files that have columns of some rows of which some are deleted; those that stay get new ids.
    """

    wide: list[Group]
    blobs: list[Group]
    rewritten: list[Group] = field(default_factory=list)


@dataclass(frozen=True)
class PartRules:
    """What is known of files of columns that are apart from the others.

    Attributes:
        part_of: what the file has: the id of a BLOB column, also of one that was dropped, or a name of some VECTOR
            columns of one schema.
        joined: the ids of the BLOB columns whose files are joined too.
        target_size: smaller ones are joined with their neighbours until they have as many bytes.
    """

    part_of: Callable[[DataFileMeta], Hashable]
    joined: frozenset[int]
    target_size: int


def pick_columns(
    files: Iterable[DataFileMeta],
    rules: AppendRules,
    takes_few: bool = False,
    parts: PartRules | None = None,
    deleted: Mapping[str, int | None] = NOTHING_DELETED,
) -> ColumnPicks:
    """The groups of files that are joined.

    Neighbours are joined until they are larger than a full file. Rows that are larger by themselves are joined with no
    others, only their columns are. Files of BLOB columns are joined within the rows of one file of the other columns,
    if at all; those of VECTOR columns are not. Where some rows have files of such a column, and their neighbours were
    written before the column was added, both stay apart: Java reads such files only if they have all rows of a file of
    the other columns.

    Args:
        files: the files of a bucket.
        rules: of the table.
        takes_few: whether fewer files than `compaction.min.file-num` are joined too.
        parts: of the table; None: no columns are apart from the others, and none were.
        deleted: how many rows of a file are deleted that are to be left out, by its name; None: it is not known. Files
            without such rows are joined with files with them where they are neighbours.

    Raises:
        CorruptFile: the metadata of files do not say which rows they have, or differ in it.
    """
    apart: list[DataFileMeta] = []
    wide: list[DataFileMeta] = []
    for file in files:
        (apart if parts is not None and is_part_file(file) else wide).append(file)
    found = _Parts(apart, parts)
    least = _LEAST if takes_few else max(rules.min_files, _LEAST)
    picks = ColumnPicks([], [])
    for groups in _bins(wide, rules, found, deleted):
        if any(_anchor_name(group) in deleted for group in groups):
            picks.rewritten.append((*(file for group in groups for file in group.wide), *found.of(groups)))
            continue
        joined = tuple(file for group in groups for file in _by_age(group))
        is_joined = len(joined) >= least
        if is_joined:
            picks.wide.append(joined)
        for together in [groups] if is_joined else [[group] for group in groups]:
            picks.blobs.extend(found.picks(together))
    return picks


def _anchor_name(group: ColumnFiles) -> str | None:
    return None if group.anchor is None else group.anchor.file_name


def _share_left(group: ColumnFiles, deleted: Mapping[str, int | None]) -> float:
    """The share of rows that is left where deleted ones are left out."""
    count = deleted.get(_anchor_name(group) or "")
    return 1.0 if count is None or not group.row_count else max(group.row_count - count, 0) / group.row_count


def _bins(
    files: Iterable[DataFileMeta], rules: AppendRules, parts: _Parts, deleted: Mapping[str, int | None]
) -> Iterator[list[ColumnFiles]]:
    """The neighbouring rows that may come into one file."""
    taken: list[ColumnFiles] = []
    size, reach, columns = 0, -1, frozenset[Hashable]()
    for group in map(column_files, sections_by_row_id(files)):
        share = _share_left(group, deleted)
        weight = sum(max(math.ceil(file.file_size * share), rules.open_cost) for file in group.wide)
        own = parts.columns(group)
        is_full = weight > rules.target_size or size > rules.target_size
        if taken and (group.first_row_id != reach or is_full or own != columns):
            yield taken
            taken, size = [], 0
        taken.append(group)
        size, reach, columns = size + weight, group.first_row_id + group.row_count, own
    if taken:
        yield taken


class _Parts:
    """Files of columns that are apart from the others, by their rows."""

    def __init__(self, files: Iterable[DataFileMeta], rules: PartRules | None) -> None:
        self._files = sorted(files, key=first_id)
        self._rules = rules

    def columns(self, group: ColumnFiles) -> frozenset[Hashable]:
        """What the files of some rows have."""
        rules = self._rules
        return frozenset() if rules is None else frozenset(rules.part_of(file) for file in self.of([group]))

    def picks(self, groups: Sequence[ColumnFiles]) -> Iterator[Group]:
        """The files that are joined among those of neighbouring rows: files that have values of the same rows, and of
        the others small neighbours."""
        rules = self._rules
        if rules is None or not rules.joined:
            return
        by_column: dict[Hashable, list[DataFileMeta]] = {}
        for file in self.of(groups):
            by_column.setdefault(rules.part_of(file), []).append(file)
        for files in (files for column, files in by_column.items() if column in rules.joined):
            sections = [tuple(file for run in section for file in run.files) for section in sections_by_row_id(files)]
            yield from (section for section in sections if len(section) >= _LEAST)
            alone = [section[0] for section in sections if len(section) < _LEAST]
            yield from (found for found in _small_neighbours(alone, rules.target_size) if len(found) >= _LEAST)

    def of(self, groups: Sequence[ColumnFiles]) -> Sequence[DataFileMeta]:
        """The files that have values of some neighbouring rows."""
        last = groups[-1]
        start = bisect_left(self._files, groups[0].first_row_id, key=first_id)
        return self._files[start : bisect_left(self._files, last.first_row_id + last.row_count, key=first_id)]


def _small_neighbours(files: Iterable[DataFileMeta], target_size: int) -> Iterator[Group]:
    taken: list[DataFileMeta] = []
    for file in files:
        is_small = file.file_size < target_size
        if taken and not (is_small and end_id(taken[-1]) == first_id(file)):
            yield tuple(taken)
            taken = []
        if is_small:
            taken.append(file)
            if len(taken) >= _LEAST and sum(file.file_size for file in taken) >= target_size:
                yield tuple(taken)
                taken = []
    yield tuple(taken)


def _by_age(group: ColumnFiles) -> Iterable[DataFileMeta]:
    return reversed(group.wide)
