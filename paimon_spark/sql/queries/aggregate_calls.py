"""Aggregate functions, and where they stand in the text of a query."""

from __future__ import annotations

from dataclasses import dataclass

COUNT_ROWS, COUNT, SUM, AVG, MIN, MAX = "count rows", "count", "sum", "avg", "min", "max"
"""Functions: of the rows; of the values that are not NULL; and of the values."""


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function in a text.

    Attributes:
        function: one of the above.
        column: its name, folded; "" of COUNT_ROWS.
        start: the offset of its first character.
        end: the offset behind its last character.
        name: of the column of the result that it is, without an alias; "": it is none.
    """

    function: str
    column: str
    start: int
    end: int
    name: str
