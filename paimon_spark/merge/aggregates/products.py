"""``product`` (Java: FieldProductAgg): values are multiplied from left to right, retracted ones divide.

Integers divide as in Java, towards zero. A DECIMAL is rounded half up to the scale of the column after every step, and
divided only if the quotient is a finite decimal. Where these rules make the order matter, each step processes one
value of every key.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import FLOATS, INTEGERS, DataType, Root
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs
from paimon_spark.merge.aggregates.parts import has_value
from paimon_spark.merge.keys.key_words import ordered_columns
from paimon_spark.merge.keys.winners import Mask, Rows

Numbers: TypeAlias = npt.NDArray[Any]
Step: TypeAlias = Callable[[Numbers, Numbers], Numbers]

_ENDLESS = 10**127  # divided by every 2**a * 5**b below 10**38, and by no other number
_WORD = 64
_LONG_MIN = -(2**63)


@dataclass(frozen=True)
class _Operands:
    """The values that count, key by key: no nulls, and the first value of each key is not a retraction.

    Attributes:
        numbers: integers as int64, DECIMALs as unscaled Python integers.
        divides: True for retracted values; None if there are none.
    """

    numbers: Numbers
    starts: Rows
    sizes: Rows
    divides: Mask | None


def product(fold: Fold) -> pa.Array:
    """The product of the values that are not null; retracted ones divide it.

    Raises:
        DataError: a product, intermediate products included, leaves the range of the type; a division by zero; a
            DECIMAL quotient that is not a finite decimal.
    """
    present = has_value(fold)
    if not present.any():
        return pa.nulls(fold.keys, fold.source.type)
    operands = _operands(fold)
    if fold.type.root in FLOATS:
        result = _product_of_floats(operands)
    elif fold.type.root is Root.DECIMAL:
        result = _walk(operands, _decimal_times(fold), _decimal_over(fold))
    else:
        result = _product_of_integers(operands, fold)
    return _spread(result, present, fold)


def _operands(fold: Fold) -> _Operands:
    kept = np.ones(fold.count, np.bool_) if fold.valid is None else fold.valid
    if fold.retract is not None:  # nothing to divide before the first value
        put = kept & ~fold.retract
        before = np.cumsum(put)
        kept = kept & (before > np.repeat((before - put)[fold.starts], fold.sizes))
    counts = np.add.reduceat(kept, fold.starts, dtype=np.intp)
    sizes = counts[counts > 0]
    divides = None if fold.retract is None else fold.retract[kept]
    numbers = _numbers(fold)[kept]
    return _Operands(numbers, np.cumsum(sizes) - sizes, sizes, divides)


def _numbers(fold: Fold) -> Numbers:
    values = fold.values
    if fold.type.root in FLOATS:
        return np.asarray(values.fill_null(0.0).to_numpy())
    columns = ordered_columns(values, fold.column)
    if fold.type.root is not Root.DECIMAL:
        return np.asarray(columns[0], np.int64)
    if len(columns) == 1:
        return np.asarray(columns[0].astype(object))
    return np.asarray(columns[0].astype(object) * 2**_WORD + columns[1].astype(object))


def _product_of_floats(operands: _Operands) -> Numbers:
    with np.errstate(all="ignore"):
        if operands.divides is None:
            return np.asarray(np.multiply.reduceat(operands.numbers, operands.starts))
        return _walk(operands, np.multiply, np.divide)


def _product_of_integers(operands: _Operands, fold: Fold) -> Numbers:
    """All at once, but step by step for keys that divide or could leave the range on the way."""
    bits = fold.source.type.bit_width
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    with np.errstate(over="ignore", divide="ignore"):
        result: Numbers = np.multiply.reduceat(operands.numbers, operands.starts)
        magnitudes = np.maximum(np.abs(operands.numbers.astype(np.float64)), 1.0)
        careful = np.multiply.reduceat(magnitudes, operands.starts) * 1.001 > high
        if operands.divides is not None:
            careful |= np.logical_or.reduceat(operands.divides, operands.starts)
        if careful.any():
            chosen = np.repeat(careful, operands.sizes)
            sizes = operands.sizes[careful]
            divides = None if operands.divides is None else operands.divides[chosen]
            part = _Operands(operands.numbers[chosen], np.cumsum(sizes) - sizes, sizes, divides)
            result[careful] = _walk(part, _integer_times(fold, low, high), _integer_over(fold, low, high))
    return result


def _walk(operands: _Operands, times: Step, over: Step) -> Numbers:
    """From left to right, one value of every key at a time."""
    starts, sizes, divides = operands.starts, operands.sizes, operands.divides
    result = operands.numbers[starts]
    active, depth = np.flatnonzero(sizes > 1), 1
    while len(active):
        places = starts[active] + depth
        if divides is None:
            result[active] = times(result[active], operands.numbers[places])
        else:
            for step, chosen in ((times, ~divides[places]), (over, divides[places])):
                if chosen.any():
                    keys = active[chosen]
                    result[keys] = step(result[keys], operands.numbers[places[chosen]])
        depth += 1
        active = active[sizes[active] > depth]
        if divides is None and result.dtype.kind == "i":
            active = active[result[active] != 0]  # stays 0
    return result


def _integer_times(fold: Fold, low: int, high: int) -> Step:
    def times(left: Numbers, right: Numbers) -> Numbers:
        result = left * right  # of 64 bits: wraps, and then does not divide back
        divisor = np.where(left == 0, 1, left)
        wrong = (left != 0) & ((result // divisor != right) | ((left == -1) & (right == _LONG_MIN)))
        return _in_range(result, wrong | (result < low) | (result > high), fold)

    return times


def _integer_over(fold: Fold, low: int, high: int) -> Step:
    def over(left: Numbers, right: Numbers) -> Numbers:
        _check_divisors(right, fold)
        floor = left // right
        result = floor + ((floor < 0) & (floor * right != left))
        wrong = ((left == _LONG_MIN) & (right == -1)) | (result < low) | (result > high)
        return _in_range(result, wrong, fold)

    return over


def _decimal_times(fold: Fold) -> Step:
    unit = 10 ** (fold.type.scale or 0)

    def times(left: Numbers, right: Numbers) -> Numbers:
        return _fitting(_round_half_up(left * right, unit), fold)

    return times


def _decimal_over(fold: Fold) -> Step:
    unit = 10 ** (fold.type.scale or 0)

    def over(left: Numbers, right: Numbers) -> Numbers:
        _check_divisors(right, fold)
        reduced = np.abs(right) // np.gcd(left, right)
        if (_ENDLESS % reduced != 0).any():
            raise DataError(
                f"column '{fold.column}', aggregate function '{fold.function}': the product divided by a retracted "
                f"value has no end as a decimal number; retract only what was put in, or set "
                f"'fields.{fold.column}.ignore-retract' = 'true'"
            )
        return _fitting(_round_half_up(left * np.sign(right) * unit, np.abs(right)), fold)

    return over


def _round_half_up(numbers: Numbers, unit: Any) -> Numbers:
    """numbers / unit as integers, halves away from zero."""
    rounded = (np.abs(numbers) * 2 + unit) // (2 * unit)
    return np.asarray(rounded * np.sign(numbers))


def _fitting(numbers: Numbers, fold: Fold) -> Numbers:
    limit = 10 ** (fold.type.precision or 10)
    return _in_range(numbers, np.abs(numbers) >= limit, fold)


def _in_range(numbers: Numbers, wrong: npt.NDArray[Any], fold: Fold) -> Numbers:
    if wrong.any():
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a product leaves the range of "
            f"{type_sql(fold.type)}; give the column a wider type, or correct the rows"
        )
    return numbers


def _check_divisors(numbers: Numbers, fold: Fold) -> None:
    if (numbers == 0).any():
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a retracted value is 0, and nothing can be "
            f"divided by it; set 'fields.{fold.column}.ignore-retract' = 'true', or correct the rows"
        )


def _spread(numbers: Numbers, present: Mask, fold: Fold) -> pa.Array:
    """The results of the keys that have one, null for the others."""
    arrow = fold.source.type
    if fold.type.root is Root.DECIMAL:
        values = _decimals(numbers, arrow)
    else:
        values = pa.array(numbers.astype(arrow.to_pandas_dtype()), arrow)
    return values if present.all() else values.take(pa.array(np.cumsum(present) - 1, mask=~present))


def _decimals(numbers: Numbers, arrow: pa.DataType) -> pa.Array:
    """Unscaled Python integers as a decimal128 array."""
    low = (numbers & (2**_WORD - 1)).astype(np.uint64)
    data = np.stack([low.view(np.int64), (numbers >> _WORD).astype(np.int64)], axis=1)
    return pa.Array.from_buffers(arrow, len(numbers), [None, pa.py_buffer(data)])


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    numeric = data_type.root in INTEGERS | FLOATS | {Root.DECIMAL}
    return None if numeric else "needs a number"


SPECS: Specs = {
    "product": AggregateSpec(product, _objection, retracts=True, commutative=True, starts_plain=True),
}
