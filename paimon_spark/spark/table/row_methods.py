"""What PaimonTable does to single rows: delete, update, merge."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Self, TypeVar

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.errors import OptionError
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.spark.adapters.options import FAIL, Once, merging_of
from paimon_spark.spark.merge_into.clauses import Clause, MergeBuilder
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.spark.rows.attempts import Job
from paimon_spark.spark.rows.result import RowChangeResult
from paimon_spark.spark.rows.statements import RowStatement, delete_where, update_where
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.rows.change_strategies import Statement

_ALIAS = "target"
_ALL_ROWS = "true"
Changed = TypeVar("Changed", bound="RowMethods")


class RowMethods(ABC):
    """Rows changed in place."""

    _spark: SparkSession
    _path: str
    _options: Mapping[str, str]
    _unknown: str = FAIL
    _alias: str | None = None
    _refresh: Callable[[], None] | None = None

    @abstractmethod
    def _open(self) -> ReadableTable: ...

    def alias(self, name: str) -> Self:
        """The table with a name for its columns in the conditions and expressions of delete, update and merge."""
        named = copy.copy(self)
        named._alias = name
        return named

    def delete(
        self,
        condition: Expression | None = _ALL_ROWS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> RowChangeResult:
        """Deletes the rows for which a condition is true, in one commit. NULL is not true.

        A condition on partitions alone is done by metadata: no data file is read (unless
        `delete.force-produce-changelog` is true).

        Args:
            condition: in Spark's SQL, with sub-queries and functions, read in the time zone of the session; or a
                Column, which names columns by ``F.col("id")``, not by another DataFrame. Without one the table is
                emptied; None is refused, because a variable may hold it by mistake.
            once: the name of an application and a number, under which it is done once; see ``append``.
            once_skips_older: whether a lower number than the last one is skipped; else it is an error.

        Raises:
            StaleBatch, CommitStateUnknown: as for ``append``, with `once`.
            DataError: the merge engine would keep a row that is to be deleted; the message says why.
            UnsupportedFeature: rows of this table cannot be deleted; the message says why.
            CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            CommitStateUnknown: the storage did not answer; nothing was deleted.
            OptionError: the condition is None.
            SqlError: a Column of the condition is one of another DataFrame.
            AnalysisException: Spark does not understand the condition.
        """
        if condition is None:
            raise OptionError(
                f"DELETE of {self._alias or self._path}: the argument 'condition' is None, and nothing was deleted; "
                "give a condition, or call delete() without an argument to delete all rows",
                arguments=("condition",),
            )
        if isinstance(condition, str) and not condition.strip():
            raise OptionError(
                f"DELETE of {self._alias or self._path}: the condition is empty, and nothing was deleted; give a "
                "condition, or call delete() without an argument to delete all rows",
                arguments=("condition",),
            )
        job = self._job(Statement.DELETE, Once.of(once, once_skips_older))
        where = None if isinstance(condition, str) and condition == _ALL_ROWS else condition
        return delete_where(RowStatement(job, self._alias or _ALIAS, where))

    def update(
        self,
        condition: Expression | None,
        set: Mapping[str, Expression],
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> RowChangeResult:
        """Gives columns new values in the rows for which a condition is true, in one commit.

        Args:
            condition: as for delete; None: all rows.
            set: expressions by the names of columns, or of fields in them such as ``address.city``. They may name the
                old values of all columns. A text is SQL: ``"'new'"`` or ``F.lit("new")`` is the text new. A value is
                cast to the type of its column by the rules of ANSI SQL.
            once, once_skips_older: as for delete.

        Raises:
            StaleBatch, CommitStateUnknown: as for ``append``, with `once`.
            SqlError: a column is unknown, assigned twice, or part of the primary key; a Column is one of another
                DataFrame; a value is a word that is no column.
            DataError: a value cannot be stored in its column, or the merge engine would not apply it: it is older than
                the stored one by its sequence field, or NULL in a partial-update table.
            UnsupportedFeature: rows of this table cannot be updated; the message says why.
            CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            CommitStateUnknown: the storage did not answer; nothing was deleted.
            AnalysisException: Spark does not understand an expression.
        """
        job = self._job(Statement.UPDATE, Once.of(once, once_skips_older))
        return update_where(RowStatement(job, self._alias or _ALIAS, condition, dict(set)))

    def merge(
        self,
        source: DataFrame,
        condition: Expression,
        source_alias: str | None = None,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> MergeBuilder:
        """Merges the rows of a source into the table: says which rows match, the calls on the result what is done.

        Args:
            source: the rows; give it a name with ``source.alias("s")``. It is computed once.
            condition: when a row of the source and one of the table match, such as ``t.id = s.id``; the table has the
                name that ``alias`` gave it.
            source_alias: the name of the source in expressions; None: the one that the DataFrame has.
            once, once_skips_older: as for delete; the source is not computed when the table has the number.

        Returns:
            The MERGE to be completed, and done by ``execute``, which raises:

            - SqlError: no clause, an unknown column, a column assigned twice or of the primary key.
            - SchemaError: the columns of the table cannot become what the source needs.
            - DataError: a value cannot be stored in its column; the merge engine would not apply it, as for update; or
              several rows of the source match one row, whose key is shown.
            - UnsupportedFeature: rows of this table cannot be merged.
            - CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            - CommitStateUnknown: the storage did not answer; nothing was deleted.
        """
        check_frame(source)
        job, alias = self._job(Statement.MERGE, Once.of(once, once_skips_older)), self._alias or _ALIAS

        def run(clauses: Sequence[Clause], evolves: bool) -> RowChangeResult:
            merging = merging_of(self._options, evolves)
            return run_merge(Merge(job, alias, source, source_alias, condition, clauses, merging))

        return MergeBuilder(run)

    def _job(self, statement: Statement, once: Once | None) -> Job:
        job = Job(self._spark, self._open, statement, once, self._unknown, name=self._alias or self._path)
        return job if self._refresh is None else replace(job, refresh=self._refresh)


def refreshing(table: Changed, refresh: Callable[[], None]) -> Changed:
    """The table, whose statements call a function before every attempt but the first: it reads sub-queries again."""
    named = copy.copy(table)
    named._refresh = refresh
    return named
