"""Sequence groups of partial-update: finds the rows that are newer than the current sequence of their group.

Java: PartialUpdateMergeFunction.

A group keeps the values of its sequence columns. A row whose sequence is not less replaces it (the row is *fresh* for
the group), any other is late; a row whose sequence columns are all null does not take part. So the current sequence of
a group is the greatest so far, counted from the seed of the key if it has one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.merge.aggregates.frame import first_where
from paimon_spark.merge.keys.key_words import pack_fields
from paimon_spark.merge.keys.row_order import sequence_order
from paimon_spark.merge.keys.winners import Mask, Rows


@dataclass(frozen=True)
class SequenceGroup:
    """One sequence group.

    Attributes:
        sequence: the columns that order the rows, the most important first.
        members: the columns that a fresh row replaces.
    """

    sequence: tuple[str, ...]
    members: tuple[str, ...]


@dataclass(frozen=True)
class GroupRows:
    """For each row, whether it takes part in a group, and whether it is fresh for the group."""

    takes_part: Mask
    fresh: Mask


class Sequences:
    """The sequence columns of one group as numbers in order, for all rows of a window."""

    def __init__(self, group: SequenceGroup, column: Callable[[str], pa.Array]) -> None:
        self._fields: list[npt.NDArray[Any]] = []
        present: Mask | None = None
        for name in group.sequence:
            array = column(name)
            self._fields.extend(sequence_order(array, name, descending=False))
            valid = array.is_valid().to_numpy(zero_copy_only=False)
            present = valid if present is None else present | valid
        assert present is not None
        self._present: Mask = present

    def present(self, rows: Rows) -> Mask:
        """True for the rows that take part in the group: not all of their sequence columns are null."""
        return self._present[rows]

    def judge(self, rows: Rows, starts: Rows, seeds: Mask) -> GroupRows:
        """Which rows are fresh.

        Args:
            rows: row numbers, key by key in merge order.
            starts: where the rows of each key start.
            seeds: True for rows that only set the first sequence of the group; only the first row of a key can be one.
        """
        takes_part = self.present(rows) & ~seeds
        keys = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        words = pack_fields([keys, *(field[rows] for field in self._fields)], len(rows))
        word = words[0] if len(words) == 1 else _ranks(words)
        return GroupRows(takes_part, takes_part & (np.maximum.accumulate(word) == word))


def deleting_rows(groups: Sequence[Sequences], rows: Rows, starts: Rows, deletes: Mask, seeds: Mask) -> Mask:
    """True for the rows that delete the record of their key.

    A row of kind -D that is fresh for one of the groups deletes the record and takes its place: from then on its values
    are the sequences of the groups. So each such row depends on the one before; each step finds one for all keys.

    Args:
        groups: those of ``partial-update.remove-record-on-sequence-group``.
        rows: row numbers, key by key in merge order.
        starts: where the rows of each key start.
        deletes: True for rows of kind -D; never for a seed.
        seeds: True for rows that only set the first sequence of the group; only the first row of a key can be one.
    """
    result = np.zeros(len(rows), np.bool_)
    place = np.arange(len(rows))
    keys = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
    candidates = np.logical_or.reduceat(deletes, starts)
    left = candidates[keys]
    while left.any():
        place, keys, seeds = place[left], keys[left], seeds[left]
        begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        resetting = np.zeros(len(place), np.bool_)
        for group in groups:
            resetting |= group.judge(rows[place], begins, seeds).fresh
        found = first_where(resetting & deletes[place] & ~seeds, begins)
        sizes = np.diff(begins, append=len(place))
        hit = found >= 0
        result[place[found[hit]]] = True
        left = np.repeat(hit, sizes) & (np.arange(len(place)) >= np.repeat(found, sizes))
        seeds = seeds.copy()
        seeds[found[hit]] = True
    return result


def _ranks(words: Sequence[npt.NDArray[np.uint64]]) -> npt.NDArray[np.int64]:
    """Numbers in the order of the words, equal for rows with equal words."""
    order = np.lexsort(tuple(reversed(words)))
    differs = np.zeros(len(order), np.bool_)
    for word in words:
        values = word[order]
        differs[1:] |= values[1:] != values[:-1]
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks
