"""PARTITION (...) behind the name of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from paimon_spark.sql.text.cursor import TYPED, Cursor
from paimon_spark.sql.text.literals import Value


@dataclass(frozen=True)
class PartitionValue:
    """A column of PARTITION (...).

    Attributes:
        is_given: it has a value; else it is dynamic, or stands for all values.
        value: the literal.
        type: the word before the literal, DATE or TIMESTAMP; "": there is none.
    """

    column: str
    is_given: bool = False
    value: Value = None
    type: str = ""


PartitionSpec: TypeAlias = tuple[PartitionValue, ...]


def read_partition(cursor: Cursor) -> PartitionSpec:
    """``PARTITION (dt = '2026-11-01', hour)``; (): the word does not come next.

    Raises:
        SqlError: a column is named twice, or its value is an expression.
    """
    return read_values(cursor) if cursor.accept("PARTITION") else ()


def read_values(cursor: Cursor) -> PartitionSpec:
    """``(dt = '2026-11-01', hour)``."""
    found: dict[str, PartitionValue] = {}

    def read() -> None:
        at = cursor.offset()
        column = cursor.name("a partition column")
        if column.lower() in found:
            raise cursor.error(f"the partition column {column} is named twice", at)
        is_given = cursor.accept("=") or cursor.accept("==")
        token = cursor.peek()
        value = cursor.literal(f"the value of the partition column {column}") if is_given else None
        if not cursor.is_literal_end():
            raise cursor.error(f"the value of the partition column {column} must be a literal")
        typed = token.upper if token is not None and token.upper in TYPED and is_given else ""
        found[column.lower()] = PartitionValue(column, is_given, value, typed)

    cursor.listed(read)
    return tuple(found.values())
