"""A text of SQL becomes a statement. A name of one part is first a temporary view of Spark, then a table of ours."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import DatabaseNotFound, SqlError, TableNotFound, UnsupportedFeature
from paimon_spark.format.quoting import quoted, quoted_if_needed
from paimon_spark.spark.queries.run_query import with_functions
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.temporary_views import refresh_temporary_views
from paimon_spark.spark.stream_sink.query import local_query
from paimon_spark.sql.listings import DescribeFunction
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import (
    CreateCatalogView,
    CreateTable,
    Delete,
    Merge,
    RenameView,
    ReplaceViewQuery,
    Statement,
    Untouched,
    Update,
)
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.system_tables.names import NAMES as SYSTEM_TABLES

_OF_SPARK = "spark_catalog"


def read_statement(session: SqlSession, text: str) -> Statement:
    """What a text of one statement asks for; what it asks of a temporary view of Spark is ``Untouched``, or a query.

    Raises:
        SqlError: something of ours is named, and the text is not understood.
        UnsupportedFeature: something of ours is named in a statement that this release does not have.
    """
    refresh_temporary_views(session, text)
    text, names = with_functions(session, text), session.names
    try:
        found = parse(text, names)
    except (SqlError, UnsupportedFeature):
        views = frozenset() if names.database is None else _temporary_views(session)
        if not views:
            raise
        return parse(text, replace(names, temporary=views))  # perhaps it names these alone
    if isinstance(found, DescribeFunction) and found.is_bare and session.has_function(found.function):
        return Untouched(text)
    target = _target(found)
    if target is not None and not isinstance(found, RenameView) and session.is_temporary_view(target):
        if isinstance(found, Delete | Update | Merge):
            ours = f"{names.catalog}.{target.database}.{target.table}"
            raise SqlError(
                f"SQL: {target} is a temporary view, whose rows stay; write {ours} for the table of that name"
            )
        return parse(text, replace(names, temporary=frozenset({target.table.lower()})))
    return found


def named_in_spark(
    session: SqlSession, statement: Statement, error: TableNotFound | DatabaseNotFound
) -> TableNotFound | DatabaseNotFound:
    """The error, and the name to write if Spark's own catalog has what ours does not have."""
    spark, target = session.spark.catalog, _target(statement)
    database = getattr(statement, "database", None) or (target and target.database)
    if isinstance(error, DatabaseNotFound):
        if not isinstance(database, str) or database == session.catalog.default_database:  # Spark has one as well
            return error
        if not spark.databaseExists(quoted(database)):
            return error
        return DatabaseNotFound(f"{error}; Spark's own catalog has it: write {_OF_SPARK}.{quoted_if_needed(database)}")
    query = (
        statement if isinstance(statement, Query) else getattr(statement, "query", getattr(statement, "source", None))
    )
    uses = query.uses if isinstance(query, Query) else ()
    for name in (*([] if target is None else [target]), *(use.name for use in uses)):
        if name.is_bare and local_query(session.spark) is not None:
            return TableNotFound(
                f"{error}; a temporary view that foreachBatch has made is one of the session batch.sparkSession: open "
                "the catalog there, paimon_spark.catalog(batch.sparkSession, '<warehouse>').sql(...), or give the rows "
                "to cat['<database>.<table>'], which has append and merge"
            )
        system = _written_with_point(session, name)
        if system is not None:
            return TableNotFound(f"{error}; a system table is written {system}")
        place = spark.currentDatabase() if name.is_bare else name.database
        parts = (_OF_SPARK, place or "", name.table)
        if len(name.parts) < 3 and not name.suffixes and spark.tableExists(".".join(map(quoted, parts))):
            written = ".".join(map(quoted_if_needed, parts))
            return TableNotFound(f"{error}; Spark's own catalog has that table: write {written}")
    return error


def _written_with_point(session: SqlSession, name: TableName) -> str | None:
    """``t$snapshots`` for the name ``t.snapshots``, as another system writes it; None: there is no table t."""
    if len(name.parts) != 2 or name.suffixes or name.table not in SYSTEM_TABLES:
        return None
    table, database = name.parts[0], session.database
    found = database is not None and session.catalog.find_table(Identifier(database, table)) is not None
    return f"{table}${name.table}" if found else None


def _target(statement: Statement) -> TableName | None:
    """The table or view that a statement changes or shows; None: it makes one, or has none."""
    if isinstance(statement, CreateTable | CreateCatalogView | ReplaceViewQuery):
        return None  # the last says of a temporary view what to do
    name = getattr(statement, "table", None) or getattr(statement, "view", None)
    return name if isinstance(name, TableName) else None


def _temporary_views(session: SqlSession) -> frozenset[str]:
    rows = session.spark.sql("SHOW VIEWS").collect()
    return frozenset(str(row["viewName"]).lower() for row in rows if row["isTemporary"])
