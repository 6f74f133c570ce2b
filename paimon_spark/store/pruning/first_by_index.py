"""Leaves out files and rows that do not come first in an order: by statistics, then by ``range-bitmap`` indexes.

Java: FileIndexEvaluator, RangeBitmapFileIndex.visitTopN (2.0.0).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from paimon_spark.format.file_index.kinds import RANGE_BITMAP
from paimon_spark.format.file_index.range_bitmap import RangeBitmap, open_range_bitmap
from paimon_spark.format.file_index.row_sets import RowSet, row_set, rows_until
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options import core_options as o
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.types import TIMESTAMPS, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.bucket_parts import IndexedParts, Parts
from paimon_spark.store.pruning.first_rows import FirstRows, PlacedRows, files_with_first_rows
from paimon_spark.store.pruning.index_filter import check_row_count, encode_few, index_readers
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_index_files import has_file_index, opened_file_index
from paimon_spark.store.read.known_totals import live_rows
from paimon_spark.store.read.splits import DeletionFile
from paimon_spark.store.storage.parallel import map_parallel

_SHIFTED_BY_ORC = TIMESTAMPS | {Root.DATE}  # what is read may be another value than the writer indexed


@dataclass(frozen=True)
class BucketFiles:
    """The files of a bucket.

    Attributes:
        partition: arity-prefixed BinaryRow.
        directory: of the bucket.
        parts: the files and sections that are read.
        deletions: deletion vectors by data file name.
    """

    partition: bytes
    directory: str
    parts: Parts
    deletions: Mapping[str, DeletionFile]


def leave_out_by_order(first: FirstRows, table: Table, buckets: Sequence[BucketFiles]) -> list[IndexedParts]:
    """What the order leaves of each bucket. Sections whose rows must be merged are read, and do not count.

    Args:
        first: what is wanted; ``may_leave_out`` holds.
        table: what is read, with the options of the read.
        buckets: all that are read.

    Raises:
        MissingFile: the file of an index, or of a vector, does not exist.
        CorruptFile: statistics, an index or a vector are damaged.
    """
    placed = [
        PlacedRows(file, bucket.partition, bucket.deletions.get(file.file_name))
        for bucket in buckets
        for file in bucket.parts[0]
    ]
    verdicts = iter(zip(placed, files_with_first_rows(first, table, placed), strict=True))
    left = [[rows for rows, may in islice(verdicts, len(bucket.parts[0])) if may] for bucket in buckets]
    looked = [(bucket.directory, rows) for bucket, kept in zip(buckets, left, strict=True) for rows in kept]
    selections = iter(map_parallel(lambda each: _selected(first, table, *each), looked))
    found = []
    for bucket, kept in zip(buckets, left, strict=True):
        chosen = {rows.file.file_name: next(selections) for rows in kept}
        parts: Parts = ([rows.file for rows in kept], bucket.parts[1])
        few = {name: rows for name, rows in chosen.items() if rows is not None}
        found.append(IndexedParts(parts, few, len(bucket.parts[0]) - len(kept)))
    return found


def _selected(first: FirstRows, table: Table, directory: str, placed: PlacedRows) -> bytes | None:
    """The rows of a file that may be among the first rows; None: not known, or too many to be worth it."""
    file, data_type = placed.file, table.schema.by_name[first.column].type
    if not table.options.value(o.FILE_INDEX_READ_ENABLED) or not has_file_index(file):
        return None
    if isinstance(live_rows(file, placed.deletion), str) or 2 * first.count >= file.row_count:
        return None
    if file_format_of(file.file_name) == "orc" and data_type.root in _SHIFTED_BY_ORC:
        return None
    with opened_file_index(table.file_io, directory, file) as container:
        reader = index_readers(table, file, first.column, container).get(RANGE_BITMAP)
        if reader is None:
            return None
        index = open_range_bitmap(reader, data_type)
        check_row_count(index.row_count, file)
        rows = _first_rows(first, index, _live(table, file, placed.deletion))
    return encode_few(rows, file)


def _live(table: Table, file: DataFileMeta, deletion: DeletionFile | None) -> RowSet:
    rows = rows_until(file.row_count)
    return rows if deletion is None else rows - row_set(read_deleted_positions(table.file_io, deletion))


def _first_rows(first: FirstRows, index: RangeBitmap, live: RowSet) -> RowSet:
    """The first of some rows; with those of the value of the last one if they are wanted."""
    nulls = index.nulls & live
    if not first.nulls_first:
        rows = _first_values(first, first.count, index, live)
        return rows if len(rows) >= first.count else rows | _some(first, first.count - len(rows), nulls)
    if len(nulls) >= first.count:
        return _some(first, first.count, nulls)
    return nulls | _first_values(first, first.count - len(nulls), index, live)


def _first_values(first: FirstRows, count: int, index: RangeBitmap, live: RowSet) -> RowSet:
    certain, ties = index.first_rows(count, first.descending, live)
    return certain | _some(first, count - len(certain), ties)


def _some(first: FirstRows, count: int, alike: RowSet) -> RowSet:
    """As many as wanted of rows that are alike, or all of them if others decide between them."""
    return alike if first.with_ties or len(alike) <= count else alike[:count]
