"""The predicate algebra: one frozen tree for partitions, statistics, row groups and rows.

Logic is SQL's, with three values: a leaf is NULL where its column is NULL (IsNull and ``<=>`` are never NULL), and a
filter keeps the rows where the whole is true. Values compare as in Spark: NaN equals NaN and is greater than all other
numbers, -0.0 equals 0.0, strings are ordered by their UTF-8 bytes, binaries by unsigned bytes.

A leaf names its column by a path (top-level name, then field names of ROWs) and holds *internal values* of that
column's type (``format/types.py``). The modules that build leaves convert their literals to it (``sql_text``,
``expressions``).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum, StrEnum
from functools import cached_property
from typing import Any, TypeAlias

Value: TypeAlias = bool | int | float | Decimal | str | bytes
Path: TypeAlias = tuple[str, ...]


class Op(StrEnum):
    """A comparison; NULL_SAFE_EQ is Spark's ``<=>`` with a value that is not null: false where the column is NULL."""

    EQ = "="
    NULL_SAFE_EQ = "<=>"
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class AlwaysTrue:
    pass


@dataclass(frozen=True, slots=True)
class AlwaysFalse:
    pass


@dataclass(frozen=True, slots=True)
class AlwaysNull:
    """NULL for every row, as ``a = NULL`` is; its negation too."""


@dataclass(frozen=True, slots=True)
class UnlessNull:
    """``result`` where the column is not NULL, else NULL; for example ``tinyint_column < 1000``."""

    column: Path
    result: bool


@dataclass(frozen=True, slots=True)
class Compare:
    column: Path
    op: Op
    value: Value


@dataclass(frozen=True, slots=True)
class CompareColumns:
    """Two columns of one type. NULL_SAFE_EQ is true where both are NULL.

    Texts that are shorter than ``padded`` count with blanks behind them up to that length, as of two CHAR columns.
    """

    column: Path
    op: Op
    other: Path
    padded: int = 0


@dataclass(frozen=True, slots=True)
class IsNull:
    column: Path


@dataclass(frozen=True, slots=True)
class IsNotNull:
    column: Path


@dataclass(frozen=True)
class In:
    """True where the column equals a value; else NULL if has_null (the list held a NULL) or the column is NULL."""

    column: Path
    values: tuple[Value, ...]
    has_null: bool = False

    @cached_property
    def ascending(self) -> list[Any]:
        """The values in their order, with NaN last: a list may be long, and is compared with each file."""
        numbers = sorted(value for value in self.values if value == value)
        return numbers if len(numbers) == len(self.values) else [*numbers, math.nan]

    def __reduce__(self) -> tuple[type[In], tuple[Path, tuple[Value, ...], bool]]:
        return In, (self.column, self.values, self.has_null)


@dataclass(frozen=True, slots=True)
class StartsWith:
    column: Path
    text: str


@dataclass(frozen=True, slots=True)
class EndsWith:
    column: Path
    text: str


@dataclass(frozen=True, slots=True)
class Contains:
    column: Path
    text: str


class Wildcard(Enum):
    """The wildcards of a LIKE pattern."""

    ONE = "_"
    ANY = "%"


@dataclass(frozen=True, slots=True)
class Like:
    """SQL LIKE; ``parts`` is the pattern cut at its wildcards, escapes resolved. ONE stands for one code point."""

    column: Path
    parts: tuple[str | Wildcard, ...]


@dataclass(frozen=True, slots=True)
class Padded:
    """A condition on the texts of a CHAR column, with blanks behind those that are shorter than ``length``.

    No statistics, index or hash knows such texts, so the condition itself leaves out no file. It stands beside one on
    the texts as they are stored, which follows from it and does (see ``char_columns``).
    """

    column: Path
    length: int
    part: TextLeaf


@dataclass(frozen=True, slots=True)
class Remainder:
    """A condition on what is left when the whole numbers of a column are divided; it has the sign of the number.

    No statistics, index or hash knows it, so it leaves out no file.

    Attributes:
        divisor: above 0, and within BIGINT.
        part: of the same column; its operator is not NULL_SAFE_EQ.
    """

    column: Path
    divisor: int
    part: Compare

    def of(self, number: int) -> int:
        """What is left of a number."""
        left = abs(number) % self.divisor
        return -left if number < 0 else left


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: Predicate


Constant: TypeAlias = AlwaysTrue | AlwaysFalse | AlwaysNull
TextLeaf: TypeAlias = Compare | StartsWith | EndsWith | Contains | Like
"""A leaf that a Padded one holds, of the same column."""
Computed: TypeAlias = Padded | Remainder
"""A leaf that holds a condition on values which are computed of its column."""
Leaf: TypeAlias = UnlessNull | Compare | IsNull | IsNotNull | In | StartsWith | EndsWith | Contains | Like | Computed
"""A condition on one column."""
Predicate: TypeAlias = Constant | Leaf | CompareColumns | And | Or | Not

TRUE = AlwaysTrue()
FALSE = AlwaysFalse()
NULL = AlwaysNull()


def and_(*parts: Predicate) -> Predicate:
    """The conjunction, flattened; TRUE if there are no parts."""
    return _join(parts, And, neutral=TRUE, absorbing=FALSE)


def or_(*parts: Predicate) -> Predicate:
    """The disjunction, flattened; FALSE if there are no parts."""
    return _join(parts, Or, neutral=FALSE, absorbing=TRUE)


