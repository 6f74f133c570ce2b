"""Evaluates predicates on statistics of files and row groups, and on the values of partitions.

A minimum or maximum is a bound here, not a value that occurs: strings may be cut, and NaNs may be above a maximum.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
    restrict,
)
from paimon_spark.arrow.statistics.column_stats import ColumnStats

__all__ = ["ColumnStats", "compare_values", "match_values", "may_hold", "may_match"]


class _Possible(NamedTuple):
    """Which truth values some row may have. NULL is not tracked: a filter drops such rows, negated or not."""

    true: bool
    false: bool


_ANY = _Possible(True, True)
_NONE = _Possible(False, False)


def may_match(predicate: Predicate, stats: Callable[[str], ColumnStats | None], row_count: int) -> bool:
    """True if some row may satisfy the predicate; False only if that is proven impossible.

    Args:
        predicate: its literals are internal values of the type of the statistics.
        stats: gives the statistics of a top-level column; None, or a None inside them, means unknown.
        row_count: the number of rows the statistics are about.
    """
    return row_count > 0 and _possible(predicate, stats, row_count).true


def _possible(predicate: Predicate, stats: Callable[[str], ColumnStats | None], row_count: int) -> _Possible:
    match predicate:
        case AlwaysTrue():
            return _Possible(True, False)
        case AlwaysFalse():
            return _Possible(False, True)
        case AlwaysNull():
            return _NONE
        case Not(part):
            inner = _possible(part, stats, row_count)
            return _Possible(inner.false, inner.true)
        case And(parts):
            found = [_possible(part, stats, row_count) for part in parts]
            return _Possible(all(p.true for p in found), any(p.false for p in found))
        case Or(parts):
            found = [_possible(part, stats, row_count) for part in parts]
            return _Possible(any(p.true for p in found), all(p.false for p in found))
        case CompareColumns():
            return _ANY
        case leaf:
            known = stats(leaf.column[0]) if len(leaf.column) == 1 else None
            return _possible_leaf(leaf, known or ColumnStats(), row_count)


def _possible_leaf(leaf: Leaf, stats: ColumnStats, row_count: int) -> _Possible:
    has_nulls = stats.null_count is None or stats.null_count > 0
    has_values = stats.null_count is None or stats.null_count < row_count
    match leaf:
        case IsNull():
            return _Possible(has_nulls, has_values)
        case IsNotNull():
            return _Possible(has_values, has_nulls)
        case Compare(_, Op.NULL_SAFE_EQ, value):
            inner = _possible_compare(Op.EQ, value, stats) if has_values else _NONE
            return _Possible(inner.true, inner.false or has_nulls)
        case _ if not has_values:
            return _NONE
        case UnlessNull(_, result):
            return _Possible(result, not result)
        case Compare(_, op, value):
            return _possible_compare(op, value, stats)
        case In(_, _, has_null):
            low, high = _bounds(stats, any(isinstance(value, float) for value in leaf.ascending[:1]))
            is_one_value = low is not None and high is not None and _has_between(leaf.ascending, high, low)
            return _Possible(_has_between(leaf.ascending, low, high), not (has_null or is_one_value))
        case StartsWith(_, text):
            return _possible_prefix(text, stats)
        case Like(_, parts):
            head = parts[0] if parts and isinstance(parts[0], str) else ""
            return _Possible(_possible_prefix(head, stats).true, True)
        case EndsWith() | Contains() | Padded() | Remainder():
            return _ANY


def _possible_compare(op: Op, value: Value, stats: ColumnStats) -> _Possible:
    low, high = _bounds(stats, isinstance(value, float))
    may_be_less = low is None or compare_values(low, value) < 0
    may_be_more = high is None or compare_values(high, value) > 0
    may_equal = (low is None or compare_values(low, value) <= 0) and (high is None or compare_values(high, value) >= 0)
    match op:
        case Op.EQ | Op.NULL_SAFE_EQ:
            return _Possible(may_equal, may_be_less or may_be_more)
        case Op.NE:
            return _Possible(may_be_less or may_be_more, may_equal)
        case Op.LT:
            return _Possible(may_be_less, may_equal or may_be_more)
        case Op.LE:
            return _Possible(may_be_less or may_equal, may_be_more)
        case Op.GT:
            return _Possible(may_be_more, may_be_less or may_equal)
        case Op.GE:
            return _Possible(may_be_more or may_equal, may_be_less)


def _bounds(stats: ColumnStats, of_floats: bool) -> tuple[Any, Any]:
    """Bounds taken by IEEE rules ignore NaN, the greatest value; a bound that is NaN itself says nothing."""
    low = stats.minimum
    return (None if low != low else low, math.nan) if of_floats else (low, stats.maximum)


def _has_between(ascending: Sequence[Any], low: Any, high: Any) -> bool:
    """True if one of the values lies from low to high; a bound that is None is none."""
    if low is None:
        place = 0
    else:  # NaN is the last value, and bisect finds no place for it
        place = bisect_left(ascending, low) if low == low else len(ascending) - _ends_with_nan(ascending)
    return place < len(ascending) and (high is None or compare_values(ascending[place], high) <= 0)


def _ends_with_nan(ascending: Sequence[Any]) -> bool:
    return any(value != value for value in ascending[-1:])


def _possible_prefix(text: str, stats: ColumnStats) -> _Possible:
    """Strings that begin with a text are one range of values: every string between two of them begins with it too."""
    low: str | None = stats.minimum
    high: str | None = stats.maximum
    above_low = low is None or low <= text or low.startswith(text)
    below_high = high is None or high >= text
    all_begin = low is not None and high is not None and low.startswith(text) and high.startswith(text)
    return _Possible(above_low and below_high, not all_begin)


# ------------------------------------------------------------------------------------------------------- single values


def compare_values(left: Any, right: Any) -> int:
    """Negative, 0 or positive if left is less than, equal to or greater than right, internal values of one type.

    Python's order is Spark's for all but floats: str goes by code points, which is the order of their UTF-8 bytes.
    """
    if left != left or right != right:  # NaN
        return int(left != left) - int(right != right)
    return int(left > right) - int(left < right)


def may_hold(predicate: Predicate, values: Mapping[str, Any]) -> bool:
    """True if a row with these values in some of its columns may satisfy the predicate.

    Args:
        values: the internal value of each column that is known, None for null.
    """
    known = restrict(predicate, set(values))
    return isinstance(known, AlwaysTrue) or match_values(known, values) is True


def match_values(predicate: Predicate, values: Mapping[str, Any]) -> bool | None:
    """The exact truth value of the predicate for one row; None is NULL.

    Args:
        predicate: over top-level columns.
        values: the internal value of each of its columns, None for null.

    Raises:
        KeyError: a column of the predicate has no value (see ``restrict``).
    """
    match predicate:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case AlwaysNull():
            return None
        case Not(part):
            inner = match_values(part, values)
            return None if inner is None else not inner
        case And(parts) | Or(parts):
            absorbing = isinstance(predicate, Or)
            found = [match_values(part, values) for part in parts]
            if absorbing in found:
                return absorbing
            return None if None in found else not absorbing
        case CompareColumns(column, op, other, padded):
            left, right = (_value(values, path) for path in (column, other))
            return _match_columns(op, _with_blanks(left, padded), _with_blanks(right, padded))
        case leaf:
            return _match_leaf(leaf, _value(values, leaf.column))


def _value(values: Mapping[str, Any], path: Path) -> Any:
    if len(path) > 1:
        raise KeyError(".".join(path))
    return values[path[0]]


def _with_blanks(text: Any, length: int) -> Any:
    return text.ljust(length) if length and text is not None else text


def _match_columns(op: Op, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return left is right if op is Op.NULL_SAFE_EQ else None
    return _HOLDS[op](compare_values(left, right))


_HOLDS: dict[Op, Callable[[int], bool]] = {
    Op.EQ: lambda order: order == 0,
    Op.NULL_SAFE_EQ: lambda order: order == 0,
    Op.NE: lambda order: order != 0,
    Op.LT: lambda order: order < 0,
    Op.LE: lambda order: order <= 0,
    Op.GT: lambda order: order > 0,
    Op.GE: lambda order: order >= 0,
}


def _match_leaf(leaf: Leaf, value: Any) -> bool | None:
    match leaf:
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
        case Compare(_, Op.NULL_SAFE_EQ, _) if value is None:
            return False
        case _ if value is None:
            return None
        case UnlessNull(_, result):
            return result
        case Compare(_, op, literal):
            return _HOLDS[op](compare_values(value, literal))
        case In(_, _, has_null):
            found = _has_between(leaf.ascending, value, value)
            return None if has_null and not found else found
        case StartsWith(_, text):
            return bool(value.startswith(text))
        case EndsWith(_, text):
            return bool(value.endswith(text))
        case Contains(_, text):
            return text in value
        case Like(_, parts):
            wildcards = {Wildcard.ONE: ".", Wildcard.ANY: ".*"}
            pattern = "".join(re.escape(part) if isinstance(part, str) else wildcards[part] for part in parts)
            return re.fullmatch(pattern, value, re.DOTALL) is not None
        case Padded(_, length, part):
            return _match_leaf(part, _with_blanks(value, length))
        case Remainder(part=part):
            return _match_leaf(part, leaf.of(value))
