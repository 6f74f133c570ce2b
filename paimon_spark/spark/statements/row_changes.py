"""DELETE, UPDATE and MERGE INTO, done by the methods of the table."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from paimon_spark.row_changes.clauses import Action, When
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.adapters.dataframes import rows_frame
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.native.read_table import read_table
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import UNKNOWN_NAME, run_query, search_frame
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.table_use import plan_use
from paimon_spark.spark.queries.temporary_views import refresh_temporary_views
from paimon_spark.spark.table.table_writes import refreshing
from paimon_spark.sql.queries.parameters import question_marks, with_arguments
from paimon_spark.sql.queries.query import Query, Use
from paimon_spark.sql.statements import PREFIX, Delete, Expression, Merge, Update


def run_delete(session: SqlSession, delete: Delete, args: Args = None) -> DataFrame:
    """Deletes rows; see ``PaimonTable.delete``.

    Args:
        args: for parameters, as ``spark.sql`` takes them.

    Returns:
        A row with the number of deleted rows, under the name that Delta Lake gives it; NULL where nobody has counted
        them, because whole partitions went by metadata.
    """

    def run(views: SubQueryViews) -> RowChangeResult:
        where = None if delete.where is None else views.text(delete.where)
        table = refreshing(session.table(delete.table), views.refresh).alias(delete.alias)
        return table.delete() if where is None else table.delete(where)

    done = with_sub_query_views(session, args, run)
    return _counts(session, affected=done.rows_deleted if done.counts_exact else None)


def run_update(session: SqlSession, update: Update, args: Args = None) -> DataFrame:
    """Gives columns of rows new values; see ``PaimonTable.update``.

    Args:
        args: for parameters, as ``spark.sql`` takes them.

    Returns:
        A row with the number of updated rows, under the name that Delta Lake gives it.
    """

    def run(views: SubQueryViews) -> RowChangeResult:
        values = views.texts(update.values)
        where = None if update.where is None else views.text(update.where)
        table = refreshing(session.table(update.table), views.refresh).alias(update.alias)
        return table.update("true" if where is None else where, values)

    done = with_sub_query_views(session, args, run)
    return _counts(session, affected=done.rows_updated)


def run_merge_into(session: SqlSession, merge: Merge, args: Args = None) -> DataFrame:
    """Merges rows of a source into a table; see ``PaimonTable.merge``.

    Args:
        args: for parameters, as ``spark.sql`` takes them.

    Returns:
        A row with the numbers of rows that are affected, updated, deleted and inserted, under the names that Delta Lake
        gives them; NULL for updated and inserted ones where the table was not read, which leaves them unknown.
    """

    def run(views: SubQueryViews) -> RowChangeResult:
        source = run_query(session, merge.source, views.taken(merge.source))
        target = refreshing(session.table(merge.table), views.refresh).alias(merge.alias)
        builder = target.merge(source, views.text(merge.condition), merge.source_alias)
        if merge.evolves:
            builder = builder.withSchemaEvolution()
        for clause in merge.clauses:
            condition = None if clause.condition is None else views.text(clause.condition)
            values = None if clause.values is None else views.texts(clause.values)
            builder = builder.with_clause(Clause(When(clause.when), Action(clause.action), condition, values))
        return builder.execute()

    done = with_sub_query_views(session, args, run)
    known = done.counts_exact
    return _counts(
        session,
        affected=done.rows_matched + done.rows_inserted,
        updated=done.rows_updated if known else None,
        deleted=done.rows_deleted,
        inserted=done.rows_inserted if known else None,
    )


def _counts(session: SqlSession, **numbers: int | None) -> DataFrame:
    schema = pa.schema([pa.field(f"num_{name}_rows", pa.int64()) for name in numbers])
    return rows_frame(session.spark, schema, [tuple(numbers.values())])


class SubQueryViews:
    """Temporary views over the tables of ours in sub-queries, since Spark reads an expression without DataFrames."""

    def __init__(self, session: SqlSession, args: Args, has_all_columns: bool) -> None:
        """With the arguments of the statement: those without a name are taken in the order of their parameters."""
        self._has_all_columns = has_all_columns
        self._uses: dict[str, Use] = {}
        self._texts: list[str] = []  # that read temporary views of the user
        self._session = session
        self._named: Mapping[str, Any] = args if isinstance(args, Mapping) else {}
        self._has_args = args is not None
        self._positional = iter(() if args is None or isinstance(args, Mapping) else args)

    def taken(self, query: Query) -> Args:
        """The arguments of a query, whose parameters come next."""
        if self._named or not self._has_args:
            return self._named or None
        return list(itertools.islice(self._positional, question_marks(query.text)))

    @property
    def names(self) -> list[str]:
        """The views."""
        return list(self._uses)

    def refresh(self) -> None:
        """Lets the views show their tables as they are now: a DataFrame keeps the snapshot it was made at."""
        for text in self._texts:
            refresh_temporary_views(self._session, text)
        for view, use in self._uses.items():
            self._show(view, use)

    def texts(self, values: Mapping[str, Expression]) -> dict[str, str]:
        """The values as Spark reads them."""
        return {name: self.text(value) for name, value in values.items()}

    def text(self, expression: Expression) -> str:
        """The expression as Spark reads it."""
        query, names = expression.query, list[str | None]()
        query = query.with_all_columns() if self._has_all_columns else query
        uses = list(query.uses)
        for at, use in enumerate(query.uses):
            if self._session.reads_temporary_view(use):
                names.append(None)
                self._texts.append(query.text)
                continue
            view = f"paimon_{uuid.uuid4().hex}"
            self._uses[view] = use
            uses[at] = self._show(view, use)
            names.append(view)
        query = replace(query, uses=tuple(uses))
        views = {name: name for name in names if name is not None}
        text = query.render(names).format(**views) if views else query.text
        own = text.removeprefix(PREFIX)
        return with_arguments(own, self._named, self._positional) if self._has_args else own

    def _show(self, view: str, use: Use) -> Use:
        """Makes the view. Returns the use of its table, with the hidden columns that the view has."""
        if use.search is not None:
            rows, shown = search_frame(self._session, use, use.search, self._named)
        else:
            read = plan_use(self._session, use, self._named)
            rows, shown = read_table(self._session.spark, read).frame, replace(use, hidden=read.hidden)
        rows.createOrReplaceTempView(view)
        return shown


def with_sub_query_views(
    session: SqlSession, args: Args, run: Callable[[SubQueryViews], RowChangeResult]
) -> RowChangeResult:
    """Runs a statement with the views of its sub-queries, which are dropped at the end.

    A view has only the columns that the statement names. Of a column that is not there Spark suggests those that are
    like it, so that the statement, of which nothing was done, is then read once more with all columns.
    """
    for has_all_columns in (False, True):
        views = SubQueryViews(session, args, has_all_columns)
        try:
            return run(views)
        except AnalysisException as error:
            if has_all_columns or not views.names or not UNKNOWN_NAME.search(error.getCondition() or ""):
                raise
        finally:
            for name in views.names:
                session.spark.catalog.dropTempView(name)
    raise AssertionError("the second try returns or raises")
