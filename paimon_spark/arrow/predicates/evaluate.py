"""Predicates on the rows of a batch: three-valued, vectorised, with Spark's comparisons where Arrow's differ."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from paimon_spark.arrow import kernels as pc
from paimon_spark.arrow.predicates.predicate import (
    AlwaysFalse,
    AlwaysNull,
    AlwaysTrue,
    And,
    Compare,
    CompareColumns,
    Contains,
    EndsWith,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Like,
    Not,
    Op,
    Or,
    Padded,
    Path,
    Predicate,
    Remainder,
    StartsWith,
    UnlessNull,
    Value,
    Wildcard,
)
from paimon_spark.arrow.raw_values import scalar_of
from paimon_spark.arrow.types import NANOS_PER_UNIT, decimal_of
from paimon_spark.errors import PredicateError

_KERNELS = {
    Op.EQ: "equal",
    Op.NULL_SAFE_EQ: "equal",
    Op.NE: "not_equal",
    Op.LT: "less",
    Op.LE: "less_equal",
    Op.GT: "greater",
    Op.GE: "greater_equal",
}
_PYTHON: dict[Op, Callable[[Any, Any], bool]] = {
    Op.EQ: operator.eq,
    Op.NULL_SAFE_EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


def filter_batch(predicate: Predicate, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows for which the predicate is true; the batch itself, uncopied, if that is all of them.

    Raises:
        PredicateError: a column of the predicate is missing.
    """
    if isinstance(predicate, AlwaysTrue):
        return batch
    mask = evaluate(predicate, batch)
    return batch if mask.true_count == batch.num_rows else batch.filter(mask)


def evaluate(predicate: Predicate, batch: pa.RecordBatch) -> pa.BooleanArray:
    """The truth value of the predicate for each row; null is SQL's NULL.

    Args:
        predicate: its leaves hold internal values. A value that the column cannot hold (out of range, or finer than the
            column's scale or unit) is compared exactly.
        batch: has every column of the predicate, in the type that ``arrow_type`` gives.

    Raises:
        PredicateError: a column is missing.
    """
    match predicate:
        case AlwaysTrue():
            return pa.repeat(True, batch.num_rows)
        case AlwaysFalse():
            return pa.repeat(False, batch.num_rows)
        case AlwaysNull():
            return pa.nulls(batch.num_rows, pa.bool_())
        case And(parts):
            return reduce(pc.and_kleene, (evaluate(part, batch) for part in parts))
        case Or(parts):
            return reduce(pc.or_kleene, (evaluate(part, batch) for part in parts))
        case Not(part):
            return pc.invert(evaluate(part, batch))
        case CompareColumns(column, op, other, padded):
            left, right = (_with_blanks(_column(batch, path), padded) for path in (column, other))
            return _compare_columns(left, op, right)
        case leaf:
            return _evaluate_leaf(leaf, _column(batch, leaf.column))


def _column(batch: pa.RecordBatch, path: Path) -> pa.Array:
    """The values at a path; null where a ROW on the way is."""
    if path[0] not in batch.schema.names:
        raise PredicateError(f"the filter needs column '{path[0]}', the rows have: {', '.join(batch.schema.names)}")
    column = batch.column(path[0])
    for name in path[1:]:
        if not pt.is_struct(column.type) or column.type.get_field_index(name) < 0:
            raise PredicateError(f"the filter needs '{'.'.join(path)}', column '{path[0]}' is {batch[path[0]].type}")
        column = pc.struct_field(column, name)
    return column


def _evaluate_leaf(leaf: Leaf, column: pa.Array) -> pa.BooleanArray:
    match leaf:
        case IsNull():
            return column.is_null()
        case IsNotNull():
            return column.is_valid()
        case UnlessNull(_, result):
            return _unless_null(column, result)
        case Compare(_, Op.NULL_SAFE_EQ, value):
            equal = _compare(column, Op.EQ, value)
            return equal.fill_null(False) if equal.null_count else equal
        case Compare(_, op, value):
            return _compare(column, op, value)
        case In(_, values, has_null):
            found = _is_in(column, values)
            return pc.if_else(found, True, _null()) if has_null else found
        case StartsWith(_, text):
            return pc.starts_with(column, text)
        case EndsWith(_, text):
            return pc.ends_with(column, text)
        case Contains(_, text):
            return pc.match_substring(column, text)
        case Like(_, parts):
            return pc.match_substring_regex(column, _like_regex(parts))
        case Padded(_, length, part):
            return _evaluate_leaf(part, _with_blanks(column, length))
        case Remainder(_, divisor, part):
            return _evaluate_leaf(part, _remainders(column, divisor))


