"""``max`` and ``min`` (Java: FieldMaxAgg), ``bool_and`` and ``bool_or`` (Java: FieldBoolAndAgg): nulls do not count.

The order is Java's: NaN is greatest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.format.types import BINARIES, FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataType, Root
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs
from paimon_spark.merge.keys.key_words import order_fields, ordered_columns, pack_fields
from paimon_spark.merge.keys.winners import Groups, pick_last

_COMPARABLE = INTEGERS | FLOATS | STRINGS | BINARIES | TIMESTAMPS | {Root.BOOLEAN, Root.DECIMAL, Root.DATE, Root.TIME}
_PLAIN = INTEGERS | TIMESTAMPS | {Root.DATE, Root.TIME}  # one Arrow word a value, in the order of integers


def maximum(fold: Fold) -> pa.Array:
    """The greatest value that is not null."""
    return _extreme(fold, least=False)


def minimum(fold: Fold) -> pa.Array:
    """The least value that is not null."""
    return _extreme(fold, least=True)


def _extreme(fold: Fold, least: bool) -> pa.Array:
    if fold.type.root in _PLAIN:
        return _extreme_integer(fold, least)
    fields = order_fields(fold.values, fold.column)
    if least:
        fields = [~field for field in fields]
    if fold.valid is not None:
        fields = [fold.valid.view(np.uint8), *(np.where(fold.valid, field, 0).astype(field.dtype) for field in fields)]
    criteria = pack_fields(fields, len(fold.values))
    rows = pick_last(Groups(np.arange(len(fold.values)), fold.starts), criteria)
    return fold.values.take(pa.array(rows))


def _extreme_integer(fold: Fold, least: bool) -> pa.Array:
    values: npt.NDArray[Any] = ordered_columns(fold.source, fold.column)[0]
    if fold.rows is not None:
        values = values[fold.rows]
    if fold.valid is not None:
        limits = np.iinfo(values.dtype)
        values = np.where(fold.valid, values, values.dtype.type(limits.max if least else limits.min))
    best = (np.minimum if least else np.maximum).reduceat(values, fold.starts)
    return pa.array(best, mask=fold.empty).view(fold.source.type)


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root in _COMPARABLE else "needs a type with an order: a number, text, bytes, date or time"


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


def _boolean_objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root is Root.BOOLEAN else "needs a BOOLEAN"


SPECS: Specs = {
    "max": AggregateSpec(maximum, _objection, starts_plain=True, commutative=True),
    "min": AggregateSpec(minimum, _objection, starts_plain=True, commutative=True),
    "bool_and": AggregateSpec(all_true, _boolean_objection, commutative=True, starts_plain=True),
    "bool_or": AggregateSpec(any_true, _boolean_objection, commutative=True, starts_plain=True),
}
