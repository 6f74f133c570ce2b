"""What DELETE, UPDATE and MERGE ask for: one frozen dataclass for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.text.names import TableName

PREFIX = "SELECT 1 WHERE "
"""Stands before the text of an Expression, which makes a query of it."""


@dataclass(frozen=True)
class Expression:
    """An expression in the user's own characters.

    Attributes:
        query: PREFIX and the expression; its uses are tables of ours in sub-queries.
    """

    query: Query

    @property
    def text(self) -> str:
        """The expression."""
        return self.query.text.removeprefix(PREFIX)


@dataclass(frozen=True)
class Delete:
    """DELETE FROM. alias: by which expressions name the table. where: None: all rows."""

    table: TableName
    alias: str
    where: Expression | None = None


@dataclass(frozen=True)
class Update:
    """UPDATE. values: by the names of columns, as they are written."""

    table: TableName
    alias: str
    values: Mapping[str, Expression]
    where: Expression | None = None


@dataclass(frozen=True)
class MergeClause:
    """One WHEN of a MERGE.

    Attributes:
        when: "MATCHED", "NOT MATCHED" or "NOT MATCHED BY SOURCE".
        action: "UPDATE", "DELETE" or "INSERT".
        condition: behind AND; None: there is none.
        values: by the names of columns; None: ``*``, or a DELETE.
    """

    when: str
    action: str
    condition: Expression | None = None
    values: Mapping[str, Expression] | None = None


@dataclass(frozen=True)
class Merge:
    """MERGE INTO.

    Attributes:
        source: a query of all columns of the source.
        source_alias: None: it has none.
        evolves: WITH SCHEMA EVOLUTION.
    """

    table: TableName
    alias: str
    source: Query
    source_alias: str | None
    condition: Expression
    clauses: tuple[MergeClause, ...]
    evolves: bool = False
