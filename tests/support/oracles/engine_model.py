"""Naive models of the merge engines: one row after the other, as features.md describes them; no code of the product."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key
from typing import Any, TypeVar

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = range(4)
RETRACTIONS = (UPDATE_BEFORE, DELETE)


class ModelError(Exception):
    """The merge is an error."""


@dataclass(frozen=True)
class ModelRow:
    """values: of all columns, the key among them, by name."""

    kind: int
    sequence: int
    values: Mapping[str, Any]


SomeRow = TypeVar("SomeRow", bound=ModelRow)


@dataclass(frozen=True)
class Result:
    kind: int
    sequence: int
    values: Mapping[str, Any]


def least_first(value: Any) -> Any:
    """A sort key in Java's order; None before all."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value, math.copysign(1, value) > 0)
    return (1, value.encode() if isinstance(value, str) else value)


class Function:
    """One aggregate function with its state for one key (the shape of Java's FieldAggregator)."""

    retracts = False

    def agg(self, acc: Any, value: Any) -> Any:
        raise NotImplementedError

    def agg_reversed(self, acc: Any, value: Any) -> Any:
        return self.agg(value, acc)

    def retract(self, acc: Any, value: Any) -> Any:
        raise ModelError("cannot retract")


class LastValue(Function):
    def agg(self, acc: Any, value: Any) -> Any:
        return value

    def retract(self, acc: Any, value: Any) -> Any:
        return None


class LastNonNullValue(Function):
    def agg(self, acc: Any, value: Any) -> Any:
        return acc if value is None else value

    def retract(self, acc: Any, value: Any) -> Any:
        return acc if value is None else None


class FirstValue(Function):
    def __init__(self) -> None:
        self.begun = False

    def agg(self, acc: Any, value: Any) -> Any:
        if self.begun:
            return acc
        self.begun = True
        return value


class FirstNonNullValue(Function):
    def __init__(self) -> None:
        self.begun = False

    def agg(self, acc: Any, value: Any) -> Any:
        if self.begun or value is None:
            return acc
        self.begun = True
        return value


