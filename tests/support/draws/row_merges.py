"""Random MERGE statements: their clauses, and what they change in a table of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from paimon_spark.row_changes.clauses import Action, When
from paimon_spark.spark.merge_into.clauses import Clause
from support.draws.row_pieces import Cells, Piece, drawn_condition, drawn_value
from support.oracles.naive_table import Change, NaiveTable, Values

Shown = Callable[[Values], Values]
_SIDES = {When.MATCHED: "ts", When.NOT_MATCHED: "s", When.NOT_MATCHED_BY_SOURCE: "t"}


@dataclass(frozen=True)
class Step:
    """A clause and what it means; values: None: all columns of the source."""

    clause: Clause
    condition: Piece | None
    values: Mapping[str, Piece] | None = None

    def applies(self, t: Cells, s: Cells) -> bool:
        """True if its condition is true."""
        return self.condition is None or self.condition.of(t, s) is True


def drawn_steps(r: Random, columns: Mapping[str, str], settable: Sequence[str]) -> list[Step]:
    """Clauses; settable: the columns that may be updated."""
    found: list[Step] = []
    for when in When:
        count = r.choice((0, 1, 1, 2))
        for number in range(count):
            condition = None
            if number < count - 1 or r.random() < 0.4:
                condition = drawn_condition(r, columns, _SIDES[when])
            found.append(_step(r, when, condition, columns, settable))
    return found or drawn_steps(r, columns, settable)


def _step(r: Random, when: When, condition: Piece | None, columns: Mapping[str, str], settable: Sequence[str]) -> Step:
    sql = None if condition is None else condition.sql
    if when is When.NOT_MATCHED:
        return Step(Clause(when, Action.INSERT, sql), condition)
    draw = r.random()
    if draw < 0.3:
        return Step(Clause(when, Action.DELETE, sql), condition)
    if draw < 0.5 and when is When.MATCHED:
        return Step(Clause(when, Action.UPDATE, sql), condition)
    names = r.sample(list(settable), min(len(settable), r.choice((1, 1, 2))))
    values = {name: drawn_value(r, columns, name, _SIDES[when]) for name in names}
    given = {name: piece.sql for name, piece in values.items()}
    return Step(Clause(when, Action.UPDATE, sql, given), condition, values)


def match_of(on: Sequence[str]) -> str:
    """The condition of a MERGE whose rows match if they are equal in these columns."""
    return " and ".join(f"t.{name} = s.{name}" for name in on)


def clauses_of(steps: Sequence[Step]) -> list[Clause]:
    return [step.clause for step in steps]


def compared(steps: Sequence[Step], on: Sequence[str]) -> set[str]:
    """The columns of the source that are compared, as texts of STRING, which nothing pads."""
    return {*on, *(name for step in steps if step.condition is not None for name in step.condition.names)}


def merge_changes(
    table: NaiveTable, source: Sequence[Values], steps: Sequence[Step], on: Sequence[str], shown: Shown = dict
) -> list[Change]:
    """What a MERGE changes.

    Args:
        source: no two rows are equal in the columns ``on``.
        shown: the row that a query has for one of the table.

    Raises:
        Lost: the merge engine would not do an update.
    """
    found: list[Change] = []
    by_key = {_key(s, on): s for s in source}
    for t in table.rows:
        key = _key(shown(t), on)
        s = None if None in key else by_key.get(key)
        step = _first(steps, When.NOT_MATCHED_BY_SOURCE if s is None else When.MATCHED, t, s or {})
        if step is not None:
            found.append(_change(table, step, t, s or {}))
    known = {_key(shown(t), on) for t in table.rows}
    for key, s in by_key.items():
        if (None in key or key not in known) and _first(steps, When.NOT_MATCHED, {}, s) is not None:
            found.append(Change(None, s))
    return found


def _change(table: NaiveTable, step: Step, t: Values, s: Values) -> Change:
    if step.clause.action is Action.DELETE:
        return table.deleted_row(t)
    if step.values is None:
        values: dict[str, Any] = {name: partial(_of_source, s, name) for name in s if name not in table.keys}
    else:
        values = {name: partial(_of_both, piece, s) for name, piece in step.values.items()}
    return Change(*table.updated_row(t, values))


def _of_source(s: Values, name: str, t: Values) -> Any:
    return s[name]


def _of_both(piece: Piece, s: Values, t: Values) -> Any:
    return piece.of(t, s)


def _first(steps: Sequence[Step], when: When, t: Values, s: Values) -> Step | None:
    return next((step for step in steps if step.clause.when is when and step.applies(t, s)), None)


def _key(row: Values, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)
