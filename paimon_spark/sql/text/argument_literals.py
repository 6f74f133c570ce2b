"""Arguments of a statement, Python's values, as literals of Spark SQL.

Each becomes an expression of the type and value that ``pyspark.sql.functions.lit`` gives it.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from decimal import Decimal

from paimon_spark.sql.text.writing import literal_text

_MICROS = 1_000_000


def argument_literal(value: object) -> str | None:
    """The literal; None: the value has a type that no literal is known for.

    A time without a zone is in the time zone of this process, as in PySpark.
    """
    match value:
        case None | bool() | bytes():
            return literal_text(value)
        case str():
            return literal_text(value).replace("${", "\\u0024{")  # which Spark would take for a variable
        case int():
            return literal_text(int(value))
        case float():
            return _float(value)
        case Decimal():
            return f"{value:f}BD" if value.is_finite() else None
        case dt.datetime():
            return f"timestamp_micros({_epoch_micros(value)})"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case dt.timedelta():
            micros = value // dt.timedelta(microseconds=1)
            return f"make_dt_interval(0, 0, 0, {Decimal(micros).scaleb(-6):f})"
        case list() | tuple():
            return _call("array", [argument_literal(item) for item in value])
        case dict():
            return _call("map", [argument_literal(item) for pair in value.items() for item in pair])
    return None


def _call(function: str, items: list[str | None]) -> str | None:
    known = [item for item in items if item is not None]
    return f"{function}({', '.join(known)})" if len(known) == len(items) else None


def _float(value: float) -> str:
    return f"{float(value)!r}D" if math.isfinite(value) else f"double('{value}')"


def _epoch_micros(value: dt.datetime) -> int:
    if value.tzinfo is None:
        return int(time.mktime(value.timetuple())) * _MICROS + value.microsecond
    return (value - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1)
