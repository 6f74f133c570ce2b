"""Values of function_columns as the process of Java takes them, and the options of a column of theirs."""

from __future__ import annotations

from typing import Any

from support.draws.function_columns import Settings

from paimon_spark.format.types import DataType, Root


def options_of(s: Settings) -> dict[str, str]:
    options = {
        "list-agg-delimiter": s.delimiter,
        "distinct": str(s.distinct).lower(),
        "nested-key": ",".join(s.nested_key),
        "nested-sequence-field": ",".join(s.nested_sequence),
        "nested-key-null-strategy": s.nested_key_null if s.nested_key else "",
        "count-limit": str(s.count_limit),
        "ts-field": s.ts_field or "",
    }
    return {f"fields.c.{key}": value for key, value in options.items() if value or key == "list-agg-delimiter"}


def to_java(value: Any, t: DataType) -> Any:
    """A value as the Java process takes it: rows as tuples."""
    if value is None:
        return None
    if t.root is Root.ARRAY:
        return tuple(to_java(item, t.inner) for item in value)
    if t.root is Root.MAP:
        return tuple((to_java(key, t.key_type), to_java(item, t.inner)) for key, item in value)
    if t.root is Root.ROW:
        return tuple(to_java(value[f.name], f.type) for f in t.fields)
    return value


def from_java(value: Any, t: DataType) -> Any:
    if value is None:
        return None
    if t.root is Root.ARRAY:
        return [from_java(item, t.inner) for item in value]
    if t.root is Root.MAP:
        return [(from_java(key, t.key_type), from_java(item, t.inner)) for key, item in value]
    if t.root is Root.ROW:
        return {f.name: from_java(item, f.type) for f, item in zip(t.fields, value, strict=True)}
    return value
