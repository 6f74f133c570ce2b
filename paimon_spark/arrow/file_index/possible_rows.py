"""Evaluates conditions on the indexes of one data file (Java: FileIndexPredicate).

Each part of a condition has two sets of rows: those for which it may be true, and those for which it may be false. So
NOT changes the two for each other. A row for which it is NULL is in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from paimon_spark.arrow.predicates.predicate import (
    AlwaysFalse,
    AlwaysNull,
    AlwaysTrue,
    And,
    Compare,
    CompareColumns,
    Leaf,
    Not,
    Or,
    Predicate,
    conjuncts,
)
from paimon_spark.format.file_index.row_sets import RowSet


class Possible(NamedTuple):
    """The rows for which a condition may be true, and those for which it may be false; None: all rows."""

    true: RowSet | None
    false: RowSet | None


ANY = Possible(None, None)


class ColumnIndex(Protocol):
    """One index of one column."""

    def possible(self, leaf: Leaf) -> Possible:
        """The rows of a condition on the column."""
        ...

    def has_none(self, leaves: Sequence[Compare]) -> bool:
        """True if no row satisfies all of some conditions on the column; tells less than possible, and sooner."""
        ...


def rows_left(predicate: Predicate, indexes: Callable[[str], Sequence[ColumnIndex]]) -> RowSet | None:
    """The rows for which a condition may be true; None: all. See possible_rows."""
    of_column: dict[str, list[Compare]] = {}
    for part in conjuncts(predicate):
        if isinstance(part, Compare) and len(part.column) == 1:
            of_column.setdefault(part.column[0], []).append(part)
    if any(index.has_none(leaves) for column, leaves in of_column.items() for index in indexes(column)):
        return RowSet()
    return possible_rows(predicate, indexes).true


def possible_rows(predicate: Predicate, indexes: Callable[[str], Sequence[ColumnIndex]]) -> Possible:
    """The rows for which a condition may be true, and those for which it may be false.

    Args:
        predicate: its literals are internal values of the types that the indexes were made for.
        indexes: gives the indexes of a top-level column.
    """
    match predicate:
        case AlwaysTrue():
            return Possible(None, RowSet())
        case AlwaysFalse():
            return Possible(RowSet(), None)
        case AlwaysNull():
            return Possible(RowSet(), RowSet())
        case Not(part):
            inner = possible_rows(part, indexes)
            return Possible(inner.false, inner.true)
        case And(parts):
            return _all_of(parts, indexes)
        case Or(parts):
            found = [possible_rows(part, indexes) for part in parts]
            return Possible(union(p.true for p in found), common(p.false for p in found))
        case CompareColumns():
            return ANY
        case leaf:
            if len(leaf.column) > 1:
                return ANY
            each = [index.possible(leaf) for index in indexes(leaf.column[0])]
            return Possible(common(p.true for p in each), common(p.false for p in each))


def _all_of(parts: Iterable[Predicate], indexes: Callable[[str], Sequence[ColumnIndex]]) -> Possible:
    """The rows of a conjunction; as soon as no row is left, no further index is read."""
    true: RowSet | None = None
    falses: list[RowSet | None] = []
    for part in parts:
        found = possible_rows(part, indexes)
        true = common((true, found.true))
        falses.append(found.false)
        if true is not None and not true:
            return Possible(true, None)
    return Possible(true, union(falses))


def common(sets: Iterable[RowSet | None]) -> RowSet | None:
    """The rows that are in all sets."""
    left: RowSet | None = None
    for rows in sets:
        if rows is not None:
            left = rows if left is None else left & rows
    return left


def union(sets: Iterable[RowSet | None]) -> RowSet | None:
    """The rows that are in one of the sets."""
    found = RowSet()
    for rows in sets:
        if rows is None:
            return None
        found = found | rows
    return found
