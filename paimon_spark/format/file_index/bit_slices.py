"""Numbers of rows as one bitmap per bit, shared by the ``bsi`` and ``range-bitmap`` indexes of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paimon_spark.format.file_index.row_sets import RowSet


@dataclass(frozen=True)
class BitSlices:
    """A number of at least 0 for each of some rows.

    Attributes:
        rows: that have a number.
        slices: the rows whose number has bit i set, for every i.
    """

    rows: RowSet
    slices: Sequence[RowSet]
    _known: dict[int, tuple[RowSet, RowSet]] = field(default_factory=dict, compare=False)

    def equal(self, number: int) -> RowSet:
        """The rows with this number."""
        return self._compared(number)[1]

    def below(self, number: int) -> RowSet:
        """The rows with a lesser number."""
        return self._compared(number)[0]

    def first_rows(self, count: int, greatest: bool, among: RowSet) -> tuple[RowSet, RowSet]:
        """The rows with the least numbers, or with the greatest ones (Java: BitSliceIndexBitmap.topK, bottomK).

        Args:
            count: how many rows are wanted, at least 1.
            greatest: whether the greatest numbers are wanted.
            among: only these rows count.

        Returns:
            Rows that are certainly among the first, at most count - 1; and rows that have the last number, as many at
            least as are lacking. With count rows or fewer all are certain.
        """
        rest = self.rows & among
        if len(rest) <= count:
            return rest, RowSet()
        certain = RowSet()
        for members in reversed(self.slices):
            better = rest & members if greatest else rest - members
            found = len(certain) + len(better)
            if found < count:
                certain |= better
                rest -= better
            else:
                rest = better
        return certain, rest

    def _compared(self, number: int) -> tuple[RowSet, RowSet]:
        if number not in self._known:
            self._known[number] = self._compare(number)
        return self._known[number]

    def _compare(self, number: int) -> tuple[RowSet, RowSet]:
        """The rows with lesser numbers, and those with this one, bit by bit from the highest."""
        if number < 0:
            return RowSet(), RowSet()
        if number >> len(self.slices):
            return self.rows.copy(), RowSet()
        less, equal = RowSet(), self.rows.copy()
        for bit in range(len(self.slices) - 1, -1, -1):
            members = self.slices[bit]
            if number >> bit & 1:
                less |= equal - members
                equal &= members
            else:
                equal -= members
        return less, equal
