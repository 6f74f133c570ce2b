"""Numbers of rows as one bitmap per bit, shared by the ``bsi`` and ``range-bitmap`` indexes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyroaring import BitMap


def slice_numbers(numbers: Mapping[int, int], slice_count: int) -> list[BitMap]:
    """The rows whose number has bit i set, for every i.

    Args:
        numbers: a number of at least 0 by row.
    """
    return [BitMap([row for row, number in numbers.items() if number >> bit & 1]) for bit in range(slice_count)]


def join_slices(rows: BitMap, slices: Sequence[BitMap]) -> dict[int, int]:
    """The number of each of the rows."""
    numbers = dict.fromkeys(rows, 0)
    for bit, members in enumerate(slices):
        for row in members & rows:
            numbers[row] |= 1 << bit
    return numbers
