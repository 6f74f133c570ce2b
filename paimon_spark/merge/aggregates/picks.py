"""Functions that select one of the values: the last or the first, with nulls or without.

Java: FieldLastValueAgg, FieldLastNonNullValueAgg, FieldFirstValueAgg, FieldFirstNonNullValueAgg, FieldPrimaryKeyAgg.
They compute the position of that value, so that no other value is copied.

A late row of a sequence group is folded with the roles exchanged: the row is the accumulator, and the accumulator is
the value (Java: FieldAggregator.aggReversed). For the functions of the first value this leads to the rules below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.merge.aggregates.frame import AggregateSpec, Fold, Specs, any_type, first_where, last_where
from paimon_spark.merge.keys.winners import Mask

Positions = npt.NDArray[np.int64]


def primary_key(fold: Fold) -> pa.Array:
    """The last value, also of a retraction: rows of one key have the same one."""
    return fold.take(fold.lasts)


def last_value(fold: Fold) -> pa.Array:
    """The last value, null if that is null or a retraction. Late rows change nothing."""
    positions = fold.lasts if fold.late is None else last_where(~fold.late, fold.starts)
    return fold.take(_unless(fold.retract, positions))


def last_non_null_value(fold: Fold) -> pa.Array:
    """The last value that is not null. A retraction of a value that is not null sets null; any other has no effect.

    A late row sets its value only if there is none at that time.
    """
    valid = _valid(fold)
    if fold.valid is None and fold.late is None:
        return last_value(fold)
    if fold.retract is None and fold.late is None:  # where all are null, the last one is as good as any
        return fold.take(last_where(valid, fold.starts, fold.keys_of_rows(), fold.lasts))
    if fold.late is None:
        return fold.take(_unless(fold.retract, last_where(valid, fold.starts)))
    last = last_where(valid & ~fold.late, fold.starts)
    kept = _unless(fold.retract, last)
    first_late = first_where(valid & fold.late & _after(last, fold), fold.starts)
    return fold.take(np.where(kept < 0, first_late, kept))


def first_value(fold: Fold) -> pa.Array:
    """The first value, null or not. A seed is no first value, unless it is settled.

    The first row settles the value: its own, but if it is late, the seed's. After that every late row is the first one.
    """
    starts = fold.starts
    if fold.seeded is None and fold.late is None:
        return fold.take(starts)
    seeds = _seeds(fold)
    settling = first_where(~seeds, starts)
    settling = np.where(_settled(fold), starts, settling)
    positions = np.where(settling < 0, starts, settling)
    if fold.late is not None:
        seed = np.where(seeds[starts], starts, -1)
        positions = np.where(fold.late[positions], seed, positions)
        last_late = last_where(fold.late & _after(settling, fold), starts)
        positions = np.where(last_late < 0, positions, last_late)
    return fold.take(positions)


def first_non_null_value(fold: Fold) -> pa.Array:
    """The first value that is not null. A seed is no first value, unless it is settled.

    The first value that is not null settles the value; but if it is the seed's or that of a late row, it only settles
    when a late row follows before another value that is not null. After that every late row is the first one, with
    its null too.
    """
    starts, valid = fold.starts, _valid(fold)
    if fold.seeded is None and fold.late is None:
        return fold.take(first_where(valid, starts, fold.keys_of_rows(), starts))
    seeds = _seeds(fold)
    late = np.zeros(fold.count, np.bool_) if fold.late is None else fold.late
    loose = seeds | late
    settled = _settled(fold)
    first = first_where(valid, starts)
    settling = first_where((late | (valid & ~seeds)) & _after(first, fold) & np.repeat(first >= 0, fold.sizes), starts)
    settling = np.where((first >= 0) & ~loose[first], first, settling)
    positions = np.where((settling < 0) | late[settling], first, settling)
    positions = np.where(settled, starts, positions)
    settling = np.where(settled, starts, settling)
    last_late = last_where(late & _after(settling, fold) & np.repeat(settling >= 0, fold.sizes), starts)
    return fold.take(np.where(last_late < 0, positions, last_late))


def _valid(fold: Fold) -> Mask:
    return np.ones(fold.count, np.bool_) if fold.valid is None else fold.valid


def _seeds(fold: Fold) -> Mask:
    """True for the values that are seeds."""
    mask = np.zeros(fold.count, np.bool_)
    if fold.seeded is not None:
        mask[fold.starts[fold.seeded]] = True
    return mask


def _settled(fold: Fold) -> Mask:
    return np.zeros(fold.keys, np.bool_) if fold.settled is None else fold.settled


def _after(positions: Positions, fold: Fold) -> Mask:
    """True for the values of each key after a position."""
    return np.arange(fold.count) > np.repeat(positions, fold.sizes)


def _unless(retract: Mask | None, positions: Positions) -> Positions:
    """The positions, -1 where the value there is retracted."""
    return positions if retract is None else np.where((positions >= 0) & retract[positions], -1, positions)


def _all_settle(fold: Fold) -> Mask:
    return np.ones(fold.count, np.bool_)


SPECS: Specs = {
    "primary-key": AggregateSpec(
        primary_key, any_type, starts_plain=True, retracts=True, takes_late=True, null_counts=True
    ),
    "last_value": AggregateSpec(
        last_value, any_type, starts_plain=True, retracts=True, takes_late=True, null_counts=True
    ),
    "last_non_null_value": AggregateSpec(
        last_non_null_value, any_type, starts_plain=True, retracts=True, takes_late=True
    ),
    "first_value": AggregateSpec(
        first_value, any_type, starts_plain=True, takes_late=True, settled_by=_all_settle, null_counts=True
    ),
    "first_non_null_value": AggregateSpec(
        first_non_null_value, any_type, starts_plain=True, takes_late=True, settled_by=_valid
    ),
    "first_not_null_value": AggregateSpec(
        first_non_null_value, any_type, starts_plain=True, takes_late=True, settled_by=_valid
    ),
}
