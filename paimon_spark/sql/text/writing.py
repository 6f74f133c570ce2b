"""Literals, names and conditions written as SQL text."""

from __future__ import annotations

from collections.abc import Mapping

from paimon_spark.format.quoting import quoted
from paimon_spark.sql.text.literals import Value


def partition_condition(values: Mapping[str, Value]) -> str:
    """``dt = '2026-11-01' AND hour IS NULL``, in the SQL of conditions."""
    return " AND ".join(f"{quoted(name)} {_is_value(value)}" for name, value in values.items())


def literal_text(value: Value) -> str:
    """A literal as SQL text."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        case bytes():
            return f"X'{value.hex()}'"
    return str(value)


def _is_value(value: Value) -> str:
    return "IS NULL" if value is None else f"= {literal_text(value)}"
