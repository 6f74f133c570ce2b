"""Filters that Spark pushes down, as a Predicate over the table's columns.

A filter this module turns into a Predicate is decided by the reader for every row, so Spark need not look again; any
other one goes back to Spark. OR, functions and casts never arrive here: the `filter` option carries those.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, TIMESTAMPS, DataField, DataType, Root

_COMPARISONS: dict[type[Filter], p.Op] = {
    EqualTo: p.Op.EQ,
    EqualNullSafe: p.Op.NULL_SAFE_EQ,
    GreaterThan: p.Op.GT,
    GreaterThanOrEqual: p.Op.GE,
    LessThan: p.Op.LT,
    LessThanOrEqual: p.Op.LE,
}
_TEXT_TESTS: dict[type[Filter], Callable[[p.Path, str], p.Predicate]] = {
    StringStartsWith: p.StartsWith,
    StringEndsWith: p.EndsWith,
    StringContains: p.Contains,
}
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)

F = TypeVar("F", bound=Filter)


class NotPushed(Exception):
    """A filter stays with Spark."""


def push_filters(filters: Iterable[F], columns: Mapping[str, DataField]) -> tuple[p.Predicate, list[F]]:
    """The part of pushed filters that the reader takes over.

    Args:
        filters: as Spark hands them over; all must hold.
        columns: the table's columns by the names the query uses for them.

    Returns:
        The conjunction of the filters taken over, and the filters left to Spark.
    """
    taken: list[p.Predicate] = []
    left: list[F] = []
    for pushed in filters:
        try:
            taken.append(_predicate(pushed, columns))
        except NotPushed:
            left.append(pushed)
    return p.and_(*taken), left


def _predicate(pushed: Filter, columns: Mapping[str, DataField]) -> p.Predicate:
    match pushed:
        case Not():
            return p.not_(_predicate(pushed.child, columns))
        case IsNull():
            return p.IsNull(resolve_column(pushed.attribute, columns)[0])
        case IsNotNull():
            return p.IsNotNull(resolve_column(pushed.attribute, columns)[0])
        case In():
            path, data_type = resolve_column(pushed.attribute, columns)
            values = tuple(_internal(v, data_type) for v in pushed.value if v is not None)
            return p.In(path, values, has_null=any(v is None for v in pushed.value))
        case StringStartsWith() | StringEndsWith() | StringContains():
            path, data_type = resolve_column(pushed.attribute, columns)
            if data_type.root not in STRINGS:
                raise NotPushed
            return _TEXT_TESTS[type(pushed)](path, pushed.value)
        case EqualTo() | EqualNullSafe() | GreaterThan() | GreaterThanOrEqual() | LessThan() | LessThanOrEqual():
            path, data_type = resolve_column(pushed.attribute, columns)
            return p.Compare(path, _COMPARISONS[type(pushed)], _internal(pushed.value, data_type))
    raise NotPushed


def resolve_column(attribute: tuple[str, ...], columns: Mapping[str, DataField]) -> tuple[p.Path, DataType]:
    """The path of a column in the table's own names, and the type of the value there.

    Raises:
        NotPushed: there is no such column, or only Spark knows how it compares.
    """
    column = columns.get(attribute[0])
    if column is None:
        raise NotPushed
    path, data_type = [column.name], column.type
    for name in attribute[1:]:
        field = next((f for f in data_type.fields if f.name == name), None)
        if field is None:
            raise NotPushed
        path.append(field.name)
        data_type = field.type
    if data_type.root is Root.CHAR:  # only Spark knows whether it pads what it reads
        raise NotPushed
    return tuple(path), data_type


def _internal(value: Any, data_type: DataType) -> p.Value:
    """The internal value of a literal that has the type Spark shows the column as."""
    root = data_type.root
    if root is Root.BOOLEAN and isinstance(value, bool):
        return value
    if (root in INTEGERS or root is Root.TIME) and isinstance(value, int) and not isinstance(value, bool):
        return value
    if root in FLOATS and isinstance(value, float):
        return value
    if root is Root.DECIMAL and isinstance(value, Decimal) and math.isfinite(value):
        return value
    if root in STRINGS and isinstance(value, str):
        return value
    if root in (Root.BINARY, Root.VARBINARY) and isinstance(value, bytes):
        return value
    if root is Root.DATE and isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return value.toordinal() - _EPOCH.toordinal()
    if root in TIMESTAMPS and isinstance(value, dt.datetime):
        return _nanos(value, data_type)
    raise NotPushed


def _nanos(value: dt.datetime, data_type: DataType) -> int:
    # Spark sees a finer column rounded down to microseconds, so only Spark can compare it as the query means it.
    if (6 if data_type.precision is None else data_type.precision) > 6:
        raise NotPushed
    if (value.tzinfo is None) != (data_type.root is Root.TIMESTAMP):
        raise NotPushed
    return (value - (_EPOCH if value.tzinfo is None else _EPOCH_UTC)) // _MICROSECOND * 1000
