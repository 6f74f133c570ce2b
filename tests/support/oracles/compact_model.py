"""A naive model of the merge of a compaction: one key after the other, as Java's wrappers of merge functions do it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from support.oracles.engine_model import (
    DELETE,
    INSERT,
    RETRACTIONS,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    ModelRow,
    Result,
    Rules,
    aggregation,
    first_row,
    in_order,
    least_first,
    partial_update,
)


@dataclass(frozen=True)
class LevelRow(ModelRow):
    """file, position: where a row above lies."""

    level: int = 0
    file: int = 0
    position: int = 0


@dataclass(frozen=True)
class CompactCase:
    """inputs: older runs first. above: rows of levels above the output. compared: None without row-deduplicate."""

    rules: Rules
    inputs: Sequence[LevelRow]
    above: Sequence[LevelRow]
    producer: str
    vectors: bool = False
    looks_up: bool = True
    max_level: int = 5
    keep_deletes: bool = True
    compared: Sequence[str] | None = None


@dataclass
class Outcome:
    """rows, changelog: in key order. superseded: (file, position)."""

    rows: list[Result] = field(default_factory=list)
    changelog: list[Result] = field(default_factory=list)
    superseded: set[tuple[int, int]] = field(default_factory=set)


def compact_model(case: CompactCase) -> Outcome:
    by_key: dict[Any, list[LevelRow]] = {}
    for row in case.inputs:
        by_key.setdefault(key_of(row, case.rules), []).append(row)
    outcome = Outcome()
    for key in sorted(by_key):
        rows = in_order(by_key[key], case.rules)
        if case.producer == "full-compaction":
            full(rows, case, outcome)
        elif case.rules.engine == "first-row":
            oldest(key, rows, case, outcome)
        else:
            lookup(key, rows, case, outcome)
    if not case.keep_deletes:
        outcome.rows = [row for row in outcome.rows if row.kind not in RETRACTIONS]
    if case.producer not in ("lookup", "full-compaction"):
        outcome.changelog = []
    return outcome


def key_of(row: ModelRow, rules: Rules) -> Any:
    return tuple(least_first(row.values[name]) for name in rules.keys)


def merge_function(rows: Sequence[ModelRow], rules: Rules) -> Result | None:
    """The merge function itself: also one row goes through it."""
    if rules.engine == "deduplicate":
        return deduplicate(rows, rules)
    return {"partial-update": partial_update, "aggregation": aggregation, "first-row": first_row}[rules.engine](
        rows, rules
    )


def deduplicate(rows: Sequence[ModelRow], rules: Rules) -> Result | None:
    rows = [row for row in rows if not (rules.ignore_delete and row.kind in RETRACTIONS)]
    return as_result(rows[-1]) if rows else None


def lookup_function(rows: Sequence[LevelRow], rules: Rules) -> Result | None:
    """Of the rows above level 0 only the one on the lowest level counts."""
    high = lowest(rows)
    return merge_function([row for row in rows if row.level <= 0 or row is high], rules)


def lowest(rows: Sequence[LevelRow]) -> LevelRow | None:
    return min((row for row in rows if row.level > 0), key=lambda row: row.level, default=None)


def full(rows: Sequence[LevelRow], case: CompactCase, outcome: Outcome) -> None:
    top = next((row for row in rows if row.level == case.max_level), None)
    if len(rows) == 1:
        row = as_result(rows[0])
        if row.kind not in RETRACTIONS:
            outcome.rows.append(row)
            if top is None:
                outcome.changelog.append(row_as(INSERT, row))
        return
    by_level = case.looks_up and case.rules.engine != "first-row"
    merged = (lookup_function if by_level else merge_function)(rows, case.rules)
    emit(None if top is None else as_result(top), merged, case, outcome)
    if merged is not None and merged.kind not in RETRACTIONS:
        outcome.rows.append(merged)


def oldest(key: Any, rows: Sequence[LevelRow], case: CompactCase, outcome: Outcome) -> None:
    result = first_row(rows, case.rules)
    if result is None:
        return
    if any(row.level > 0 and row.kind not in RETRACTIONS for row in rows):
        outcome.rows.append(result)
    elif look_above(key, case) is None:
        outcome.rows.append(result)
        outcome.changelog.append(result)


def lookup(key: Any, rows: list[LevelRow], case: CompactCase, outcome: Outcome) -> None:
    high = lowest(rows)
    has_level_0 = any(row.level == 0 for row in rows)
    if high is None:
        found = look_above(key, case)
        if found is not None and case.vectors:
            outcome.superseded.add((found.file, found.position))
        if found is not None and reads_values(case):
            high = found
            rows = in_order([*rows, found], case.rules)
    result = lookup_function(rows, case.rules)
    if result is not None:
        outcome.rows.append(result)
    if has_level_0:
        emit(None if high is None or high.kind in RETRACTIONS else as_result(high), result, case, outcome)


def reads_values(case: CompactCase) -> bool:
    plain = case.rules.engine == "deduplicate" and not case.rules.sequence_fields
    return not (case.vectors and case.producer != "lookup" and plain)


def look_above(key: Any, case: CompactCase) -> LevelRow | None:
    return lowest([row for row in case.above if key_of(row, case.rules) == key])


def emit(before: Result | None, after: Result | None, case: CompactCase, outcome: Outcome) -> None:
    if after is None:  # all its rows are ignored
        return
    if after.kind in RETRACTIONS:
        if before is not None:
            outcome.changelog.append(row_as(DELETE, before))
    elif before is None:
        outcome.changelog.append(row_as(INSERT, after))
    elif case.compared is None or not all(same(before.values[c], after.values[c]) for c in case.compared):
        outcome.changelog += [row_as(UPDATE_BEFORE, before), row_as(UPDATE_AFTER, after)]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_item, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        item = same if "x" in one else same_item  # fields of a ROW are named, keys of maps are numbers
        return one.keys() == other.keys() and all(item(value, other[key]) for key, value in one.items())
    return bool(one == other)


def same_item(one: Any, other: Any) -> bool:
    """Of lists and maps: Java finds no null equal to another there."""
    return one is not None and other is not None and same(one, other)


def as_result(row: ModelRow) -> Result:
    return Result(row.kind, row.sequence, row.values)


def row_as(kind: int, row: Result) -> Result:
    return Result(kind, row.sequence, row.values)


def read_model(rows: Sequence[LevelRow], rules: Rules) -> list[Result]:
    """What a reader of a table with lookup makes of its rows: a row alone stays as it is."""
    by_key: dict[Any, list[LevelRow]] = {}
    for row in rows:
        by_key.setdefault(key_of(row, rules), []).append(row)
    merged = []
    for key in sorted(by_key):
        same_key = in_order(by_key[key], rules)
        merged.append(as_result(same_key[0]) if len(same_key) == 1 else lookup_function(same_key, rules))
    return [row for row in merged if row is not None]