class NullSkipping(Function):
    def both(self, acc: Any, value: Any) -> Any:
        raise NotImplementedError

    def agg(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        return self.both(acc, value)


class Sum(NullSkipping):
    def both(self, acc: Any, value: Any) -> Any:
        return acc + value

    def retract(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return acc if value is None else -value
        return acc - value


class Max(NullSkipping):
    def both(self, acc: Any, value: Any) -> Any:
        return value if least_first(acc) < least_first(value) else acc


class Min(NullSkipping):
    def both(self, acc: Any, value: Any) -> Any:
        return acc if least_first(acc) < least_first(value) else value


class Listagg(Function):
    def agg(self, acc: Any, value: Any) -> Any:
        if value is None or not value.strip():
            return acc
        return value if acc is None or not acc.strip() else f"{acc},{value}"


class Collect(Function):
    def agg(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return value if acc is None else acc
        return [*acc, *value]

    def agg_reversed(self, acc: Any, value: Any) -> Any:
        return self.agg(acc, value)

    def retract(self, acc: Any, value: Any) -> Any:
        if acc is None:
            return None
        left = list(acc)
        for element in value or []:
            if element in left:
                left.remove(element)
        return left


class MergeMap(NullSkipping):
    def both(self, acc: Any, value: Any) -> Any:
        return {**acc, **value}

    def retract(self, acc: Any, value: Any) -> Any:
        if acc is None or value is None:
            return acc
        return {key: item for key, item in acc.items() if key not in value}


class IgnoreRetract(Function):
    def __init__(self, function: Function) -> None:
        self.function = function

    def agg(self, acc: Any, value: Any) -> Any:
        return self.function.agg(acc, value)

    def retract(self, acc: Any, value: Any) -> Any:
        return acc


FUNCTIONS: dict[str, Callable[[], Function]] = {
    "last_value": LastValue,
    "last_non_null_value": LastNonNullValue,
    "first_value": FirstValue,
    "first_non_null_value": FirstNonNullValue,
    "sum": Sum,
    "max": Max,
    "min": Min,
    "listagg": Listagg,
    "collect": Collect,
    "merge_map": MergeMap,
}


@dataclass(frozen=True)
class Rules:
    """The options of a table, as the models read them.

    groups: (sequence columns, guarded columns). functions: by column. required: columns that are NOT NULL.
    """

    engine: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    sequence_fields: tuple[str, ...] = ()
    descending: bool = False
    ignore_delete: bool = False
    remove_on_delete: bool = False
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    remove_on: frozenset[str] = frozenset()
    functions: Mapping[str, str] = field(default_factory=dict)
    ignore_retract: frozenset[str] = frozenset()

    def function(self, column: str) -> Function | None:
        name = self.functions.get(column)
        if name is None:
            return None
        function = FUNCTIONS[name]()
        return IgnoreRetract(function) if column in self.ignore_retract else function


def merge_model(rows: Sequence[ModelRow], rules: Rules) -> list[Result]:
    """What is left of each key, in no order; rows in the order of the age of their runs."""
    by_key: dict[Any, list[ModelRow]] = {}
    for row in rows:
        by_key.setdefault(tuple(least_first(row.values[name]) for name in rules.keys), []).append(row)
    results = []
    for same in by_key.values():
        result = merge_key(in_order(same, rules), rules)
        if result is not None:
            results.append(result)
    return results


def in_order(rows: Sequence[SomeRow], rules: Rules) -> list[SomeRow]:
    """Rows of one key, older ones first."""

    def compare(a: ModelRow, b: ModelRow) -> int:
        for name in rules.sequence_fields:
            one, other = a.values[name], b.values[name]
            if least_first(one) == least_first(other):
                continue
            older = least_first(one) < least_first(other)
            if rules.descending and one is not None and other is not None:
                older = not older
            return -1 if older else 1
        if a.sequence != b.sequence:
            return -1 if a.sequence < b.sequence else 1
        return (a.kind not in RETRACTIONS) - (b.kind not in RETRACTIONS)

    return sorted(rows, key=cmp_to_key(compare))


def merge_key(rows: Sequence[ModelRow], rules: Rules) -> Result | None:
    """The merge of the rows of one key; a row alone is not looked at."""
    if len(rows) == 1:
        return Result(rows[0].kind, rows[0].sequence, rows[0].values)
    model = {"partial-update": partial_update, "aggregation": aggregation, "first-row": first_row}[rules.engine]
    return model(rows, rules)


def first_row(rows: Sequence[ModelRow], rules: Rules) -> Result | None:
    first = None
    for row in rows:
        if row.kind in RETRACTIONS:
            if not rules.ignore_delete:
                raise ModelError("a retraction")
            continue
        if first is None:
            first = row
    return None if first is None else Result(first.kind, first.sequence, first.values)


def aggregation(rows: Sequence[ModelRow], rules: Rules) -> Result:
    functions = {name: rules.function(name) for name in rules.columns if name not in rules.keys}
    record: dict[str, Any] = dict.fromkeys(rules.columns)
    deleted = False
    for row in rows:
        deleted = rules.remove_on_delete and row.kind == DELETE
        if deleted:
            record = dict(row.values)
            continue
        for name in rules.columns:
            function, value = functions.get(name), row.values[name]
            if function is None:
                record[name] = value
            elif row.kind in RETRACTIONS:
                record[name] = function.retract(record[name], value)
            else:
                record[name] = function.agg(record[name], value)
    return Result(DELETE if deleted else INSERT, rows[-1].sequence, record)


def partial_update(rows: Sequence[ModelRow], rules: Rules) -> Result:
    record: dict[str, Any] = dict.fromkeys(rules.columns)
    functions = {name: rules.function(name) for _, members in rules.groups for name in members}
    deleted = inserted = begun = False
    sequence = 0
    for row in rows:
        deleted = False
        if row.kind not in RETRACTIONS:
            sequence, inserted, begun = row.sequence, True, True
            overlay(record, row, rules, functions)
            continue
        if not begun:
            record, begun = dict(row.values), True
        if rules.ignore_delete:
            continue
        sequence = row.sequence
        if rules.groups:
            deleted = take_back(record, row, rules, functions)
            if deleted:
                record = dict(row.values)
        elif rules.remove_on_delete:
            if row.kind == DELETE:
                deleted, record = True, dict(row.values)
        else:
            raise ModelError("a retraction")
    return Result(DELETE if deleted or not inserted else INSERT, sequence, record)


def overlay(record: dict[str, Any], row: ModelRow, rules: Rules, functions: Mapping[str, Function | None]) -> None:
    grouped = {name for sequence, members in rules.groups for name in (*sequence, *members)}
    for name in rules.columns:
        if name not in grouped and row.values[name] is not None:
            record[name] = row.values[name]
    for sequence, members in rules.groups:
        if all(row.values[name] is None for name in sequence):
            continue
        fresh = is_fresh(record, row, sequence)
        for name in members:
            function = functions[name]
            if function is not None:
                fold = function.agg if fresh else function.agg_reversed
                record[name] = fold(record[name], row.values[name])
            elif fresh:
                record[name] = row.values[name]
        if fresh:
            record.update({name: row.values[name] for name in sequence})


def take_back(record: dict[str, Any], row: ModelRow, rules: Rules, functions: Mapping[str, Function | None]) -> bool:
    """True if the row deletes the record; else its values are taken out of it."""
    for sequence, _ in rules.groups:
        given = any(row.values[name] is not None for name in sequence)
        removes = row.kind == DELETE and given and not rules.remove_on.isdisjoint(sequence)
        if removes and is_fresh(record, row, sequence):
            return True
    for sequence, members in rules.groups:
        if all(row.values[name] is None for name in sequence):
            continue
        fresh = is_fresh(record, row, sequence)
        for name in members:
            function = functions[name]
            if function is not None:
                record[name] = function.retract(record[name], row.values[name])
            elif fresh:
                record[name] = None
        if fresh:
            record.update({name: row.values[name] for name in sequence})
    return False


def is_fresh(record: Mapping[str, Any], row: ModelRow, sequence: Sequence[str]) -> bool:
    return [least_first(row.values[name]) for name in sequence] >= [least_first(record[name]) for name in sequence]
