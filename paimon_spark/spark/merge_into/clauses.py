"""The clauses of a MERGE (features 2.3): which rows they are for, their condition, and what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from paimon_spark.errors import SqlError
from paimon_spark.spark.rows.assignments import Expression


class When(StrEnum):
    """The rows that a clause is for."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"


class Action(StrEnum):
    """What a clause does to its rows."""

    UPDATE = "UPDATE"
    DELETE = "DELETE"
    INSERT = "INSERT"


@dataclass(frozen=True)
class Clause:
    """One clause.

    Attributes:
        when: which rows it is for.
        action: what it does.
        condition: of those rows; None: all.
        values: of an UPDATE or INSERT, by the names of columns; None: all columns, from those of the source by name.
    """

    when: When
    action: Action
    condition: Expression | None = None
    values: Mapping[str, Expression] | None = None

    @property
    def expressions(self) -> list[Expression | None]:
        """All expressions of the clause."""
        return [self.condition, *(self.values or {}).values()]

    @property
    def is_star(self) -> bool:
        """True if all columns get the values of the source."""
        return self.action is not Action.DELETE and self.values is None


def check_clauses(clauses: Sequence[Clause], what: str) -> None:
    """Refuses a MERGE without clauses, and a clause that can never apply.

    Raises:
        SqlError: there is no clause, or one without a condition stands before another for the same rows.
    """
    if not clauses:
        raise SqlError(f"{what}: no clause says what is to be done; add one, such as whenMatchedUpdateAll")
    for when in When:
        for clause in [clause for clause in clauses if clause.when is when][:-1]:
            if clause.condition is None:
                raise SqlError(
                    f"{what}: of several clauses WHEN {when} only the last may have no condition, because the first "
                    f"that applies wins; give WHEN {when} THEN {clause.action} a condition"
                )