def _with_blanks(texts: pa.Array, length: int) -> pa.Array:
    """The texts, with blanks behind those that are shorter; 0: as they are."""
    return pc.utf8_rpad(texts, length) if length else texts


def _remainders(numbers: pa.Array, divisor: int) -> pa.Array:
    """What is left of whole numbers; Arrow, as Spark, divides towards zero."""
    wide = numbers.cast(pa.int64())
    by = pa.scalar(divisor, pa.int64())
    return pc.subtract(wide, pc.multiply(pc.divide(wide, by), by))


def _unless_null(column: pa.Array, result: bool) -> pa.BooleanArray:
    constant = pa.repeat(result, len(column))
    return pc.if_else(column.is_valid(), constant, _null()) if column.null_count else constant


# ---------------------------------------------------------------------------------------------------------- comparison


def _compare(column: pa.Array, op: Op, value: Value) -> pa.BooleanArray:
    arrow = column.type
    if pt.is_floating(arrow):
        return _compare_floats(column, op, float(value))
    if not _is_counted(arrow):  # strings, binaries, booleans: Arrow compares them as Spark does
        return _compare_values(column, op, scalar_of(value, arrow))
    counts, (whole, exact) = _as_counts(column), _count_of(arrow)(value)
    low, high = _count_range(arrow)
    if not exact:
        if op in (Op.EQ, Op.NULL_SAFE_EQ, Op.NE):
            return _unless_null(column, op is Op.NE)
        op = Op.LE if op in (Op.LT, Op.LE) else Op.GT  # whole < value < whole + 1
    if not low <= whole <= high:
        return _unless_null(column, _PYTHON[op](0, whole))
    return _compare_values(counts, op, scalar_of(whole, counts.type))


def _compare_values(left: pa.Array, op: Op, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    return getattr(pc, _KERNELS[op])(left, right)


def _compare_columns(left: pa.Array, op: Op, right: pa.Array) -> pa.BooleanArray:
    compare = _compare_float_columns if pt.is_floating(left.type) else _compare_values
    if op is not Op.NULL_SAFE_EQ:
        return compare(left, op, right)
    both_null = pc.and_(left.is_null(), right.is_null())
    return pc.or_(compare(left, Op.EQ, right).fill_null(False), both_null)


def _compare_float_columns(left: pa.Array, op: Op, right: pa.Array) -> pa.BooleanArray:
    """NaN equals NaN, and is above all numbers; see _compare_floats."""
    if op in (Op.GT, Op.GE):
        return _compare_float_columns(right, Op.LT if op is Op.GT else Op.LE, left)
    equal = pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))
    if op in (Op.EQ, Op.NE):
        return equal if op is Op.EQ else pc.invert(equal)
    less = pc.or_(pc.less(left, right), pc.and_(pc.invert(pc.is_nan(left)), pc.is_nan(right)))
    return pc.or_(less, equal) if op is Op.LE else less


def _compare_floats(column: pa.Array, op: Op, value: float) -> pa.BooleanArray:
    """Arrow follows IEEE, where a NaN equals nothing; here it equals NaN and is above all numbers."""
    if math.isnan(value):
        if op in (Op.LE, Op.GT):
            return _unless_null(column, op is Op.LE)
        is_nan = pc.is_nan(column)
        return is_nan if op in (Op.EQ, Op.NULL_SAFE_EQ, Op.GE) else pc.invert(is_nan)
    if column.type != pa.float64() and not _fits(column.type, value):
        column = column.cast(pa.float64())
    result = _compare_values(column, op, scalar_of(value, column.type))
    return pc.or_(result, pc.is_nan(column)) if op in (Op.GT, Op.GE) else result


