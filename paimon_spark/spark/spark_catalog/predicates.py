"""Predicates of Spark's connector interfaces, as predicates over the columns of a table.

A predicate that this module converts is decided by our reader for every row, so Spark need not look again; any other
stays with Spark.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.arrow.predicates.binding import bind_compare, bind_remainder
from paimon_spark.arrow.predicates.coercion import Column
from paimon_spark.errors import PredicateError
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataField, DataType, Root
from paimon_spark.spark.source.filters import NotPushed, resolve_column
from paimon_spark.spark.spark_catalog.driver_calls import Node

_COMPARISONS = {"=": p.Op.EQ, "<=>": p.Op.NULL_SAFE_EQ, ">": p.Op.GT, ">=": p.Op.GE, "<": p.Op.LT, "<=": p.Op.LE}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_TEXT_TESTS: Mapping[str, Callable[[p.Path, str], p.Predicate]] = {
    "STARTS_WITH": p.StartsWith,
    "ENDS_WITH": p.EndsWith,
    "CONTAINS": p.Contains,
}
_CONSTANTS: Mapping[str, p.Predicate] = {"ALWAYS_TRUE": p.TRUE, "ALWAYS_FALSE": p.FALSE}
_COLUMN = "FieldReference"


def convert(predicate: Node, columns: Mapping[str, DataField]) -> p.Predicate:
    """A predicate over columns by their names.

    Args:
        columns: by the names that Spark uses for them.

    Raises:
        NotPushed: some part of it has no form here.
    """
    name, children = str(predicate.get("is")), predicate.get("of", ())
    match name:
        case "ALWAYS_TRUE" | "ALWAYS_FALSE":
            return _CONSTANTS[name]
        case "AND":
            return p.and_(*(convert(child, columns) for child in children))
        case "OR":
            return p.or_(*(convert(child, columns) for child in children))
        case "NOT":
            return p.not_(convert(children[0], columns))
        case "IS_NULL":
            return p.IsNull(_column(children[0], columns)[0])
        case "IS_NOT_NULL":
            return p.IsNotNull(_column(children[0], columns)[0])
        case "IN":
            path, data_type = _column(children[0], columns)
            values = [_value(child, data_type) for child in children[1:]]
            return p.In(path, tuple(v for v in values if v is not None), has_null=None in values)
        case "STARTS_WITH" | "ENDS_WITH" | "CONTAINS":
            path, data_type = _column(children[0], columns)
            text = _value(children[1], data_type)
            if data_type.root not in STRINGS or not isinstance(text, str):
                raise NotPushed
            return _TEXT_TESTS[name](path, text)
    if name == "<>":
        return p.not_(_comparison("=", children[0], children[1], columns))
    if name not in _COMPARISONS:
        raise NotPushed
    return _comparison(name, children[0], children[1], columns)


def _comparison(name: str, left: Node, right: Node, columns: Mapping[str, DataField]) -> p.Predicate:
    """A column compared with a value or with a column, or what is left of it by a division with a whole number."""
    if not left.keys() & {"column", "is"}:
        left, right, name = right, left, _MIRRORED.get(name, name)
    op = _COMPARISONS[name]
    if left.get("is") == "%":
        return _remainder(op, left["of"], right, columns)
    path, data_type = _column(left, columns)
    if "column" in right:
        try:
            return bind_compare(Column(path, data_type), op, Column(*_column(right, columns)), dt.UTC)
        except PredicateError:  # Spark compares types that have no comparison here
            raise NotPushed from None
    value = _value(right, data_type)
    if value is None:
        raise NotPushed
    return p.Compare(path, op, value)


def _remainder(op: p.Op, divided: Sequence[Node], right: Node, columns: Mapping[str, DataField]) -> p.Predicate:
    column = Column(*_column(divided[0], columns))
    divisor, left = (_value(node, column.type) for node in (divided[1], right))
    if not isinstance(divisor, int) or not isinstance(left, int):
        raise NotPushed
    found = bind_remainder(column, divisor, op, left)
    if found is None:
        raise NotPushed
    return found


def column_name(expression: Any) -> tuple[str, ...] | None:
    """The parts of the name of a column; None: the expression is no column."""
    is_column = expression.getClass().getSimpleName() == _COLUMN
    return tuple(expression.fieldNames()) if is_column else None


def _column(node: Node, columns: Mapping[str, DataField]) -> tuple[p.Path, DataType]:
    if "column" not in node:
        raise NotPushed
    return resolve_column(tuple(node["column"]), columns)


def _value(node: Node, data_type: DataType) -> p.Value | None:
    """The internal value of a literal, which is one of Spark's: days, microseconds, UTF8String, Decimal; None: NULL."""
    root = data_type.root
    match node:
        case {"plain": None}:
            return None
        case {"plain": bool(value)}:
            if root is Root.BOOLEAN:
                return value
        case {"plain": int(value)}:
            if root in INTEGERS or root in (Root.DATE, Root.TIME):
                return value
            if root in TIMESTAMPS and (6 if data_type.precision is None else data_type.precision) <= 6:
                return value * 1000
        case {"float": str(value)} if root in FLOATS:
            return float(value)
        case {"decimal": str(value)} if root is Root.DECIMAL:
            return Decimal(value)
        case {"text": str(value)} if root in STRINGS:
            return value
        case {"bytes": str(value)} if root in (Root.BINARY, Root.VARBINARY):
            return bytes.fromhex(value[1:])
    raise NotPushed
