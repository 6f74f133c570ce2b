"""``bool_and`` and ``bool_or`` (Java: FieldBoolAndAgg, FieldBoolOrAgg): nulls do not count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs


def all_true(fold: Fold) -> pa.Array:
    """False if any value is false."""
    return _fold(fold, np.logical_and, neutral=True)


def any_true(fold: Fold) -> pa.Array:
    """True if any value is true."""
    return _fold(fold, np.logical_or, neutral=False)


def _fold(fold: Fold, ufunc: np.ufunc, neutral: bool) -> pa.Array:
    values = fold.values.fill_null(neutral).to_numpy(zero_copy_only=False)
    missing = None if fold.valid is None else ~np.logical_or.reduceat(fold.valid, fold.starts)
    return pa.array(ufunc.reduceat(values, fold.starts), mask=missing)


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root is Root.BOOLEAN else "needs a BOOLEAN"


SPECS: Specs = {
    "bool_and": AggregateSpec(all_true, _objection, commutative=True, starts_plain=True),
    "bool_or": AggregateSpec(any_true, _objection, commutative=True, starts_plain=True),
}
