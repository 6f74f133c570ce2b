"""The calls that put the clauses of a MERGE together, as Delta Lake has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.format.options.other_systems import MERGE_ADVICE
from paimon_spark.row_changes import clauses
from paimon_spark.row_changes.clauses import Action, When, given_values
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.rows.assignments import Expression

Clause: TypeAlias = clauses.Clause[Expression]
_Values = Mapping[str, Expression]


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
        return self._with(When.MATCHED, Action.UPDATE, condition, given_values(set, "set"))

    def whenMatchedUpdateAll(self, condition: Expression | None = None) -> MergeBuilder:
        """Gives all columns of a matched row the values of the source's columns of the same name."""
        return self._with(When.MATCHED, Action.UPDATE, condition, None)

    def whenMatchedDelete(self, condition: Expression | None = None) -> MergeBuilder:
        """Deletes a matched row."""
        return self._with(When.MATCHED, Action.DELETE, condition, None)

    def whenNotMatchedInsert(self, condition: Expression | None = None, values: _Values | None = None) -> MergeBuilder:
        """Inserts a row for one of the source that matches none; columns left out are NULL or have their default."""
        return self._with(When.NOT_MATCHED, Action.INSERT, condition, given_values(values, "values"))

    def whenNotMatchedInsertAll(self, condition: Expression | None = None) -> MergeBuilder:
        """Inserts a row of the source that matches none, by the names of its columns."""
        return self._with(When.NOT_MATCHED, Action.INSERT, condition, None)

    def whenNotMatchedBySourceUpdate(
        self, condition: Expression | None = None, set: _Values | None = None
    ) -> MergeBuilder:
        """Gives columns of a row that matches no row of the source new values."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, Action.UPDATE, condition, given_values(set, "set"))

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