def _join(
    parts: Iterable[Predicate], kind: type[And] | type[Or], neutral: Predicate, absorbing: Predicate
) -> Predicate:
    kept: list[Predicate] = []
    for part in parts:
        if part == absorbing:
            return absorbing
        if isinstance(part, kind):
            kept.extend(part.parts)
        elif part != neutral:
            kept.append(part)
    if len(kept) == 1:
        return kept[0]
    return kind(tuple(kept)) if kept else neutral


def not_(part: Predicate) -> Predicate:
    """The negation; a double one and one of a constant are resolved."""
    match part:
        case AlwaysTrue():
            return FALSE
        case AlwaysFalse():
            return TRUE
        case AlwaysNull():
            return NULL
        case Not(inner):
            return inner
        case UnlessNull(column, result):
            return UnlessNull(column, not result)
        case _:
            return Not(part)


def conjuncts(predicate: Predicate) -> list[Predicate]:
    """The parts that must all hold; empty for AlwaysTrue."""
    if isinstance(predicate, And):
        return [leaf for part in predicate.parts for leaf in conjuncts(part)]
    return [] if isinstance(predicate, AlwaysTrue) else [predicate]


def columns_of(predicate: Predicate) -> frozenset[str]:
    """The top-level columns the predicate looks at."""
    match predicate:
        case AlwaysTrue() | AlwaysFalse() | AlwaysNull():
            return frozenset()
        case And(parts) | Or(parts):
            return frozenset().union(*(columns_of(part) for part in parts))
        case Not(part):
            return columns_of(part)
        case CompareColumns(column, _, other):
            return frozenset((column[0], other[0]))
        case leaf:
            return frozenset((leaf.column[0],))


def rename(predicate: Predicate, names: Mapping[str, str]) -> Predicate:
    """The predicate with top-level columns renamed; names that the mapping lacks stay unchanged."""
    match predicate:
        case AlwaysTrue() | AlwaysFalse() | AlwaysNull():
            return predicate
        case And(parts):
            return And(tuple(rename(part, names) for part in parts))
        case Or(parts):
            return Or(tuple(rename(part, names) for part in parts))
        case Not(part):
            return Not(rename(part, names))
        case CompareColumns(column, _, other):
            return replace(predicate, column=_renamed(column, names), other=_renamed(other, names))
        case Padded(column, _, part):
            path = _renamed(column, names)
            return replace(predicate, column=path, part=replace(part, column=path))
        case Remainder(column, _, compared):
            path = _renamed(column, names)
            return replace(predicate, column=path, part=replace(compared, column=path))
        case leaf:
            return replace(leaf, column=_renamed(leaf.column, names))


def _renamed(path: Path, names: Mapping[str, str]) -> Path:
    return (names.get(path[0], path[0]), *path[1:])


def restrict(predicate: Predicate, columns: Container[str]) -> Predicate:
    """A predicate over ``columns`` alone that is true wherever ``predicate`` is true, as strong as its form allows.

    Use it to exclude files or to filter early, never as the final filter: it may keep more rows, and where
    ``predicate`` is not true its value is arbitrary.
    """
    return _weaken(predicate, columns, wanted=True)


def _weaken(predicate: Predicate, columns: Container[str], wanted: bool) -> Predicate:
    """A predicate that is true wherever the given one has the wanted truth value."""
    match predicate:
        case Not(part):
            return _weaken(part, columns, not wanted)
        case And(parts) | Or(parts):
            weakened = (_weaken(part, columns, wanted) for part in parts)
            return and_(*weakened) if isinstance(predicate, And) == wanted else or_(*weakened)
        case AlwaysTrue() | AlwaysFalse():
            return TRUE if isinstance(predicate, AlwaysTrue) == wanted else FALSE
        case AlwaysNull():
            return FALSE
        case leaf:
            if not all(name in columns for name in columns_of(leaf)):
                return TRUE
            return leaf if wanted else Not(leaf)


def is_true(predicate: Predicate) -> Predicate:
    """``(predicate) IS TRUE``: never NULL."""
    return _settle(predicate, wanted=True)


def is_false(predicate: Predicate) -> Predicate:
    """``(predicate) IS FALSE``: never NULL."""
    return _settle(predicate, wanted=False)


def _settle(predicate: Predicate, wanted: bool) -> Predicate:
    match predicate:
        case Not(part):
            return _settle(part, not wanted)
        case And(parts) | Or(parts):
            settled = (_settle(part, wanted) for part in parts)
            return and_(*settled) if isinstance(predicate, And) == wanted else or_(*settled)
        case AlwaysTrue() | AlwaysFalse():
            return TRUE if isinstance(predicate, AlwaysTrue) == wanted else FALSE
        case AlwaysNull():
            return FALSE
        case In(_, _, has_null) if has_null:
            # A list with NULL is never false. It is true only where a value matches, as in the list without NULL.
            return and_(replace(predicate, has_null=False), IsNotNull(predicate.column)) if wanted else FALSE
        case IsNull() | IsNotNull() | Compare(_, Op.NULL_SAFE_EQ, _) | CompareColumns(_, Op.NULL_SAFE_EQ):
            return predicate if wanted else Not(predicate)
        case CompareColumns(column, _, other):
            return and_(predicate if wanted else Not(predicate), IsNotNull(column), IsNotNull(other))
        case leaf:
            return and_(leaf if wanted else Not(leaf), IsNotNull(leaf.column))
