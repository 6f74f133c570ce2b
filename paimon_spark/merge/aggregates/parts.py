"""Splits folds: keys with nothing to fold are set aside, and values of a key are folded in consecutive phases."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from paimon_spark.merge.aggregates.frame import Aggregate, Fold
from paimon_spark.merge.keys.winners import Mask, Rows


def acting_rows(fold: Fold) -> Mask:
    """True for values that are late, or neither seed nor null: even into a late null the older result is folded."""
    acting = np.ones(fold.count, np.bool_) if fold.valid is None else fold.valid.copy()
    if fold.late is not None:
        acting |= fold.late
    acting[fold.starts] &= ~seeds(fold)
    return acting


def seeds(fold: Fold) -> Mask:
    """Per key, whether its first value is a seed."""
    return np.zeros(fold.keys, np.bool_) if fold.seeded is None else fold.seeded


def only_seeds(fold: Fold) -> Mask:
    """For each key, whether only nulls follow its seed, which is the result then."""
    if fold.seeded is None:
        return np.zeros(fold.keys, np.bool_)
    alone: Mask = fold.seeded & ~np.logical_or.reduceat(acting_rows(fold), fold.starts)
    return alone


def has_value(fold: Fold) -> Mask:
    """For each key, whether a value that is not null was added. If not, retractions do nothing: the result is null."""
    puts = np.ones(fold.count, np.bool_) if fold.valid is None else fold.valid.copy()
    if fold.retract is not None:
        puts &= ~fold.retract
    present: Mask = np.logical_or.reduceat(puts, fold.starts)
    return present


def fold_rest(fold: Fold, done: Mask, aggregate: Aggregate) -> pa.Array:
    """One value per key: for keys that are done their first value, for the others the result of the function.

    Args:
        fold: any fold.
        done: for each key, True if its first value is the result.
        aggregate: the function; it gets only the other keys.
    """
    if not done.any():
        return aggregate(fold)
    if done.all():
        return fold.take(fold.starts)
    merged = aggregate(select_keys(fold, ~done))
    first = fold.starts if fold.rows is None else fold.rows[fold.starts]
    places = np.where(done, first, len(fold.source) + np.cumsum(~done) - 1)
    return pa.concat_arrays([fold.source, merged]).take(pa.array(places))


def select_keys(fold: Fold, chosen: Mask) -> Fold:
    """The fold of some of the keys; there is at least one."""
    rows = np.flatnonzero(np.repeat(chosen, fold.sizes))
    sizes = fold.sizes[chosen]

    def of_rows(mask: Mask | None) -> Mask | None:
        return _useful(None if mask is None else mask[rows])

    return replace(
        fold,
        starts=np.cumsum(sizes) - sizes,
        rows=rows if fold.rows is None else fold.rows[rows],
        retract=of_rows(fold.retract),
        late=of_rows(fold.late),
        seeded=_useful(None if fold.seeded is None else fold.seeded[chosen]),
        settled=_useful(None if fold.settled is None else fold.settled[chosen]),
        key_of_row=None,
    )


def late_after_retract(fold: Fold) -> Mask:
    """True for late values that follow a retraction of their key with no other late value between.

    They cannot be moved before the retraction.
    """
    cuts = np.zeros(fold.count, np.bool_)
    if fold.late is None or fold.retract is None:
        return cuts
    events = np.flatnonzero(fold.late | fold.retract)
    keys = fold.keys_of_rows()[events]
    cuts[events[1:]] = (fold.late & ~fold.retract)[events[1:]] & fold.retract[events[:-1]] & (keys[1:] == keys[:-1])
    return cuts


def fold_in_phases(fold: Fold, cuts: Mask, aggregate: Aggregate) -> pa.Array:
    """One value per key, for a function that cannot fold all values of a key at once.

    The values of a key are cut into phases; each phase folds the result of the one before. In a phase the late values
    come first, the last of them as the seed, followed by the result of the phase before: so a function folds an
    existing result into a late value (Java: FieldAggregator.aggReversed).

    Args:
        fold: any fold.
        cuts: True for values that start a phase; at the first value of a key it has no effect.
        aggregate: gets the values of one phase, none of them late.
    """
    if fold.late is None and not cuts.any():
        return aggregate(fold)
    total = np.cumsum(cuts)
    phases: Rows = total - np.repeat(total[fold.starts], fold.sizes)
    order = np.argsort(phases, kind="stable")
    bounds = np.append(np.flatnonzero(np.diff(phases[order], prepend=-1)), fold.count)
    keys = fold.keys_of_rows()
    result = _Results(fold.keys)
    for start, end in itertools.pairwise(bounds.tolist()):
        rows = order[start:end]
        result.add(*_fold_phase(fold, rows, keys[rows], result, aggregate))
    return result.values()


@dataclass
class _Results:
    """The results of the phases, and the position of the last result of each key."""

    keys: int

    def __post_init__(self) -> None:
        self._arrays: list[pa.Array] = []
        self._place = np.full(self.keys, -1, np.intp)
        self._count = 0
        self._latest = np.empty(0, np.intp)

    def add(self, keys: Rows, values: pa.Array) -> None:
        self._arrays.append(values)
        self._place[keys] = self._count + np.arange(len(keys))
        self._count += len(keys)
        self._latest = keys

    def left(self, keys: Rows) -> pa.Array | None:
        """The results of the phase before for keys that all were in it; None before the first phase."""
        return self._arrays[-1].take(pa.array(np.searchsorted(self._latest, keys))) if self._arrays else None

    def values(self) -> pa.Array:
        return pa.concat_arrays(self._arrays).take(pa.array(self._place))


def _fold_phase(fold: Fold, rows: Rows, keys: Rows, before: _Results, aggregate: Aggregate) -> tuple[Rows, pa.Array]:
    """The keys of one phase and their results.

    Args:
        rows: positions in the fold order, key by key.
        keys: the keys of these rows.
        before: the results so far.
    """
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    present = keys[begins]
    late = np.zeros(len(rows), np.bool_) if fold.late is None else fold.late[rows]
    if fold.late is not None and fold.retract is not None:
        late = late & ~fold.retract[rows]
    retract = np.zeros(len(rows), np.bool_) if fold.retract is None else fold.retract[rows]
    source = fold.take(rows)
    left = before.left(present)
    if left is None:
        seeded = seeds(fold).copy()
    else:
        source = pa.concat_arrays([left, source])
        seeded = np.ones(len(present), np.bool_)
        keys, late, retract = (
            np.concatenate([head, tail])
            for head, tail in (
                (present, keys),
                (np.zeros(len(left), np.bool_), late),
                (np.zeros(len(left), np.bool_), retract),
            )
        )
    place = np.arange(len(keys))
    order = np.lexsort((np.where(late, -place, place), ~late, keys))
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    seeded |= late[order[starts]]
    part = replace(
        fold,
        source=source,
        starts=starts,
        rows=order,
        retract=_useful(retract[order]),
        seeded=_useful(seeded),
        late=None,
        settled=None,
        key_of_row=None,
    )
    return present, aggregate(part)


def _useful(mask: Mask | None) -> Mask | None:
    return mask if mask is not None and mask.any() else None
