"""Bounds of parts of VARIANT values of a type, from the statistics of the typed columns that they are stored in.

They are known where every value lies in the typed column, and all values between its bounds may be cast to the type.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.format.types import INTEGERS, DataType, Root

_BITS = {Root.TINYINT: 8, Root.SMALLINT: 16, Root.INT: 32, Root.BIGINT: 64}
_EXACT = Context(prec=100)
_JSON_NULL = b"\x00"


def bounds_as(
    target: DataType, typed: pa.DataType, stats: ColumnStats, rest: ColumnStats, row_count: int
) -> ColumnStats | None:
    """The statistics of the values of a type; None: the columns do not tell them.

    Args:
        target: the type that the part is read as.
        typed, stats: the type and the statistics of ``typed_value``.
        rest: those of ``value``, which holds what is not of that type.
        row_count: of both.
    """
    only_null = rest.minimum == rest.maximum == _JSON_NULL
    if rest.null_count != row_count and not only_null:
        return None
    if stats.null_count == row_count:
        return ColumnStats(None, None, row_count)
    low, high = _cast(target, typed, stats.minimum), _cast(target, typed, stats.maximum)
    if low is None or high is None:
        return None
    return ColumnStats(low, high, stats.null_count)


def _cast(target: DataType, typed: pa.DataType, bound: Any) -> Any:
    """A bound as a value of the type, in the same order; None: it is none, or values beside it may not be one."""
    if bound is None:
        return None
    if target.root is Root.VARCHAR:
        return bound if pt.is_string(typed) else None
    if target.root is Root.BOOLEAN:
        return bound if pt.is_boolean(typed) else None
    if target.root is Root.DATE:
        return bound if pt.is_date32(typed) else None
    is_exact = pt.is_integer(typed) or pt.is_decimal(typed)
    if target.root is Root.DOUBLE:
        return float(bound) if is_exact or pt.is_floating(typed) else None
    if not is_exact:
        return None
    if target.root in INTEGERS:
        limit = 1 << (_BITS[target.root] - 1)
        return int(bound) if -limit <= int(bound) < limit else None
    precision, scale = target.precision or 10, target.scale or 0
    value = Decimal(bound).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT)
    return value if abs(_EXACT.scaleb(value, scale)) < 10**precision else None
