"""The calls that put a MERGE together without Spark, named as in delta-rs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.format.options.foreign_names import ForeignNames
from paimon_spark.row_changes.clauses import Action, Clause, When, given_values
from paimon_spark.row_changes.result import RowChangeResult

_Values = Mapping[str, Any]


@checks_arguments
@dataclass(frozen=True, repr=False)
class TableMerge(ForeignNames):
    """A MERGE that is being put together. Every call returns a new one; ``execute`` does it.

    Clauses for the same rows are tried in their order, and the first whose condition is true applies. A condition is
    SQL text, ``col(...)`` or an expression of ``pyarrow.compute``; a value is a column, a constant or such an
    expression, as for ``update``. Clauses for matched rows may name columns of both sides, when_not_matched_insert
    those of the source, when_not_matched_by_source those of the table: ``target.n``, ``source.n``, or ``n`` where one
    side alone has it.
    """

    _advice: ClassVar = {"commit": "execute() does the MERGE", "run": "execute() does the MERGE"}

    _run: Callable[[Sequence[Clause[Any]], bool], RowChangeResult]
    _clauses: tuple[Clause[Any], ...] = ()
    _evolves: bool = False

    def __repr__(self) -> str:
        """The clauses, and that nothing has been done: a notebook shows it where ``execute`` was left out."""
        clauses = "; ".join(f"WHEN {clause.when} THEN {clause.action}" for clause in self._clauses)
        said = clauses or "no clause yet, such as when_matched_update_all()"
        return f"<MERGE that is not done yet: {said}; execute() does it>"

    def when_matched_update(self, set: _Values, condition: Any = None) -> TableMerge:
        """Gives columns of a matched row new values: ``set`` maps columns, or fields in them, to values."""
        return self._with(When.MATCHED, Action.UPDATE, condition, given_values(set, "set"))

    def when_matched_update_all(self, condition: Any = None) -> TableMerge:
        """Gives all columns of a matched row the values of the source's columns of the same name."""
        return self._with(When.MATCHED, Action.UPDATE, condition)

    def when_matched_delete(self, condition: Any = None) -> TableMerge:
        """Deletes a matched row."""
        return self._with(When.MATCHED, Action.DELETE, condition)

    def when_not_matched_insert(self, values: _Values, condition: Any = None) -> TableMerge:
        """Inserts a row for one of the source that matches none; columns left out are NULL or have their default."""
        return self._with(When.NOT_MATCHED, Action.INSERT, condition, given_values(values, "values"))

    def when_not_matched_insert_all(self, condition: Any = None) -> TableMerge:
        """Inserts a row of the source that matches none, by the names of its columns."""
        return self._with(When.NOT_MATCHED, Action.INSERT, condition)

    def when_not_matched_by_source_update(self, set: _Values, condition: Any = None) -> TableMerge:
        """Gives columns of a row that matches no row of the source new values."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, Action.UPDATE, condition, given_values(set, "set"))

    def when_not_matched_by_source_delete(self, condition: Any = None) -> TableMerge:
        """Deletes a row that matches no row of the source."""
        return self._with(When.NOT_MATCHED_BY_SOURCE, Action.DELETE, condition)

    def with_schema_evolution(self) -> TableMerge:
        """Lets the table get columns that the source has and it lacks; the schema is committed with the rows.

        Clauses that end in ``_all`` then leave columns alone that the source lacks. The options
        ``write.merge-schema.type-widening`` and ``write.merge-schema.explicit-cast`` of the table let columns get
        other types too; ``write.merge-schema`` = ``true`` does the same for all MERGEs.
        """
        return replace(self, _evolves=True)

    def execute(self) -> RowChangeResult:
        """Does the MERGE, in one commit; see ``merge`` for the errors."""
        return self._run(self._clauses, self._evolves)

    def _with(self, when: When, action: Action, condition: Any, values: _Values | None = None) -> TableMerge:
        return replace(self, _clauses=(*self._clauses, Clause(when, action, condition, values)))
