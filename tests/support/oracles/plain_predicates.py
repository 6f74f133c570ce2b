"""Conditions judged one row at a time, as plainly as can be: the oracle of tests that push conditions down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from paimon_spark.arrow.predicates.predicate import (
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Not,
    Op,
    Or,
    Predicate,
    StartsWith,
)


def truth(where: Predicate, of: Mapping[str, Any]) -> bool | None:
    """SQL's three values, as plainly as can be."""
    match where:
        case Not(part):
            inner = truth(part, of)
            return None if inner is None else not inner
        case And(parts):
            found = [truth(part, of) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [truth(part, of) for part in parts]
            return True if True in found else None if None in found else False
        case IsNull(column):
            return of[column[0]] is None
        case IsNotNull(column):
            return of[column[0]] is not None
        case StartsWith(column, text):
            return None if of[column[0]] is None else of[column[0]].startswith(text)
        case In(column, values, has_null):
            if of[column[0]] is None:
                return None
            found_one = any(order(of[column[0]]) == order(value) for value in values)
            return True if found_one else None if has_null else False
        case Compare(column, op, value):
            if of[column[0]] is None:
                return None
            left, right = order(of[column[0]]), order(value)
            compared: dict[Op, bool] = {
                Op.EQ: left == right,
                Op.NE: left != right,
                Op.LT: left < right,
                Op.LE: left <= right,
                Op.GT: left > right,
                Op.GE: left >= right,
            }
            return compared[op]
    raise AssertionError(where)


def order(value: Any) -> Any:
    """NaN is the greatest and equals itself, -0.0 equals 0.0."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value.encode() if isinstance(value, str) else value
