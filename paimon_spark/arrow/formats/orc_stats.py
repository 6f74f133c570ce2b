"""Stripe statistics of ORC files as internal values.

Only bounds that are right for every writer are used. Floats (NaN), timestamps (zones, rounding to milliseconds), CHAR
(blank padding changes the order) and binary columns have none.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

from paimon_spark.arrow.formats.orc_footer import OrcTail
from paimon_spark.arrow.formats.protobuf import Message, decode_message, maybe_bytes, maybe_number, zigzag
from paimon_spark.arrow.statistics.column_stats import ColumnStats

_BYTE, _SHORT, _INT, _LONG, _STRING, _DECIMAL, _DATE, _VARCHAR = 1, 2, 3, 4, 7, 14, 15, 16
_VALUES = 1
_INT_STATISTICS, _STRING_STATISTICS, _DECIMAL_STATISTICS, _DATE_STATISTICS = 2, 4, 6, 7
_STATISTICS_OF = {
    _BYTE: _INT_STATISTICS,
    _SHORT: _INT_STATISTICS,
    _INT: _INT_STATISTICS,
    _LONG: _INT_STATISTICS,
    _DATE: _DATE_STATISTICS,
    _STRING: _STRING_STATISTICS,
    _VARCHAR: _STRING_STATISTICS,
    _DECIMAL: _DECIMAL_STATISTICS,
}


def stripe_stats(tail: OrcTail, stripe: int, column: str) -> ColumnStats | None:
    """The statistics of a top-level column in one stripe; None if the file has none."""
    number = tail.top_level.get(column)
    if number is None or stripe >= len(tail.stripe_statistics) or tail.types[number].children:
        return None
    columns = tail.stripe_statistics[stripe]
    if number >= len(columns):
        return None
    values = maybe_number(columns[number], _VALUES)
    nulls = None if values is None else tail.stripes[stripe].row_count - values
    bounds = maybe_bytes(columns[number], _STATISTICS_OF.get(tail.types[number].kind, -1))
    if bounds is None:
        return ColumnStats(None, None, nulls)
    message = decode_message(bounds)
    kind = _STATISTICS_OF[tail.types[number].kind]
    return ColumnStats(_bound(message, 1, kind), _bound(message, 2, kind), nulls)


def _bound(message: Message, field: int, kind: int) -> Any:
    if kind in (_INT_STATISTICS, _DATE_STATISTICS):
        count = maybe_number(message, field)
        return None if count is None else zigzag(count)
    raw = maybe_bytes(message, field)
    if raw is None:
        return None
    try:
        return raw.decode() if kind == _STRING_STATISTICS else Decimal(raw.decode())
    except (UnicodeDecodeError, InvalidOperation):
        return None
