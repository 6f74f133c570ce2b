"""Predicates of Spark's connector interfaces, as predicates over the columns of a table.

A predicate that this module converts is decided by our reader for every row, so Spark need not look again; any other
stays with Spark. Each look into a JVM object is a round trip of some 50 microseconds, so a node is asked for little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from py4j.protocol import Py4JError

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataField, DataType, Root
from paimon_spark.spark.source.filters import NotPushed, resolve_column

_COMPARISONS = {"=": p.Op.EQ, "<=>": p.Op.NULL_SAFE_EQ, ">": p.Op.GT, ">=": p.Op.GE, "<": p.Op.LT, "<=": p.Op.LE}
_MIRRORED = {">": "<", ">=": "<=", "<": ">", "<=": ">="}
_TEXT_TESTS: Mapping[str, Callable[[p.Path, str], p.Predicate]] = {
    "STARTS_WITH": p.StartsWith,
    "ENDS_WITH": p.EndsWith,
    "CONTAINS": p.Contains,
}
_CONSTANTS: Mapping[str, p.Predicate] = {"ALWAYS_TRUE": p.TRUE, "ALWAYS_FALSE": p.FALSE}
_COLUMN = "FieldReference"
_MOST_VALUES = 1_000
"""Of a list: each is a round trip, and a join may say millions."""


def convert(predicate: Any, columns: Mapping[str, DataField]) -> p.Predicate:
    """A predicate over columns by their names.

    Args:
        predicate: org.apache.spark.sql.connector.expressions.filter.Predicate.
        columns: by the names that Spark uses for them.

    Raises:
        NotPushed: some part of it has no form here.
    """
    name = predicate.name()
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    children = predicate.children()
    if len(children) > _MOST_VALUES:
        raise NotPushed
    children = list(children)
    match name:
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
    if name not in _COMPARISONS and name != "<>":
        raise NotPushed
    left, right = children
    if column_name(left) is None:
        left, right, name = right, left, _MIRRORED.get(name, name)
    path, data_type = _column(left, columns)
    value = _value(right, data_type)
    if value is None:
        raise NotPushed
    if name == "<>":
        return p.not_(p.Compare(path, p.Op.EQ, value))
    return p.Compare(path, _COMPARISONS[name], value)


def column_name(expression: Any) -> tuple[str, ...] | None:
    """The parts of the name of a column; None: the expression is no column."""
    is_column = expression.getClass().getSimpleName() == _COLUMN
    return tuple(expression.fieldNames()) if is_column else None


def _column(expression: Any, columns: Mapping[str, DataField]) -> tuple[p.Path, DataType]:
    name = column_name(expression)
    if name is None:
        raise NotPushed
    return resolve_column(name, columns)


def _value(expression: Any, data_type: DataType) -> p.Value | None:
    """The internal value of a literal, which is one of Spark's: days, microseconds, UTF8String, Decimal; None: NULL."""
    try:
        value = expression.value()
    except Py4JError:
        raise NotPushed from None
    root = data_type.root
    match value:
        case None:
            return None
        case bool():
            if root is Root.BOOLEAN:
                return value
        case int():
            if root in INTEGERS or root in (Root.DATE, Root.TIME):
                return value
            if root in TIMESTAMPS and (6 if data_type.precision is None else data_type.precision) <= 6:
                return value * 1000
        case float():
            if root in FLOATS:
                return value
        case bytes() | bytearray():
            if root in (Root.BINARY, Root.VARBINARY):
                return bytes(value)
        case str():
            if root in STRINGS:
                return value
        case Decimal():
            if root is Root.DECIMAL:
                return value
        case _ if root in STRINGS:
            return str(value.toString())
        case _ if root is Root.DECIMAL:
            return Decimal(value.toString())
    raise NotPushed
