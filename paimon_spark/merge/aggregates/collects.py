"""``collect`` (Java: FieldCollectAgg): the elements of all lists in one list; with ``distinct`` each only once.

A retracted list removes one equal element for each of its own, the oldest first. An element that is not there when it
is retracted is not removed later either. A null list does not count. Late rows of a sequence group add their elements
at the end.

Of equal elements under ``distinct`` the first one stays; Java returns them in the order of a hash table.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.format.types import BINARIES, NESTED, DataType, Root
from paimon_spark.merge.aggregates.elements import Elements, elements_of, last_where_sorted
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs, first_where
from paimon_spark.merge.aggregates.parts import fold_rest, has_value, only_seeds, seeds
from paimon_spark.merge.keys.winners import Groups, Mask, Rows

_COMPARED_BY_VALUE = NESTED | BINARIES  # their lists are searched one by one, not put into a hash set


def collected(fold: Fold) -> pa.Array:
    """The list of each key."""
    if not fold.options.distinct:
        return fold_rest(fold, only_seeds(fold), _collect_all)
    return fold_rest(fold, seeds(fold) & (fold.sizes == 1), _collect_distinct)


def _collect_all(fold: Fold) -> pa.Array:
    elements, present = elements_of(fold), has_value(fold)
    retracted = elements.retracted
    if retracted is None or not len(elements.items):
        return elements.collect(None, present)
    groups = elements.group(elements.columns())
    takes = retracted[groups.order]
    return elements.collect(_at(groups.order[_not_taken(takes, groups.starts)], takes), present)


def _not_taken(takes: Mask, starts: Rows) -> Mask:
    """True for the elements that stay, of groups of equal ones in fold order.

    A retraction removes the oldest element, so the newest stay, as many as there are at the end. That number is the
    greatest sum of the last steps (+1 for an element, -1 for a retraction), because the count never falls below 0.
    """
    sizes = np.diff(starts, append=len(takes))
    steps = np.where(takes, -1, 1)
    after = np.cumsum(steps)
    before = after - steps
    count = after[starts + sizes - 1] - np.minimum.reduceat(before, starts)
    count = np.maximum(count, 0)
    total = np.add.reduceat(~takes, starts, dtype=np.intp)
    number = np.cumsum(~takes)
    rank: Rows = number - np.repeat((number - ~takes)[starts], sizes)
    stays: Mask = ~takes & (rank > np.repeat(total - count, sizes))
    return stays


def _collect_distinct(fold: Fold) -> pa.Array:
    elements, present = elements_of(fold), has_value(fold)
    if not len(elements.items):
        return elements.collect(None, present)
    groups = elements.group(elements.columns())
    takes = np.zeros(len(groups.order), np.bool_) if elements.retracted is None else elements.retracted[groups.order]
    is_seed = np.zeros(len(takes), np.bool_) if elements.seeds is None else elements.seeds[groups.order]
    ignored = _repeats_in_seeds(elements, groups, takes, is_seed)
    counts = ~takes & ~ignored
    last_take = last_where_sorted(takes & ~ignored, groups.starts)
    counts &= np.arange(len(takes)) > last_take
    first = np.repeat(first_where(counts, groups.starts), np.diff(groups.starts, append=len(takes)))
    stays = counts & ((np.arange(len(takes)) == first) | is_seed)
    return elements.collect(_at(groups.order[stays], takes), present)


def _repeats_in_seeds(elements: Elements, groups: Groups, takes: Mask, is_seed: Mask) -> Mask:
    """True for elements that a seed repeats, and for retractions that only remove such an element.

    A seed is kept unchanged, and may repeat an element. A hash set drops the repeated element when the next row is
    added, and until then a retraction removes one of the equal elements; without a hash set it stays until retractions
    have removed it.
    """
    ignored = np.zeros(len(takes), np.bool_)
    starts, sizes = groups.starts, np.diff(groups.starts, append=len(takes))
    repeated = np.add.reduceat(is_seed, starts, dtype=np.intp)
    if (repeated < 2).all():
        return ignored
    fold, values = elements.fold, elements.values[groups.order]
    takes_early, all_but_one = takes, np.zeros(len(takes), np.bool_)
    if fold.type.inner.root not in _COMPARED_BY_VALUE:
        puts = ~_first_of_seeded(fold) if fold.retract is None else ~fold.retract & ~_first_of_seeded(fold)
        next_put = first_where(puts, fold.starts)[fold.keys_of_rows()][values]
        takes_early = takes & ((next_put < 0) | (values < next_put))
        all_but_one = next_put >= 0
    taken = np.minimum(np.add.reduceat(takes_early, starts, dtype=np.intp), np.maximum(repeated - 1, 0))
    ignored |= takes_early & (_rank(takes_early, starts, sizes) <= np.repeat(taken, sizes))
    dropped = np.where(all_but_one, np.repeat(repeated - 1, sizes), np.repeat(taken, sizes))
    return ignored | (is_seed & (_rank(is_seed, starts, sizes) <= dropped))


def _first_of_seeded(fold: Fold) -> Mask:
    first = np.zeros(fold.count, np.bool_)
    first[fold.starts] = seeds(fold)
    return first


def _rank(mask: Mask, starts: Rows, sizes: Rows) -> Rows:
    """For each row, the number of true rows in its group up to and including it."""
    number = np.cumsum(mask)
    rank: Rows = number - np.repeat((number - mask)[starts], sizes)
    return rank


def _at(places: Rows, like: Mask) -> Mask:
    mask = np.zeros(len(like), np.bool_)
    mask[places] = True
    return mask


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root is Root.ARRAY else "needs an ARRAY"


SPECS: Specs = {"collect": AggregateSpec(collected, _objection, retracts=True, appends_late=True)}
