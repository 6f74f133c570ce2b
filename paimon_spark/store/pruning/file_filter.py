"""The data files, and the parts of buckets, that may hold a row that satisfies a condition, by statistics in manifests.

Java: the filters of KeyValueFileStoreScan and AppendOnlyFileStoreScan.

The files of one bucket as parts to read, without those that statistics exclude (Java: MergeTreeSplitGenerator).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, and_, columns_of, conjuncts, restrict
from paimon_spark.arrow.predicates.pruning import may_match
from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.format.binary_row import row_decoder
from paimon_spark.format.manifest import DataFileMeta, SimpleStats
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType
from paimon_spark.merge.keys.row_ids import ColumnFiles, column_files, sections_by_row_id
from paimon_spark.merge.keys.sections import Section, partition_sections
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.read.file_statistics import ColumnStatistics, FileStatistics

Parts: TypeAlias = tuple[Sequence[DataFileMeta], Sequence[Section]]
"""Files that share no key with another of the scan, and sorted runs that must be merged."""


def files_of(parts: Parts) -> Iterator[DataFileMeta]:
    """All files of the parts of a bucket."""
    yield from parts[0]
    for section in parts[1]:
        for run in section:
            yield from run.files


class FileFilter:
    """Tests whether a file may hold a row that satisfies the predicate: True unless statistics prove the contrary."""

    def __init__(self, predicate: Predicate, schema: TableSchema, schemas: SchemaStore) -> None:
        """The filter of one predicate.

        Args:
            predicate: over columns of schema.
            schema: the schema of the read.
            schemas: finds the schemas that files were written with.
        """
        partition = set(schema.partition_keys)  # partitions were tested by their values, which are exact
        self._by_value = and_(*[part for part in conjuncts(predicate) if not columns_of(part) <= partition])
        self._by_key = restrict(self._by_value, set(schema.trimmed_primary_keys))
        self._statistics = FileStatistics(columns_of(self._by_value), schema, schemas.load)
        self._columns = ColumnStatistics(self._statistics, schema, schemas.load)

    @property
    def needs_statistics(self) -> bool:
        return not isinstance(self._by_value, AlwaysTrue)

    def matching_keys(self, files: Sequence[DataFileMeta]) -> Sequence[DataFileMeta]:
        """The files that may match by key statistics: safe before a merge, as all versions of a row have its key."""
        if isinstance(self._by_key, AlwaysTrue):
            return files
        of_keys = self._statistics.of_keys
        return [file for file in files if may_match(self._by_key, of_keys(file).get, file.row_count)]

    def matching_values(self, files: Sequence[DataFileMeta]) -> Sequence[DataFileMeta]:
        """The files that may match by value statistics: safe only for files without a merge, or for whole sections."""
        if isinstance(self._by_value, AlwaysTrue):
            return files
        of_values = self._statistics.of_values
        return [file for file in files if may_match(self._by_value, of_values(file).get, file.row_count)]

    def is_whole(self, group: ColumnFiles) -> bool:
        """True if the files have all columns of their rows, as the newest of them knew the columns."""
        return self._columns.is_whole(group)

    def may_match_together(self, group: ColumnFiles) -> bool:
        """True if a row may match whose columns lie in several files."""
        if isinstance(self._by_value, AlwaysTrue):
            return True
        found = {name: self._columns.of(group, name) for name in columns_of(self._by_value)}
        return may_match(self._by_value, found.get, group.row_count)


def manifest_filter(
    predicate: Predicate, partition_fields: Sequence[DataField]
) -> Callable[[SimpleStats], bool] | None:
    """A filter of manifests by their partition statistics; None if the predicate has no condition on partitions."""
    names = tuple(field.name for field in partition_fields)
    wanted = restrict(predicate, set(names))
    if isinstance(wanted, AlwaysTrue):
        return None
    arity = len(names).to_bytes(4, "big")
    decode = row_decoder([field.type for field in partition_fields])

    def may_hold(stats: SimpleStats) -> bool:
        if stats.min_values[:4] != arity or stats.max_values[:4] != arity:
            return True
        values = zip(names, decode(stats.min_values[4:]), decode(stats.max_values[4:]), strict=True)
        # The count of nulls is over entries, while may_match expects one over rows: left unknown.
        found = {name: ColumnStats(low, high, None) for name, low, high in values}
        return may_match(wanted, found.get, 1)

    return may_hold


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


def evolved_parts(files: Sequence[DataFileMeta], keep: FileFilter) -> Parts:
    """The files of a table with data evolution, by row ids: those with all columns of their rows, and sections.

    A file may be excluded only with all that hold columns of the same rows, by the statistics of the newest ones of
    each column (Java: DataEvolutionFileStoreScan).
    """
    alone: list[DataFileMeta] = []
    sections: list[Section] = []
    for section in sections_by_row_id(files):
        group = column_files(section)
        if group.is_one_file:
            alone.extend(keep.matching_values(group.wide))
        elif keep.may_match_together(group):
            sections.append(section)
    return alone, sections


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
