"""Which partitions a condition names: what a static overwrite replaces."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import OptionError
from paimon_spark.format.schema import TableSchema

Pattern: TypeAlias = Mapping[str, p.Value | None]


def replaced_partitions(schema: TableSchema, where: str, time_zone: TimeZone | None) -> tuple[Pattern, ...]:
    """The partitions that a condition selects, as values of partition columns; columns left out may have any.

    Args:
        where: SQL text that gives partition columns their values: ``=``, ``in``, ``is null``, joined by and, or.
        time_zone: as for parse_predicate.

    Raises:
        PredicateError: the text cannot be understood.
        OptionError: it looks at other columns, or does not list values.
    """
    predicate = parse_predicate(where, schema.fields, time_zone)
    others = sorted(p.columns_of(predicate) - set(schema.partition_keys))
    if others:
        keys = ", ".join(schema.partition_keys) or "none"
        instead = (
            "rows of a table with a primary key can be replaced by appending them"
            if schema.primary_keys
            else f"DELETE WHERE {where} first, then append the rows, or use MERGE"
        )
        raise OptionError(
            f"overwrite where {where}: {', '.join(others)} is no partition column (those are: {keys}), and an "
            f"overwrite replaces whole partitions; {instead}"
        )
    patterns = _patterns(predicate)
    if not patterns:
        raise OptionError(
            f"overwrite where {where}: expected the values of partition columns, such as dt = '2026-11-01' or "
            f"dt in ('2026-11-01', '2026-11-02'); to replace the partitions that the rows belong to, use "
            f"dynamic-partition-overwrite"
        )
    return tuple(patterns)


def _patterns(predicate: p.Predicate) -> list[Pattern] | None:
    """The combinations of values for which the predicate is true; None when it does not list them."""
    match predicate:
        case p.AlwaysTrue():
            return [{}]
        case p.AlwaysFalse() | p.AlwaysNull():
            return []
        case p.Compare((name,), p.Op.EQ | p.Op.NULL_SAFE_EQ, value):
            return [{name: value}]
        case p.In((name,), values):
            return [{name: value} for value in values]
        case p.IsNull((name,)):
            return [{name: None}]
        case p.And(parts):
            return _all_of([_patterns(part) for part in parts])
        case p.Or(parts):
            lists = [_patterns(part) for part in parts]
            return None if None in lists else [pattern for patterns in lists if patterns for pattern in patterns]
    return None


def _all_of(lists: Sequence[list[Pattern] | None]) -> list[Pattern] | None:
    known = [patterns for patterns in lists if patterns is not None]
    if len(known) < len(lists):
        return None
    combined: list[Pattern] = []
    for choice in itertools.product(*known):
        merged: dict[str, p.Value | None] = {}
        if all(merged.setdefault(name, value) == value for pattern in choice for name, value in pattern.items()):
            combined.append(merged)
    return combined
