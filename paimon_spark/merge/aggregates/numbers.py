"""``sum`` (Java: FieldSumAgg): exact for integers and decimals, from left to right for floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paimon_spark.errors import DataError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import FLOATS, INTEGERS, DataType, Root
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs
from paimon_spark.merge.keys.key_words import ordered_columns
from paimon_spark.merge.keys.winners import Mask

_NUMERIC = INTEGERS | FLOATS | {Root.DECIMAL}
_LANE = 32  # bits of a number that are added at once: sums of 2**31 rows fit into a signed word
_LOW = np.int64(2**_LANE - 1)

Lanes = list[npt.NDArray[np.int64]]


def total(fold: Fold) -> pa.Array:
    """The sum of the values that are not null; retracted ones are subtracted.

    Raises:
        DataError: a sum, intermediate sums included, leaves the range of the type.
    """
    return _total_of_floats(fold) if fold.type.root in FLOATS else _total_of_integers(fold)


def _total_of_floats(fold: Fold) -> pa.Array:
    """From left to right, one value of every key at a time: floating-point addition depends on the order."""
    values: npt.NDArray[Any] = fold.source.fill_null(0.0).to_numpy()
    if fold.rows is not None:
        values = values[fold.rows]
    if fold.retract is not None:
        values = np.where(fold.retract, -values, values)
    starts, sizes, missing = fold.starts, fold.sizes, None
    if fold.valid is not None:  # leave nulls out: adding 0.0 would change -0.0
        counts = np.add.reduceat(fold.valid, starts, dtype=np.intp)
        values, missing = values[fold.valid], counts == 0
        sizes = counts
        starts = np.cumsum(counts) - counts
        if not len(values):
            return pa.nulls(fold.keys, fold.values.type)
    result = values[np.minimum(starts, len(values) - 1)]
    active = np.flatnonzero(sizes > 1)
    depth = 1
    while len(active):
        result[active] += values[starts[active] + depth]
        depth += 1
        active = active[sizes[active] > depth]
    return pa.array(result, mask=missing)


def _total_of_integers(fold: Fold) -> pa.Array:
    if fold.type.root is Root.DECIMAL:
        limit = 10 ** (fold.type.precision or 10) - 1
        bounds = (-limit, limit)
    else:
        bits = fold.source.type.bit_width
        bounds = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    words = _words(fold)
    if len(words) == 1:
        greatest = max(int(words[0].max()), -int(words[0].min()))
        if greatest * int(fold.sizes.max()) <= bounds[1]:  # no sum can leave the range, nor that of the word
            word = words[0] if fold.retract is None else np.where(fold.retract, -words[0], words[0])
            return _from_words([np.add.reduceat(word, fold.starts)], fold)
    lanes = _lanes(words, fold.retract)
    if _may_leave(lanes, fold, bounds):
        _check_prefixes(lanes, fold, bounds)
    sums = _carry([np.add.reduceat(lane, fold.starts) for lane in lanes])
    return _from_words([sums[i] | (sums[i + 1] << _LANE) for i in range(0, len(sums), 2)], fold)


def _words(fold: Fold) -> Lanes:
    """The values in words of 64 bits, the lowest first, the last one signed; 0 for nulls."""
    words = []
    for field in reversed(ordered_columns(fold.source, fold.column)):
        word = field.view(np.int64) if field.dtype == np.uint64 else field.astype(np.int64, copy=False)
        word = word if fold.rows is None else word[fold.rows]
        words.append(word if fold.valid is None else np.where(fold.valid, word, 0))
    return words


def _lanes(words: Lanes, retract: Mask | None) -> Lanes:
    """The values, negative where retracted, in lanes of 32 bits, the lowest first, the last one signed."""
    lanes: Lanes = []
    for number, word in enumerate(words):
        high = word >> _LANE
        lanes += [word & _LOW, high if number == len(words) - 1 else high & _LOW]
    if retract is None:
        return lanes
    sign = np.where(retract, np.int64(-1), np.int64(1))
    return [lane * sign for lane in lanes]


def _carry(lanes: Lanes) -> Lanes:
    """The numbers with carries propagated: every lane but the last is in 0..2**32-1."""
    result: Lanes = []
    rest = np.zeros_like(lanes[0])
    for lane in lanes[:-1]:
        lane = lane + rest
        result.append(lane & _LOW)
        rest = lane >> _LANE
    return [*result, lanes[-1] + rest]


def _may_leave(lanes: Lanes, fold: Fold, bounds: tuple[int, int]) -> bool:
    """True if a sum could leave the bounds, estimated by the sum of all magnitudes; usually False."""
    magnitude = sum(float(np.abs(lane).max(initial=0)) * 2.0 ** (_LANE * i) for i, lane in enumerate(lanes))
    return magnitude * float(fold.sizes.max(initial=1)) * 1.001 > float(bounds[1])


def _check_prefixes(lanes: Lanes, fold: Fold, bounds: tuple[int, int]) -> None:
    """Raise if a sum of the first values of a key leaves the bounds."""
    running = []
    for lane in lanes:
        sums = np.cumsum(lane)
        before = sums[fold.starts] - lane[fold.starts]
        running.append(sums - np.repeat(before, fold.sizes))
    outside = _outside(_carry(running), bounds)
    if outside.any():
        raise DataError(
            f"column '{fold.column}', aggregate function '{fold.function}': a sum leaves the range of "
            f"{type_sql(fold.type)}; give the column a wider type, or correct the rows"
        )


def _outside(lanes: Lanes, bounds: tuple[int, int]) -> Mask:
    return _less(lanes, bounds[0]) | ~_less(lanes, bounds[1] + 1)


def _less(lanes: Lanes, bound: int) -> Mask:
    """True where the number is less than the bound."""
    less = np.zeros(len(lanes[0]), np.bool_)
    for i, lane in enumerate(lanes):
        part = bound >> (_LANE * i)
        if i < len(lanes) - 1:
            part &= int(_LOW)
        less = (lane < part) | ((lane == part) & less)
    return less


def _from_words(words: Lanes, fold: Fold) -> pa.Array:
    """Words of 64 bits, the lowest first, as an array of the type of the column."""
    if fold.type.root is not Root.DECIMAL:
        return pa.array(words[0].astype(fold.source.type.to_pandas_dtype()), mask=fold.empty)
    if len(words) == 1:
        words = [words[0], words[0] >> 63]
    data = np.stack(words, axis=1)
    valid = None if fold.empty is None else pa.array(~fold.empty).buffers()[1]
    return pa.Array.from_buffers(fold.source.type, fold.keys, [valid, pa.py_buffer(data)])


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root in _NUMERIC else "needs a number"


SPECS: Specs = {"sum": AggregateSpec(total, _objection, starts_plain=True, retracts=True, commutative=True)}
