"""The rows of a row group cut at the pages of some columns, with the bounds of these columns in each piece."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paimon_spark.arrow.parquet.page_index import Ints
from paimon_spark.arrow.statistics.column_stats import ColumnStats


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
