"""Leaves out files and rows that do not come first in an order: by statistics, then by ``range-bitmap`` indexes.

Java: FileIndexEvaluator, RangeBitmapFileIndex.visitTopN (2.0.0), which look at each file alone. Here a file is left out
too if all its values lie behind as many values of other files.

A dictionary is much shorter than the bitmaps of an index. It has each value of its file once, ascending; so the values
of all files that come first have the last wanted row among them, or lie before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from paimon_spark.format.file_index.keys import Key
from paimon_spark.format.file_index.range_bitmap import RangeBitmap, open_range_bitmap
from paimon_spark.format.file_index.row_sets import RowSet, row_set, rows_until
from paimon_spark.format.file_index.settings import RANGE_BITMAP
from paimon_spark.format.paths import file_format_of
from paimon_spark.format.types import TIMESTAMPS, Root
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.pruning.file_filter import IndexedParts, Parts
from paimon_spark.store.pruning.index_filter import check_row_count, encode_few, index_readers, map_indexed
from paimon_spark.store.pruning.top_n import PlacedRows, TopN, files_with_top_n
from paimon_spark.store.read.deletion_files import read_deleted_positions
from paimon_spark.store.read.file_index_files import has_file_index, opened_file_index
from paimon_spark.store.read.metadata_aggregates import live_rows
from paimon_spark.store.read.splits import DeletionFile

if TYPE_CHECKING:
    from paimon_spark.store.pruning.top_n import TopN

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


def leave_out_by_order(first: TopN, table: Table, buckets: Sequence[BucketFiles]) -> list[IndexedParts]:
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
        PlacedRows(file, bucket.directory, bucket.partition, bucket.deletions.get(file.file_name))
        for bucket in buckets
        for file in bucket.parts[0]
    ]
    verdicts = files_with_top_n(first, table, placed)
    looked = [each for each, may in zip(placed, verdicts, strict=True) if may]
    selections = iter(_selections(first, table, looked))
    found = []
    for bucket, may_of_bucket in _by_bucket(buckets, verdicts):
        files, few = [], {}
        for file, may in zip(bucket.parts[0], may_of_bucket, strict=True):
            rows = next(selections) if may else RowSet()
            if rows is None or rows:
                files.append(file)
                encoded = None if rows is None else encode_few(rows, file)
                few.update({file.file_name: encoded} if encoded is not None else {})
        found.append(IndexedParts((files, bucket.parts[1]), few, len(bucket.parts[0]) - len(files)))
    return found


def _by_bucket(buckets: Sequence[BucketFiles], verdicts: Sequence[bool]) -> list[tuple[BucketFiles, list[bool]]]:
    each = iter(verdicts)
    return [(bucket, list(islice(each, len(bucket.parts[0])))) for bucket in buckets]


def _selections(first: TopN, table: Table, files: Sequence[PlacedRows]) -> list[RowSet | None]:
    """The rows of each file that may be among the first rows; None: not known."""
    indexed = [each for each in files if _may_tell_rows(table, first.column, each)]
    near = [each.file for each in indexed]
    known: list[FirstKeys | None] = [None] * len(indexed)
    if len(indexed) > 1:
        known = map_indexed(table, near, lambda each: _keys(first, table, each), indexed)
    last = last_key(first, known)
    jobs = zip(indexed, known, strict=True)
    rows = map_indexed(table, near, lambda job: _selected(first, table, *job, last), jobs)
    chosen = {id(each): found for each, found in zip(indexed, rows, strict=True)}
    return [chosen.get(id(each)) for each in files]


def _may_tell_rows(table: Table, column: str, placed: PlacedRows) -> bool:
    """False: the file surely has no index that tells which of its rows come first."""
    if not table.settings.files.index_read_enabled or not has_file_index(placed.file):
        return False
    if isinstance(live_rows(placed.file, placed.deletion), str):
        return False
    return (
        file_format_of(placed.file.file_name) != "orc" or table.schema.by_name[column].type.root not in _SHIFTED_BY_ORC
    )


@contextmanager
def _opened_index(table: Table, column: str, placed: PlacedRows) -> Iterator[RangeBitmap | None]:
    """The index of a column in a file whose rows it may tell; None: there is none, or of another type."""
    with opened_file_index(table.file_io, placed.directory, placed.file) as container:
        reader = index_readers(table, placed.file, column, container).get(RANGE_BITMAP)
        index = None if reader is None else open_range_bitmap(reader, table.schema.by_name[column].type)
        if index is not None:
            check_row_count(index.row_count, placed.file)
        yield index


def _keys(first: TopN, table: Table, placed: PlacedRows) -> FirstKeys | None:
    with _opened_index(table, first.column, placed) as index:
        return None if index is None else first_keys(first, index, all_live=placed.deletion is None)


def _selected(first: TopN, table: Table, placed: PlacedRows, keys: FirstKeys | None, last: Key | None) -> RowSet | None:
    """The rows of a file that may be among the first rows; None: not known.

    Args:
        first: what is wanted.
        table: what is read.
        placed: the file.
        keys: that come first in it; None: not known.
        last: no wanted value lies behind this key; None: not known.
    """
    if keys is not None and last is not None and has_none(first, keys, last):
        return RowSet()
    if last is None and 2 * first.count >= placed.file.row_count:
        return None
    with _opened_index(table, first.column, placed) as index:
        if index is None:
            return None
        live = _live(table, placed)
        if last is not None:
            live &= index.until(last, first.descending) | (index.nulls if first.nulls_first else RowSet())
        return _first_rows(first, index, live)


def _live(table: Table, placed: PlacedRows) -> RowSet:
    rows, deletion = rows_until(placed.file.row_count), placed.deletion
    return rows if deletion is None else rows - row_set(read_deleted_positions(table.file_io, deletion))


def _first_rows(first: TopN, index: RangeBitmap, live: RowSet) -> RowSet:
    """The first of some rows; with those of the value of the last one if they are wanted."""
    nulls = index.nulls & live
    if not first.nulls_first:
        rows = _first_values(first, first.count, index, live)
        return rows if len(rows) >= first.count else rows | _some(first, first.count - len(rows), nulls)
    if len(nulls) >= first.count:
        return _some(first, first.count, nulls)
    return nulls | _first_values(first, first.count - len(nulls), index, live)


def _first_values(first: TopN, count: int, index: RangeBitmap, live: RowSet) -> RowSet:
    certain, ties = index.first_rows(count, first.descending, live)
    return certain | _some(first, count - len(certain), ties)


def _some(first: TopN, count: int, alike: RowSet) -> RowSet:
    """As many as wanted of rows that are alike, or all of them if others decide between them."""
    return alike if first.with_ties or len(alike) <= count else alike[:count]


MOST_KEYS = 1 << 12  # of one file


@dataclass(frozen=True)
class FirstKeys:
    """What an index tells of the values of its file without a look at their rows.

    Attributes:
        keys: distinct ones that come first; not all that are wanted if these are more than MOST_KEYS.
        null_count: how many rows are NULL.
        all_live: whether no row is deleted, so that each key has a row.
    """

    keys: Sequence[Key]
    null_count: int
    all_live: bool


def first_keys(first: TopN, index: RangeBitmap, all_live: bool) -> FirstKeys:
    """What an index tells of a file; all_live: as of FirstKeys. Raises CorruptFile: the index is damaged."""
    keys = index.first_keys(min(first.count, MOST_KEYS), first.descending)
    return FirstKeys(keys, index.row_count - len(index.present), all_live)


def last_key(first: TopN, known: Sequence[FirstKeys | None]) -> Key | None:
    """A key that no wanted value lies behind; None: the indexes do not tell one.

    Args:
        first: what is wanted.
        known: of each file that needs no merge.
    """
    live = [each for each in known if each is not None and each.all_live]
    nulls = sum(each.null_count for each in live) if first.nulls_first else 0
    wanted = max(first.count - nulls, 1)
    keys = sorted((key for each in live for key in each.keys), reverse=first.descending)
    return keys[wanted - 1] if len(keys) >= wanted else None


def has_none(first: TopN, keys: FirstKeys, last: Key) -> bool:
    """True if a file has no row that comes first: all its values lie behind a key, and NULL is not wanted."""
    if first.nulls_first and keys.null_count:
        return False
    if not keys.keys:
        return True
    near = keys.keys[0]
    return near < last if first.descending else near > last  # type: ignore[operator]  # keys of one type
