"""Compares two ways to run a statement by their results: one way is plain Spark, the other one is ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import sqlglot
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, functions
from sqlglot.errors import SqlglotError

Run: TypeAlias = Callable[[str], DataFrame]


class NotComparable(Exception):
    """The rows of a result have no form in Python, such as years beyond 9999."""


@dataclass(frozen=True)
class Result:
    """What a statement gave.

    Attributes:
        columns: (name, type) of each.
        rows: in their order, as texts; floating point and decimal numbers to ten digits.
        refusal: the error; None: the statement ran.
    """

    columns: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()
    refusal: Exception | None = None

    def differs(self, other: Result, in_order: bool) -> str:
        """How it differs from another one, or ""."""
        if self.columns != other.columns:
            return f"columns {self.columns} and {other.columns}"
        if in_order and self.rows != other.rows and sorted(self.rows) == sorted(other.rows):
            return f"rows in another order: {self.rows[:5]} and {other.rows[:5]}"
        if sorted(self.rows) != sorted(other.rows):
            mine, theirs = sorted(set(self.rows) - set(other.rows)), sorted(set(other.rows) - set(self.rows))
            return f"rows: {len(self.rows)} and {len(other.rows)}; {mine[:3]} and {theirs[:3]}"
        return ""


def result_of(run: Run, text: str) -> Result:
    """The result of a statement.

    Raises:
        NotComparable: the rows have no form in Python.
    """
    try:
        frame = run(text)
        columns = tuple((field.name, field.dataType.simpleString()) for field in frame.schema)
    except Exception as error:  # whatever it is, it is what the user sees
        return Result(refusal=error)
    try:
        rows = tuple(repr([_rounded(value) for value in row]) for row in _collectable(frame).collect())
    except PySparkException as error:
        return Result(refusal=error)
    except (ValueError, OverflowError, TypeError) as error:
        raise NotComparable(str(error)) from error
    return Result(columns, rows)


def compare(plain: Run, ours: Run, text: str) -> tuple[bool, str]:
    """(True if both ways give the same, what was found in words)."""
    expected = result_of(plain, text)
    found = result_of(ours, text)
    if expected.refusal is not None and found.refusal is not None:
        names = condition(expected.refusal), condition(found.refusal)
        both = "both refused" if names[0] == names[1] else f"both refused otherwise, {found.refusal}"[:300]
        return True, f"same, {both}: Spark's {names[0]}, ours {names[1]}"
    if found.refusal is not None:
        return False, f"ours failed: {condition(found.refusal)} {str(found.refusal)[:300]}"
    if expected.refusal is not None:
        return False, f"ours has rows, Spark refused: {condition(expected.refusal)} {str(expected.refusal)[:200]}"
    difference = found.differs(expected, is_ordered(text))
    return (
        not difference,
        f"different, ours and Spark's {difference}" if difference else f"same, {len(found.rows)} rows",
    )


def condition(error: Exception) -> str:
    """What Spark calls an error; of ours the name of its class."""
    name = error.getCondition() if isinstance(error, PySparkException) else None
    return name or type(error).__name__


def is_ordered(text: str) -> bool:
    """True if a text orders its rows; False too for a text that sqlglot does not know."""
    try:
        return sqlglot.parse_one(text, read="spark").args.get("order") is not None
    except SqlglotError:
        return False


def _collectable(frame: DataFrame) -> DataFrame:
    """A frame whose intervals, for which Python has no type, are texts."""
    types = [field.dataType.simpleString() for field in frame.schema]
    if not any("interval" in name for name in types):
        return frame
    frame = frame.toDF(*(f"c{at}" for at in range(len(types))))
    columns = [functions.col(f"c{at}") for at in range(len(types))]
    pairs = zip(columns, types, strict=True)
    return frame.select(*(column.cast("string") if "interval" in name else column for column, name in pairs))


def _rounded(value: Any) -> Any:
    match value:
        case float() | Decimal():
            return f"{value:.10g}"
        case Mapping():
            return sorted((repr(_rounded(key)), repr(_rounded(inner))) for key, inner in value.items())
        case list() | tuple():
            return [_rounded(inner) for inner in value]
        case _ if type(value).__name__ == "VariantVal":
            return str(value)
    return value
