"""The clauses of a MERGE (features 2.3), and the calls that put them together, as Delta Lake has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.errors import SqlError
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.other_systems import MERGE_ADVICE
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.rows.assignments import Expression

_Values = Mapping[str, Expression]


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


@checks_arguments
@dataclass(frozen=True, repr=False)
class MergeBuilder(ForeignNames):
    """A MERGE that is being put together. Every call returns a new one; ``execute`` does it.

    Clauses for the same rows are tried in their order, and the first whose condition is true applies. Conditions and
    values are SQL or Columns. In clauses for matched rows they may name columns of both sides, in whenNotMatched those
    of the source, in whenNotMatchedBySource those of the target.
    """

    _advice = MERGE_ADVICE

    _run: Callable[[Sequence[Clause], bool], RowChangeResult]
    _clauses: tuple[Clause, ...] = ()
    _evolves: bool = False

    def __repr__(self) -> str:
        """The clauses, and that nothing has been done: a notebook shows it where ``execute`` was left out."""
        clauses = "; ".join(f"WHEN {clause.when} THEN {clause.action}" for clause in self._clauses)
        said = clauses or "no clause yet, such as whenMatchedUpdateAll()"
        return f"<MERGE that is not done yet: {said}; execute() does it>"

    def whenMatchedUpdate(self, condition: Expression | None = None, set: _Values | None = None) -> MergeBuilder:
        """Gives columns of a matched row new values: ``set`` maps columns, or fields in them, to expressions."""
        return self._with(When.MATCHED, Action.UPDATE, condition, _given(set, "set"))

    def whenMatchedUpdateAll(self, condition: Expression | None = None) -> MergeBuilder:
        """Gives all columns of a matched row the values of the source's columns of the same name."""
        return self._with(When.MATCHED, Action.UPDATE, condition, None)

    def whenMatchedDelete(self, condition: Expression | None = None) -> MergeBuilder:
        """Deletes a matched row."""
        return self._with(When.MATCHED, Action.DELETE, condition, None)

    def whenNotMatchedInsert(self, condition: Expression | None = None, values: _Values | None = None) -> MergeBuilder:
        """Inserts a row for one of the source that matches none; columns left out are NULL or have their default."""
        return self._with(When.NOT_MATCHED, Action.INSERT, condition, _given(values, "values"))

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> MergeBuilder:
        """Inserts a row of the source that matches none, by the names of its columns."""
        return self._with(When.NOT_MATCHED, Action.INSERT, condition, None)

    def whenNotMatchedBySourceUpdate(
        self, condition: Expression | None = None, set: _Values | None = None
    ) -> MergeBuilder:
        """Gives columns of a row that matches no row of the source new values."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, Action.UPDATE, condition, _given(set, "set"))

    def whenNotMatchedBySourceDelete(self, condition: Expression | None = None) -> MergeBuilder:
        """Deletes a row that matches no row of the source."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, Action.DELETE, condition, None)

    def withSchemaEvolution(self) -> MergeBuilder:
        """Adds columns to the table that only the source has, at any depth; their values are NULL in the other rows.

        With whenMatchedUpdateAll or whenNotMatchedInsertAll all columns of the source count, otherwise those that
        ``set`` or ``values`` assign. An UPDATE leaves columns and fields that the source lacks as they are; in new rows
        they are NULL or have their default. Types change where the table object, or in SQL the session, has the options
        `write.merge-schema.type-widening` and `write.merge-schema.explicit-cast`. The schema is committed with the
        rows. The option `write.merge-schema` = `true` does the same for all MERGEs.
        """
        return replace(self, _evolves=True)

    def with_clause(self, clause: Clause) -> MergeBuilder:
        """Adds a clause that is put together already."""
        return replace(self, _clauses=(*self._clauses, clause))

    def execute(self) -> RowChangeResult:
        """Does the MERGE, in one commit; see ``PaimonTable.merge`` for the errors."""
        return self._run(self._clauses, self._evolves)

    def _with(self, when: When, action: Action, condition: Expression | None, values: _Values | None) -> MergeBuilder:
        return self.with_clause(Clause(when, action, condition, values))


def _given(values: _Values | None, name: str) -> _Values:
    if not values:
        raise SqlError(f"MERGE: '{name}' says nothing; name columns and their values, or use the call that ends in All")
    return dict(values)
