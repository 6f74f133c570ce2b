"""Finds the files that hold the columns of the same rows, in tables with data evolution (format section 10).

The rows of such a file have consecutive ids. A write that changes some columns adds files with these columns alone, for
the same ids; of each column the newest file counts. Files of BLOB columns, and of VECTOR columns with a format of their
own, may have some of the rows only (Java: DataEvolutionSplitGenerator, DataEvolutionSplitRead, RangeHelper).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimon_spark.errors import CorruptFile
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.paths import VECTOR_MARK
from paimon_spark.merge.keys.sections import Section, SortedRun

_BLOB_SUFFIX = ".blob"


def is_blob_file(file: DataFileMeta) -> bool:
    """True if the file has the values of one BLOB column."""
    return file.file_name.endswith(_BLOB_SUFFIX)


def is_part_file(file: DataFileMeta) -> bool:
    """True if the file has columns that are kept apart from the others, perhaps of some rows only."""
    return is_part_name(file.file_name)


def is_part_name(name: str) -> bool:
    """True if a file of this name has columns that are kept apart from the others, perhaps of some rows only."""
    return name.endswith(_BLOB_SUFFIX) or f"{VECTOR_MARK}." in name


def first_id(file: DataFileMeta) -> int:
    """The id of the first row of a file.

    Raises:
        CorruptFile: its metadata do not say.
    """
    if file.first_row_id is None:
        raise CorruptFile(
            f"reading the data file {file.file_name}: its manifest does not say which row ids it has, and the table "
            "has data evolution; it was written before 'row-tracking.enabled' was set, or the table is damaged"
        )
    return file.first_row_id


def end_id(file: DataFileMeta) -> int:
    """The id after that of the last row of a file. For errors see first_id."""
    return first_id(file) + file.row_count


@dataclass(frozen=True)
class ColumnFiles:
    """The files that hold the columns of some rows.

    Attributes:
        wide: files that have all of the rows, the newest first.
        parts: files of BLOB and VECTOR columns, by their first row, then the newest first.
        first_row_id: the id of the first row.
        row_count: how many rows there are.
    """

    wide: tuple[DataFileMeta, ...]
    parts: tuple[DataFileMeta, ...]
    first_row_id: int
    row_count: int

    @property
    def anchor(self) -> DataFileMeta | None:
        """The file under whose name deletion vectors of the rows are (Java: DataEvolutionUtils.retrieveAnchorFile)."""
        return min(self.wide, key=lambda file: (file.max_sequence_number, file.file_name), default=None)

    @property
    def is_one_file(self) -> bool:
        """True if all columns are in one file, so that nothing has to be put together."""
        return len(self.wide) == 1 and not self.parts


def sections_by_row_id(files: Iterable[DataFileMeta]) -> list[Section]:
    """The files of a bucket in sections that share no row, in the order of row ids; each file is a run of its own.

    Raises:
        CorruptFile: the metadata of a file do not say which row ids it has.
    """
    sections: list[list[DataFileMeta]] = []
    reach = 0
    for file in sorted(files, key=first_id):  # stable: files of one section keep the order of the manifests
        if not sections or first_id(file) >= reach:
            sections.append([])
            reach = 0
        sections[-1].append(file)
        reach = max(reach, end_id(file))
    return [tuple(SortedRun((file,)) for file in section) for section in sections]


def column_files(section: Section) -> ColumnFiles:
    """The files of a section in the order in which they are looked at.

    Raises:
        CorruptFile: two files that are not parts have different rows.
    """
    files = [file for run in section for file in run.files]
    wide = sorted((f for f in files if not is_part_file(f)), key=lambda f: f.max_sequence_number, reverse=True)
    parts = sorted((f for f in files if is_part_file(f)), key=lambda f: (first_id(f), -f.max_sequence_number))
    first, end = min(map(first_id, files)), max(map(end_id, files))
    for file in wide:
        if (first_id(file), end_id(file)) != (first, end):
            raise CorruptFile(
                f"reading the data file {file.file_name}: it has the row ids {first_id(file)} to {end_id(file) - 1}, "
                f"and other files that have columns of these rows have {first} to {end - 1}; a file is missing in the "
                "metadata, or they are damaged"
            )
    return ColumnFiles(tuple(wide), tuple(parts), first, end - first)


def anchor_of(group: ColumnFiles) -> DataFileMeta:
    """The anchor of files that hold the columns of some rows.

    Raises:
        CorruptFile: there is none, but files of BLOB or VECTOR columns.
    """
    if group.anchor is None:
        raise CorruptFile(
            f"reading the data file {group.parts[0].file_name}: no other file has the other columns of its rows; a "
            "file is missing in the metadata, or they are damaged"
        )
    return group.anchor


def newest_first(files: Sequence[DataFileMeta]) -> list[DataFileMeta]:
    """Files by their sequence numbers, the newest first; those of one write keep their order."""
    return sorted(files, key=lambda file: file.max_sequence_number, reverse=True)
