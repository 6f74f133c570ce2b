"""DELETE, UPDATE and MERGE INTO, done by the methods of the table."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame

from paimon_spark.spark.queries.results import no_rows
from paimon_spark.spark.queries.run_query import Args, is_temporary_view, run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.table_use import plan_use
from paimon_spark.spark.rows.clauses import Action, Clause, When
from paimon_spark.sql.row_statements import PREFIX, Delete, Expression, Merge, Update


def run_delete(session: SqlSession, delete: Delete) -> DataFrame:
    """Deletes rows; see ``PaimonTable.delete``.

    Returns:
        No rows, as Spark does.
    """
    with _views(session) as views:
        where = None if delete.where is None else views.text(delete.where)
        session.table(delete.table).alias(delete.alias).delete(where)
    return no_rows(session.spark)


def run_update(session: SqlSession, update: Update) -> DataFrame:
    """Gives columns of rows new values; see ``PaimonTable.update``.

    Returns:
        No rows, as Spark does.
    """
    with _views(session) as views:
        where = None if update.where is None else views.text(update.where)
        session.table(update.table).alias(update.alias).update(where, views.texts(update.values))
    return no_rows(session.spark)


def run_merge_into(session: SqlSession, merge: Merge, args: Args = None) -> DataFrame:
    """Merges rows of a source into a table; see ``PaimonTable.merge``.

    Args:
        args: for the parameters of the source, if it is a query.

    Returns:
        No rows, as Spark does.
    """
    with _views(session) as views:
        source = run_query(session, merge.source, args)
        target = session.table(merge.table).alias(merge.alias)
        builder = target.merge(source, views.text(merge.condition), merge.source_alias)
        for clause in merge.clauses:
            condition = None if clause.condition is None else views.text(clause.condition)
            values = None if clause.values is None else views.texts(clause.values)
            builder = builder.with_clause(Clause(When(clause.when), Action(clause.action), condition, values))
        builder.execute()
    return no_rows(session.spark)


class _Views:
    """Temporary views over the tables of ours in sub-queries, since Spark reads an expression without DataFrames."""

    def __init__(self, session: SqlSession) -> None:
        self.names: list[str] = []
        self._session = session

    def texts(self, values: Mapping[str, Expression]) -> dict[str, str]:
        """The values as Spark reads them."""
        return {name: self.text(value) for name, value in values.items()}

    def text(self, expression: Expression) -> str:
        """The expression as Spark reads it."""
        query, names = expression.query, list[str | None]()
        for use in query.uses:
            if use.name.is_bare and is_temporary_view(self._session, use.name.table):
                names.append(None)
                continue
            view = f"paimon_{uuid.uuid4().hex}"
            plan_use(self._session, use, {}).run(self._session.spark).frame.createOrReplaceTempView(view)
            self.names.append(view)
            names.append(view)
        views = {name: name for name in names if name is not None}
        text = query.render(names).format(**views) if views else query.text
        return text.removeprefix(PREFIX)


@contextmanager
def _views(session: SqlSession) -> Iterator[_Views]:
    views = _Views(session)
    try:
        yield views
    finally:
        for name in views.names:
            session.spark.catalog.dropTempView(name)
