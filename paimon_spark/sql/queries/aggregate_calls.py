"""Aggregate functions, and where they stand in the text of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

COUNT_ROWS, COUNT, SUM, AVG, MIN, MAX = "count rows", "count", "sum", "avg", "min", "max"
"""Functions: of the rows; of the values that are not NULL; and of the values."""


@dataclass(frozen=True)
class Constant:
    """A literal of a query, as its value without the point, and its DECIMAL type in Spark beside a decimal."""

    units: int
    precision: int
    scale: int


Term: TypeAlias = "str | Constant | tuple[str, Term, Term]"
"""What is summed: the folded name of a column, a number, or one of ``+-*`` between two of them."""


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function in a text.

    Attributes:
        function: one of the above.
        of: the folded name of its column, "" of COUNT_ROWS; of SUM it may be another term.
        start: the offset of its first character.
        end: the offset behind its last character.
        name: of the column of the result that it is, without an alias; "": it is none.
    """

    function: str
    of: Term
    start: int
    end: int
    name: str

    @property
    def columns(self) -> frozenset[str]:
        """The names of the columns."""
        return _columns(self.of) if self.of else frozenset()


def has_constant(term: Term) -> bool:
    """True if a number is a part of it."""
    return isinstance(term, Constant) or (isinstance(term, tuple) and any(has_constant(part) for part in term[1:]))


def _columns(term: Term) -> frozenset[str]:
    match term:
        case str(name):
            return frozenset((name,))
        case Constant():
            return frozenset()
    return _columns(term[1]) | _columns(term[2])
