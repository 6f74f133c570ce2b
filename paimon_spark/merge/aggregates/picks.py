"""Functions that keep one of the values as it is: the last, the first, with nulls or without.

Java: FieldLastValueAgg, FieldLastNonNullValueAgg, FieldFirstValueAgg, FieldFirstNonNullValueAgg, FieldPrimaryKeyAgg.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.merge.aggregates.frame import (
    AggregateSpec,
    Fold,
    Specs,
    any_type,
    first_where,
    last_where,
    take_or_null,
)
from paimon_spark.merge.winners import Mask


def primary_key(fold: Fold) -> pa.Array:
    """The last value, also of a retraction: rows of one key have the same one."""
    return fold.values.take(pa.array(fold.lasts))


def last_value(fold: Fold) -> pa.Array:
    """The last value, null if that is null or a retraction."""
    positions = fold.lasts
    if fold.retract is not None:
        positions = np.where(fold.retract[positions], -1, positions)
    return take_or_null(fold.values, positions)


def last_non_null_value(fold: Fold) -> pa.Array:
    """The last value that is not null; a retraction of a value that is not null leaves null, any other nothing."""
    valid = _valid(fold)
    positions = last_where(valid, fold.starts)
    if fold.retract is not None:
        positions = np.where(fold.retract[positions] & (positions >= 0), -1, positions)
    return take_or_null(fold.values, positions)


def first_value(fold: Fold) -> pa.Array:
    """The first value, null or not. A seed is no first value: the first one folded takes its place."""
    positions = fold.starts
    if fold.seeded is not None:
        positions = positions + (fold.seeded & (fold.sizes > 1))
    return fold.values.take(pa.array(positions))


def first_non_null_value(fold: Fold) -> pa.Array:
    """The first value that is not null. A seed is no first value: the first one folded takes its place."""
    wanted = _valid(fold)
    if fold.seeded is None:
        return take_or_null(fold.values, first_where(wanted, fold.starts))
    wanted = wanted.copy()
    wanted[fold.starts[fold.seeded]] = False
    positions = first_where(wanted, fold.starts)
    return take_or_null(fold.values, np.where((positions < 0) & fold.seeded, fold.starts, positions))


def _valid(fold: Fold) -> Mask:
    return np.ones(len(fold.values), np.bool_) if fold.valid is None else fold.valid


SPECS: Specs = {
    "primary-key": AggregateSpec(primary_key, any_type, retracts=True),
    "last_value": AggregateSpec(last_value, any_type, retracts=True),
    "last_non_null_value": AggregateSpec(last_non_null_value, any_type, retracts=True),
    "first_value": AggregateSpec(first_value, any_type),
    "first_non_null_value": AggregateSpec(first_non_null_value, any_type),
    "first_not_null_value": AggregateSpec(first_non_null_value, any_type),
}
