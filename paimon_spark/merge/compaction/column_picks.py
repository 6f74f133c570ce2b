"""Which files of a table with data evolution are joined into one (features 3.6; Java: DataEvolutionCompactCoordinator).

The new file has all columns of the rows of some files, whose ids have no gap. It takes the place of all files that have
columns of these rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.merge.compaction.append_picks import AppendRules, Group
from paimon_spark.merge.keys.row_ids import ColumnFiles, column_files, sections_by_row_id

_LEAST = 2  # files that can be joined


def pick_columns(files: Iterable[DataFileMeta], rules: AppendRules, takes_few: bool = False) -> list[Group]:
    """The groups of files that are joined, each into one file.

    Neighbours are joined until they are larger than a full file. Rows that are larger by themselves are joined with no
    others, only their columns are.

    Args:
        files: the files of a bucket, without those of BLOB and VECTOR columns.
        rules: of the table.
        takes_few: whether fewer files than `compaction.min.file-num` are joined too.

    Raises:
        CorruptFile: the metadata of files do not say which rows they have, or differ in it.
    """
    least = _LEAST if takes_few else max(rules.min_files, _LEAST)
    bins: list[list[DataFileMeta]] = [[]]
    size, reach = 0, None
    for group in map(column_files, sections_by_row_id(files)):
        weight = sum(max(file.file_size, rules.open_cost) for file in group.wide)
        if group.first_row_id != reach or weight > rules.target_size or size > rules.target_size:
            bins.append([])
            size = 0
        bins[-1] += _by_age(group)
        size += weight
        reach = group.first_row_id + group.row_count
    return [tuple(found) for found in bins if len(found) >= least]


def _by_age(group: ColumnFiles) -> Iterable[DataFileMeta]:
    return reversed(group.wide)