def _fits(arrow: pa.DataType, value: float) -> bool:
    with np.errstate(over="ignore"):
        return float(np.dtype(f"f{arrow.byte_width}").type(value)) == value


def _is_counted(arrow: pa.DataType) -> bool:
    """True if values are whole numbers of some unit: integers, days, milliseconds, 10**-scale."""
    tests = (pt.is_integer, pt.is_date32, pt.is_time32, pt.is_timestamp, pt.is_decimal)
    return any(test(arrow) for test in tests)


def _as_counts(column: pa.Array) -> pa.Array:
    """The column in a type whose scalars are made from counts."""
    if pt.is_timestamp(column.type):
        return column.view(pa.int64())
    return column if pt.is_integer(column.type) or pt.is_decimal(column.type) else column.view(pa.int32())


def _count_of(arrow: pa.DataType) -> Callable[[Value], tuple[int, bool]]:
    """What rounds a literal down to a count of the type; True if the count is exact."""
    if pt.is_timestamp(arrow):
        unit = NANOS_PER_UNIT[arrow.unit]
        return lambda value: _divided(int(value), unit)
    if pt.is_decimal(arrow):
        power = 10**arrow.scale
        return lambda value: _divided_decimal(value, power)
    return lambda value: (int(value), True)


def _divided(value: int, unit: int) -> tuple[int, bool]:
    whole, rest = divmod(value, unit)
    return whole, rest == 0


def _divided_decimal(value: Value, power: int) -> tuple[int, bool]:
    exact = value if isinstance(value, Decimal) else Decimal(int(value))
    numerator, denominator = exact.as_integer_ratio()
    return _divided(numerator * power, denominator)


def _count_range(arrow: pa.DataType) -> tuple[int, int]:
    if pt.is_decimal(arrow):
        limit: int = 10**arrow.precision - 1
        return -limit, limit
    bits = arrow.bit_width - 1
    return -(1 << bits), (1 << bits) - 1


def _is_in(column: pa.Array, values: tuple[Value, ...]) -> pa.BooleanArray:
    """True where a value is in the list; null where it is null."""
    wanted, or_nan = _wanted(values, column.type)
    looked_up = _as_counts(column) if _is_counted(column.type) else column
    found = pc.is_in(looked_up, value_set=wanted, skip_nulls=True)
    if or_nan:
        found = pc.or_(found, pc.fill_null(pc.is_nan(column), False))
    return pc.if_else(column.is_valid(), found, _null()) if column.null_count else found


@lru_cache(maxsize=4)  # a list may be long, and is the same for all batches of a read
def _wanted(values: tuple[Value, ...], arrow: pa.DataType) -> tuple[pa.Array, bool]:
    """(the values that a column of the type may have, as counts where it has such; True if NaN is one more)."""
    if pt.is_floating(arrow):  # Arrow looks values up by their bits: NaN has many, zero has two
        numbers = [float(value) for value in values]
        if 0.0 in numbers:
            numbers += [0.0, -0.0]
        kept = [number for number in numbers if not math.isnan(number) and _fits(arrow, number)]
        return pa.array(kept, arrow), any(map(math.isnan, numbers))
    if not _is_counted(arrow):
        return pa.array(values, arrow), False
    low, high = _count_range(arrow)
    counts = [whole for whole, exact in map(_count_of(arrow), values) if exact and low <= whole <= high]
    held = [decimal_of(count, arrow.scale) for count in counts] if pt.is_decimal(arrow) else counts
    return pa.array(held, _as_counts(pa.array([], arrow)).type), False


def _like_regex(parts: Sequence[str | Wildcard]) -> str:
    """The RE2 expression of a LIKE pattern; any code point is a character, including line ends."""
    wildcards = {Wildcard.ONE: ".", Wildcard.ANY: ".*"}
    body = "".join(_quote(part) if isinstance(part, str) else wildcards[part] for part in parts)
    return rf"(?s)\A{body}\z"


def _quote(text: str) -> str:
    return "".join(c if c.isalnum() or ord(c) > 127 else rf"\x{{{ord(c):x}}}" for c in text)


def _null() -> pa.BooleanScalar:
    return pa.scalar(None, pa.bool_())
