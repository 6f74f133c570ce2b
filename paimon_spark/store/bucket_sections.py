"""The files of one bucket as sections to read, less those that statistics exclude (Java: MergeTreeSplitGenerator)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.merge.sections import partition_sections
from paimon_spark.spec.manifest import DataFileMeta
from paimon_spark.spec.types import DataType
from paimon_spark.store.file_filter import FileFilter
from paimon_spark.store.splits import SplitSection, raw_section


def append_sections(files: Sequence[DataFileMeta], keep: FileFilter) -> list[SplitSection]:
    """The files of an append table, oldest first: any may be left out by its statistics."""
    left = [file for file in files if keep.may_match_value(file)]
    left.sort(key=lambda file: file.min_sequence_number)
    return [raw_section(file) for file in left]


def compacted_sections(files: Sequence[DataFileMeta], keep: FileFilter) -> list[SplitSection]:
    """Files of which every key lives in one row: vectors delete the others. Nothing is merged."""
    return [raw_section(file) for file in files if keep.may_match_key(file) and keep.may_match_value(file)]


def merged_sections(
    files: Sequence[DataFileMeta], key_types: Sequence[DataType], keep: FileFilter
) -> list[SplitSection]:
    """The files of a bucket whose newest row of a key wins.

    A file whose keys cannot match may go before the merge. By its values a file may go only when it stands alone, and a
    section only as a whole: leaving a newer version out would bring an older one back to life.
    """
    left = [file for file in files if keep.may_match_key(file)]
    if len(left) < 2 or (left[0].level > 0 and all(file.level == left[0].level for file in left)):
        return [raw_section(file) for file in left if keep.may_match_value(file)]
    sections = (SplitSection(runs) for runs in partition_sections(left, key_types))
    return [section for section in sections if any(keep.may_match_value(file) for file in section.files)]
