"""Page indexes: where the pages of a column chunk are, and the bounds of their values (OffsetIndex, ColumnIndex).

Source: parquet-format, PageIndex.md and parquet.thrift. pyarrow writes page indexes and tells whether a chunk has one.
It has no call that reads one, nor one that reads some pages of a chunk.

The rows of a row group are cut at the pages of some columns, with the bounds of these columns in each piece.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

from paimon_spark.arrow.parquet.thrift_compact import I32, I64, LIST, STRUCT, List, decode_struct, find
from paimon_spark.arrow.statistics.column_stats import ColumnStats

Ints: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]
Table: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.int64]]
_LOCATIONS = 1  # of OffsetIndex
_OFFSET, _SIZE, _FIRST_ROW = 1, 2, 3  # of PageLocation
_NULL_PAGES, _MIN_VALUES, _MAX_VALUES, _NULL_COUNTS = 1, 2, 3, 5  # of ColumnIndex
_REMEMBERED, _MOST_REMEMBERED = 512, 1 << 14  # decoded offset indexes; bytes of one
_LOCATION_TOKENS = (1 << 4 | I64, None, 1 << 4 | I32, None, 1 << 4 | I64, None, 0)  # None: a number


@dataclass(frozen=True)
class PageLocations:
    """The data pages of a column chunk, in order.

    Attributes:
        offsets: the first byte of each page in the file.
        sizes: the bytes of each page, with its header.
        first_rows: the number of the first row of each page in the row group, then that of the rows of the group. A
            page begins with a new row, in nested columns too.
    """

    offsets: Ints
    sizes: Ints
    first_rows: Ints

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True)
class PageBounds:
    """What is known of the values of each data page of a column chunk, as stored.

    Attributes:
        is_null: whether all values of the page are null; its bounds mean nothing.
        lows, highs: bounds, which may be shorter than the values: cut, and the high one increased.
        nulls: the number of nulls; None: not stored.
    """

    is_null: list[bool]
    lows: list[bytes]
    highs: list[bytes]
    nulls: list[int] | None


def decode_locations(data: bytes, row_count: int) -> PageLocations | None:
    """The pages of an OffsetIndex; None if not each of them has rows, so that the rows of a page are not known.

    Args:
        data: the bytes of the index.
        row_count: the rows of the row group.

    Returns:
        Shared by all callers, who must not change it: a row is often looked up in the same files.

    Raises:
        ValueError: the bytes are no offset index, or not one of a chunk of so many rows.
    """
    return (_locations if len(data) > _MOST_REMEMBERED else _remembered_locations)(data, row_count)


def _locations(data: bytes, row_count: int) -> PageLocations | None:
    """See decode_locations."""
    regular = _regular_locations(data)
    table = _any_locations(data) if regular is None else regular
    offsets, sizes, first_rows = (np.ascontiguousarray(column) for column in table.T)
    if not len(offsets) or first_rows[0] != 0 or (sizes <= 0).any() or (np.diff(offsets) < sizes[:-1]).any():
        raise ValueError("the offset index names pages that cannot be")
    first_rows = np.append(first_rows, row_count)
    return None if (np.diff(first_rows) <= 0).any() else PageLocations(offsets, sizes, first_rows)


def _regular_locations(data: bytes) -> Table | None:
    """The locations in the form that every known writer gives them, all at once; None: it is another form.

    Every byte below 128 ends a token: the head of a field, a number, or the zero at the end of a struct.
    """
    start, count = _list_of_structs(data)
    octets = np.frombuffer(data, np.uint8)[start:]
    width = len(_LOCATION_TOKENS)
    ends = np.flatnonzero(octets < 128)[: count * width]
    begins = np.append(0, ends[:-1] + 1)
    sizes = ends - begins + 1
    if not count or len(ends) < count * width or sizes.max() > 9:
        return None
    values = np.zeros(len(ends), np.int64)
    for byte in range(int(sizes.max())):
        has = sizes > byte
        values[has] |= (octets[begins[has] + byte].astype(np.int64) & 0x7F) << (7 * byte)
    tokens, sizes = values.reshape(count, width), sizes.reshape(count, width)
    for column, expected in enumerate(_LOCATION_TOKENS):
        if expected is not None and ((tokens[:, column] != expected) | (sizes[:, column] != 1)).any():
            return None
    numbers = tokens[:, [column for column, expected in enumerate(_LOCATION_TOKENS) if expected is None]]
    return (numbers >> 1) ^ -(numbers & 1)  # zigzag


def _list_of_structs(data: bytes) -> tuple[int, int]:
    """Where the structs of the list in the first field begin, and how many they are; 0 of them: it is no such list."""
    if len(data) < 3 or data[0] != (_LOCATIONS << 4 | LIST) or data[1] & 0x0F != STRUCT:
        return 0, 0
    size = data[1] >> 4
    if size < 15:
        return 2, size
    end = 2
    while end < min(len(data), 7) and data[end] >= 128:
        end += 1
    return end + 1, sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(data[2 : end + 1]))


def _any_locations(data: bytes) -> Table:
    found = find(decode_struct(data), _LOCATIONS)
    if not isinstance(found, List):
        raise ValueError("the offset index has no list of pages")
    rows = [[find(page, field) for field in (_OFFSET, _SIZE, _FIRST_ROW)] for page in found.values]
    if any(not isinstance(value, int) for row in rows for value in row):
        raise ValueError("the offset index has a page without a place")
    return np.array(rows, np.int64).reshape(-1, 3)


_remembered_locations = lru_cache(_REMEMBERED)(_locations)


def decode_bounds(data: bytes, page_count: int) -> PageBounds:
    """The bounds of a ColumnIndex.

    Args:
        data: the bytes of the index.
        page_count: how many pages the offset index of the chunk has.

    Raises:
        ValueError: the bytes are no column index, or not one of so many pages.
    """
    tree = decode_struct(data)
    is_null, lows, highs, nulls = (
        found.values if isinstance(found, List) else None
        for found in (find(tree, field) for field in (_NULL_PAGES, _MIN_VALUES, _MAX_VALUES, _NULL_COUNTS))
    )
    if is_null is None or lows is None or highs is None or not page_count == len(is_null) == len(lows) == len(highs):
        raise ValueError("the column index is of another number of pages than the offset index")
    return PageBounds(is_null, lows, highs, nulls if nulls is not None and len(nulls) == page_count else None)


@dataclass(frozen=True)
class ColumnPages:
    """What is known of the pages of one column.

    Attributes:
        first_rows: the number of the first row of each page in the row group, then that of the rows of the group.
        is_null: whether all values of a page are null.
        lows, highs: bounds as internal values; None: not known.
        nulls: the number of nulls of each page; None: not known.
    """

    first_rows: Ints
    is_null: list[bool]
    lows: list[Any]
    highs: list[Any]
    nulls: list[int] | None

    def stats(self, first: int, last: int, row_count: int) -> ColumnStats:
        """The statistics of some rows.

        Args:
            first, last: the pages that have these rows, last included.
            row_count: how many rows they are; the pages may have more.
        """
        filled = [page for page in range(first, last + 1) if not self.is_null[page]]
        if not filled:
            return ColumnStats(None, None, row_count)
        lows, highs = [self.lows[page] for page in filled], [self.highs[page] for page in filled]
        return ColumnStats(
            None if None in lows else min(lows),
            None if None in highs else max(highs),
            self._nulls(first, last, row_count),
        )

    def _nulls(self, first: int, last: int, row_count: int) -> int | None:
        """The number of nulls, if it is known: that of a part of a page is if it is 0."""
        if self.nulls is None:
            return None
        total = sum(self.nulls[first : last + 1])
        whole = int(self.first_rows[last + 1] - self.first_rows[first]) == row_count
        return total if whole or total == 0 else None


class RowPieces:
    """Pieces of a row group, none of which has rows of two pages of a column."""

    def __init__(self, columns: Mapping[str, ColumnPages], row_count: int) -> None:
        """Cuts the rows.

        Args:
            columns: by name, at least one.
            row_count: the rows of the row group.
        """
        self._columns = columns
        self._row_count = row_count
        self._page_of: dict[str, list[int]] = {}

    @cached_property
    def cuts(self) -> list[int]:
        """The number of the first row of each piece in the row group, then that of the rows of the group."""
        rows = np.unique(np.concatenate([column.first_rows for column in self._columns.values()]))
        found: list[int] = rows.tolist()
        return found

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def stats(self, first: int, end: int, column: str) -> ColumnStats | None:
        """The statistics of a column in the pieces from first to before end; None: nothing is known of the column."""
        pages = self._columns.get(column)
        if pages is None:
            return None
        of_piece = self._pages_of_pieces(column, pages)
        return pages.stats(of_piece[first], of_piece[end - 1], self.cuts[end] - self.cuts[first])

    def _pages_of_pieces(self, column: str, pages: ColumnPages) -> list[int]:
        if column not in self._page_of:
            found = np.searchsorted(pages.first_rows, self.cuts[:-1], side="right") - 1
            self._page_of[column] = found.tolist()
        return self._page_of[column]
