"""Conditions on a table as conditions of Spark, with the same meaning.

They are made of the bound predicate, not of its text: each literal has the type of its column, so neither the time zone
of the session nor its ANSI mode has a say.
"""

from __future__ import annotations

import datetime as dt
import functools
import math
import operator
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st

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
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import FLOATS, INTEGERS, STRINGS, DataField, DataType, Root
from paimon_spark.spark.adapters.char_columns import with_blanks
from paimon_spark.spark.adapters.types import spark_type

_OPERATORS: dict[Op, Callable[[Column, Column], Column]] = {
    Op.EQ: operator.eq,
    Op.NULL_SAFE_EQ: Column.eqNullSafe,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}
_MICRO = 1000  # nanoseconds
_EPOCH = dt.datetime(1970, 1, 1)
_BITS = {Root.TINYINT: 7, Root.SMALLINT: 15, Root.INT: 31, Root.BIGINT: 63}


class NotExpressible(Exception):
    """Spark has no condition that surely means the same; the text says which part."""


def spark_condition(predicate: Predicate, fields: Sequence[DataField]) -> Column:
    """The condition on columns of these names.

    Raises:
        NotExpressible: a literal is none that the column can hold.
    """
    types = {field.name: field.type for field in fields}
    return _condition(predicate, types)


def _condition(predicate: Predicate, types: dict[str, DataType]) -> Column:
    match predicate:
        case AlwaysTrue() | AlwaysFalse():
            return sf.lit(isinstance(predicate, AlwaysTrue))
        case AlwaysNull():
            return sf.lit(None).cast("boolean")
        case And(parts):
            return functools.reduce(operator.and_, (_condition(part, types) for part in parts))
        case Or(parts):
            return functools.reduce(operator.or_, (_condition(part, types) for part in parts))
        case Not(part):
            return ~_condition(part, types)
        case CompareColumns(column, op, other, padded):
            left, right = (_resolve(path, types)[0] for path in (column, other))
            if padded:
                left, right = with_blanks(left, padded), with_blanks(right, padded)
            return _OPERATORS[op](left, right)
        case leaf:
            return _leaf(leaf, *_resolve(leaf.column, types))


def _resolve(path: Path, types: dict[str, DataType]) -> tuple[Column, DataType]:
    column, data_type = sf.col(quoted(path[0])), types[path[0]]
    for name in path[1:]:
        data_type = next(field.type for field in data_type.fields if field.name == name)
        column = column.getField(name)
    return column, data_type


def _leaf(leaf: Leaf, column: Column, data_type: DataType) -> Column:
    match leaf:
        case IsNull():
            return column.isNull()
        case IsNotNull():
            return column.isNotNull()
        case UnlessNull(_, result):
            return sf.when(column.isNotNull(), sf.lit(result))
        case Compare(_, op, value):
            return _compare(column, op, value, data_type)
        case In(_, values, has_null):
            return _in(column, values, has_null, data_type)
        case StartsWith(_, text):
            return column.startswith(sf.lit(text))
        case EndsWith(_, text):
            return column.endswith(sf.lit(text))
        case Contains(_, text):
            return column.contains(sf.lit(text))
        case Like(_, parts):
            return column.like("".join(map(_pattern, parts)))
        case Padded(_, length, part):
            return _leaf(part, with_blanks(column, length), data_type)
        case Remainder(_, divisor, part):
            return _leaf(part, column.cast("bigint") % sf.lit(divisor).cast("bigint"), DataType(Root.BIGINT))


def _compare(column: Column, op: Op, value: Value, data_type: DataType) -> Column:
    if data_type.root is Root.FLOAT and not _is_single(float(value)):
        return _OPERATORS[op](column.cast("double"), sf.lit(float(value)))
    return _OPERATORS[op](column, _literal(value, data_type))


def _in(column: Column, values: Sequence[Value], has_null: bool, data_type: DataType) -> Column:
    nothing = sf.lit(None).cast("boolean")
    if data_type.root in FLOATS or not values:  # Spark may look numbers up by their bits, in which 0.0 is not -0.0
        equal = [_compare(column, Op.EQ, value, data_type) for value in values]
        found = functools.reduce(operator.or_, equal, sf.when(column.isNotNull(), sf.lit(False)))
    else:
        found = column.isin([_literal(value, data_type) for value in values])
    return found | nothing if has_null else found


def _literal(value: Value, data_type: DataType) -> Column:
    """The value as a literal of the type of the column."""
    root = data_type.root
    if root in STRINGS or root is Root.BOOLEAN:
        return sf.lit(value)
    if root in (Root.BINARY, Root.VARBINARY) and isinstance(value, bytes):
        return sf.lit(bytearray(value))
    if root in INTEGERS and isinstance(value, int) and -(1 << _BITS[root]) <= value < 1 << _BITS[root]:
        return sf.lit(value).cast(spark_type(data_type))
    if root in FLOATS:
        return sf.lit(float(value)).cast(spark_type(data_type))
    if root is Root.DECIMAL:
        return _decimal(value, data_type)
    if root is Root.DATE and isinstance(value, int):
        return sf.date_from_unix_date(sf.lit(value))
    if root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) and isinstance(value, int) and value % _MICRO == 0:
        return _instant(value // _MICRO) if root is Root.TIMESTAMP_LTZ else _local(value // _MICRO)
    raise NotExpressible(f"the condition compares a column of type {root} with {value!r:.50}")


def _decimal(value: Value, data_type: DataType) -> Column:
    precision, scale = data_type.precision or 10, data_type.scale or 0
    exact = value if isinstance(value, Decimal) else Decimal(int(value)) if isinstance(value, int) else None
    if exact is None or not exact.is_finite() or not _fits(exact, precision, scale):
        raise NotExpressible(f"the condition compares a DECIMAL({precision}, {scale}) with {value!r:.50}")
    return sf.lit(f"{exact:f}").cast(st.DecimalType(precision, scale))


def _fits(value: Decimal, precision: int, scale: int) -> bool:
    numerator, denominator = value.as_integer_ratio()
    whole, rest = divmod(abs(numerator) * 10**scale, denominator)
    return rest == 0 and bool(whole < 10**precision)


def _instant(micros: int) -> Column:
    return sf.timestamp_micros(sf.lit(micros).cast("bigint"))


def _local(micros: int) -> Column:
    try:
        moment = _EPOCH + dt.timedelta(microseconds=micros)
    except OverflowError:
        raise NotExpressible("the condition compares a TIMESTAMP with a year that is not between 1 and 9999") from None
    return sf.expr(f"TIMESTAMP_NTZ '{moment.isoformat(sep=' ')}'")


def _is_single(value: float) -> bool:
    """True if a FLOAT can hold the number."""
    if math.isnan(value) or math.isinf(value):
        return True
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def _pattern(part: str | Wildcard) -> str:
    if isinstance(part, Wildcard):
        return part.value
    return "".join(f"\\{c}" if c in "\\%_" else c for c in part)
