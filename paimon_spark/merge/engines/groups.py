"""The rows of a window by key, and inside a key in the order in which they count: what engines of many rows fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paimon_spark.merge.key_words import Words
from paimon_spark.merge.window import Kinds, MergeSpec, Window, order_criteria
from paimon_spark.merge.winners import Mask, Rows, group_rows


@dataclass(frozen=True)
class SortedRows:
    """Rows by key and then by age: the sequence fields, the sequence number, retractions first, the run.

    order: row numbers, counted through the pieces of the window. starts: where in order each key starts.
    kinds: the row kinds in this order; None if no row retracts.
    """

    order: Rows
    starts: Rows
    kinds: Kinds | None

    @cached_property
    def sizes(self) -> Rows:
        """How many rows each key has."""
        return np.diff(self.starts, append=len(self.order))

    @cached_property
    def lasts(self) -> Rows:
        """Where in order the last row of each key is."""
        return self.starts + self.sizes - 1

    @cached_property
    def keys_of_rows(self) -> Rows:
        """The number of its key for every row in order."""
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    def select(self, kept: Mask) -> SortedRows:
        """The rows (of order) where kept is true; keys without any are gone."""
        counts = np.add.reduceat(kept, self.starts, dtype=np.intp)
        counts = counts[counts > 0]
        kinds = None if self.kinds is None else self.kinds[kept]
        return SortedRows(self.order[kept], np.cumsum(counts) - counts, kinds)


def sort_rows(window: Window, spec: MergeSpec) -> SortedRows:
    """All rows of a window, also those that options ignore."""
    kinds = window.kinds(spec)
    groups = group_rows(window.words())
    order = _order_within_keys(groups.order, groups.starts, order_criteria(window, spec, kinds))
    return SortedRows(order, groups.starts, None if kinds is None else kinds[order])


def _order_within_keys(order: Rows, starts: Rows, criteria: Sequence[Words]) -> Rows:
    """Sort the rows of each key by the criteria; mostly they are sorted already, since they come older runs first."""
    if not criteria or len(starts) == len(order):
        return order
    first_of_key = np.zeros(len(order), np.bool_)
    first_of_key[starts] = True
    descends, ties = np.zeros(len(order), np.bool_), ~first_of_key
    for word in criteria:
        values = word[order]
        descends[1:] |= ties[1:] & (values[1:] < values[:-1])
        ties[1:] &= values[1:] == values[:-1]
        if not ties.any():
            break
    if not descends.any():
        return order
    keys = np.cumsum(first_of_key) - 1
    wrong = np.zeros(len(starts), np.bool_)
    wrong[keys[descends]] = True
    positions = np.flatnonzero(wrong[keys])
    rows = order[positions]
    result = order.copy()
    result[positions] = rows[np.lexsort((*[word[rows] for word in reversed(criteria)], keys[positions]))]
    return result
