"""Takes the elements of lists and the entries of maps of a fold apart, and builds lists and maps of some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from paimon_spark.format.spans import expand
from paimon_spark.merge.aggregates.equality import equality_columns, group_equal
from paimon_spark.merge.aggregates.frame import Fold
from paimon_spark.merge.aggregates.parts import seeds
from paimon_spark.merge.aggregates.spans import lists_of, spans_of, take_items
from paimon_spark.merge.keys.key_words import Ints
from paimon_spark.merge.keys.winners import Groups, Mask, Rows


@dataclass(frozen=True)
class Elements:
    """Elements (entries) in the order of the fold.

    Attributes:
        children: the arrays that hold the elements; for maps the keys and the values.
        items: for each element its position in the children.
        values: for each element the value of the fold that it is from.
    """

    fold: Fold
    children: tuple[pa.Array, ...]
    items: Rows
    values: Rows

    @cached_property
    def keys(self) -> Rows:
        return self.fold.keys_of_rows()[self.values]

    @cached_property
    def retracted(self) -> Mask | None:
        """True for elements of retracted values; None if there are none."""
        return None if self.fold.retract is None else self.fold.retract[self.values]

    @cached_property
    def seeds(self) -> Mask | None:
        """True for elements of seeds; None if there are none."""
        if self.fold.seeded is None:
            return None
        is_seed = np.zeros(self.fold.count, np.bool_)
        is_seed[self.fold.starts] = seeds(self.fold)
        return is_seed[self.values]

    def valid(self, number: int) -> Mask | None:
        """True for elements that are not null; None if all are."""
        child = self.children[number]
        return child.is_valid().to_numpy(zero_copy_only=False)[self.items] if child.null_count else None

    def select(self, chosen: Mask) -> Elements:
        """Some of the elements, in the same order."""
        return Elements(self.fold, self.children, self.items[chosen], self.values[chosen])

    def columns(self) -> list[Ints]:
        """Integer columns in which two rows are equal if and only if the elements (or the keys of the entries) are."""
        columns = equality_columns(self.children[0], self.fold.column)
        return [column[self.items] for column in columns]

    def group(self, columns: Sequence[Ints]) -> Groups:
        """The elements sorted by key and then by the columns, in fold order where both are equal."""
        return group_equal([self.keys, *columns], len(self.items))

    def collect(self, chosen: Mask | None, present: Mask) -> pa.Array:
        """A list or map for every key: of the chosen elements (None: of all).

        Args:
            chosen: True for the elements to use; None: all.
            present: for each key, False if the result is null; no element of it is chosen then.
        """
        items, keys = (self.items, self.keys) if chosen is None else (self.items[chosen], self.keys[chosen])
        children = tuple(take_items(child, items) for child in self.children)
        return lists_of(children, np.bincount(keys, minlength=self.fold.keys), self.fold.source.type, present)


def elements_of(fold: Fold) -> Elements:
    """The elements of a column of lists, or the entries of one of maps."""
    spans = spans_of(fold.source)
    starts, lengths = spans.starts, spans.lengths
    if fold.rows is not None:
        starts, lengths = starts[fold.rows], lengths[fold.rows]
    return Elements(fold, spans.children, expand(starts, lengths), np.repeat(np.arange(fold.count), lengths))


def last_where_sorted(mask: Mask, starts: Rows) -> Rows:
    """For each row of sorted groups, the position of the last row of its group where mask is true; -1 if none."""
    places = np.where(mask, np.arange(len(mask)), -1)
    last = np.maximum.reduceat(places, starts)
    return np.repeat(last, np.diff(starts, append=len(mask)))
