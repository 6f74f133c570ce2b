"""The clauses of a MERGE (features 2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import Statement, check_deletes, deletes_by_kind

E = TypeVar("E")
"""What an expression is: of Spark, or of Arrow."""


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
class Clause(Generic[E]):
    """One clause.

    Attributes:
        when: which rows it is for.
        action: what it does.
        condition: of those rows; None: all.
        values: of an UPDATE or INSERT, by the names of columns; None: all columns, from those of the source by name.
    """

    when: When
    action: Action
    condition: E | None = None
    values: Mapping[str, E] | None = None

    @property
    def expressions(self) -> list[E | None]:
        """All expressions of the clause."""
        return [self.condition, *(self.values or {}).values()]

    @property
    def is_star(self) -> bool:
        """True if all columns get the values of the source."""
        return self.action is not Action.DELETE and self.values is None


def inserts_only(clauses: Sequence[Clause[Any]]) -> bool:
    """True if no clause updates or deletes."""
    return all(clause.action is Action.INSERT for clause in clauses)


def deletes_all_matched(clauses: Sequence[Clause[Any]]) -> bool:
    """True if the only clause for matched rows is a DELETE without a condition."""
    found = [(clause.action, clause.condition) for clause in clauses if clause.when is When.MATCHED]
    return found == [(Action.DELETE, None)]


def given_values(values: Mapping[str, E] | None, name: str) -> dict[str, E]:
    """The values of a clause.

    Args:
        name: of the argument, for the message.

    Raises:
        SqlError: there are none.
    """
    if not values:
        raise SqlError(f"MERGE: '{name}' says nothing; name columns and their values, or use the call that ends in All")
    return dict(values)


def check_clauses(clauses: Sequence[Clause[Any]], what: str) -> None:
    """Refuses a MERGE without clauses, and a clause that can never apply.

    Raises:
        SqlError: there is no clause, or one without a condition stands before another for the same rows.
    """
    if not clauses:
        raise SqlError(
            f"{what}: no clause says what is to be done; add one that updates, inserts or deletes rows, such as WHEN "
            "MATCHED THEN UPDATE SET *, which is whenMatchedUpdateAll() of PaimonTable and when_matched_update_all() "
            "without Spark"
        )
    for when in When:
        for clause in [clause for clause in clauses if clause.when is when][:-1]:
            if clause.condition is None:
                raise SqlError(
                    f"{what}: of several clauses WHEN {when} only the last may have no condition, because the first "
                    f"that applies wins; give WHEN {when} THEN {clause.action} a condition"
                )


def check_deletions(table: Table, clauses: Sequence[Clause[Any]]) -> None:
    """Refuses a DELETE in a MERGE into a table that would keep the row.

    Raises:
        UnsupportedFeature: there is one.
    """
    if not any(clause.action is Action.DELETE for clause in clauses):
        return
    if not table.schema.primary_keys:
        check_deletes(table, Statement.MERGE)
        return
    if deletes_by_kind(table):
        return
    settings = table.settings
    if settings.ignore_delete:
        why, way_out = f"'{TableSettings.ignore_delete.key}' = 'true' ignores rows that delete others", ""
    elif settings.rowkind_field is not None:
        why, way_out = f"a column tells what a row does ('{TableSettings.rowkind_field.key}')", ""
    else:
        why = "the merge engine does not remove rows"
        way_out = ", or let the engine remove them (such as 'partial-update.remove-record-on-delete')"
    raise UnsupportedFeature(
        f"MERGE INTO {table.location} with a DELETE: {why}; use DELETE, which rewrites files{way_out}"
    )
