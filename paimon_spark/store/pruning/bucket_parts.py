"""The files of one bucket as parts to read, without those that statistics exclude (Java: MergeTreeSplitGenerator)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.sections import Section, partition_sections
from paimon_spark.store.pruning.file_filter import FileFilter

Parts: TypeAlias = tuple[Sequence[DataFileMeta], Sequence[Section]]
"""Files that share no key with another of the scan, and sorted runs that must be merged."""


@dataclass(frozen=True)
class IndexedParts:
    """What indexes, or an order, leave of a bucket.

    Attributes:
        parts: the files and sections to read.
        selections: by file name, the rows that may be wanted; of files that need no merge.
        skipped: how many files are left out.
    """

    parts: Parts
    selections: dict[str, bytes]
    skipped: int


def append_parts(files: Sequence[DataFileMeta], keep: FileFilter) -> Parts:
    """The files of an append table, oldest first: any file may be excluded by its statistics."""
    return sorted(keep.matching_values(files), key=attrgetter("min_sequence_number")), ()


def compacted_parts(files: Sequence[DataFileMeta], keep: FileFilter) -> Parts:
    """Files in which every key has one live row, because deletion vectors delete the others. Nothing is merged."""
    return keep.matching_values(keep.matching_keys(files)), ()


def merged_parts(
    files: Sequence[DataFileMeta], key_types: Sequence[DataType], keep: FileFilter, whole_rows: bool = True
) -> Parts:
    """The files of a bucket in which the rows of a key are merged.

    A file whose keys cannot match may be excluded before the merge. By its values, a file may be excluded only if it
    overlaps no other, and a section only as a whole: excluding a newer version of a row would bring an older one back.

    Args:
        files: the files of the bucket.
        key_types: the types of the trimmed primary key.
        keep: the filter by statistics.
        whole_rows: True if a merged row is always one of its input rows. If False, it may hold values that no file has,
            so sections are not excluded by values.
    """
    left = keep.matching_keys(files)
    if len(left) < 2 or (left[0].level > 0 and all(file.level == left[0].level for file in left)):
        return keep.matching_values(left), ()
    alone: list[DataFileMeta] = []
    sections: list[Section] = []
    for section in partition_sections(left, key_types):
        files_of_section = [file for run in section for file in run.files]
        if len(section) == 1:
            alone.extend(keep.matching_values(files_of_section))
        elif not whole_rows or keep.matching_values(files_of_section):
            sections.append(section)
    return alone, sections
