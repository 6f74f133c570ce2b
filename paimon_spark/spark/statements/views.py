"""Views that the catalog stores (features 8.3; Java: PaimonViewExec), and temporary ones over tables of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import (
    SPARK,
    AddDialect,
    RemoveViewOption,
    SetViewOption,
    UpdateDialect,
    View,
    ViewChange,
)
from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import paimon_fields
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import parse_view, plan_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.temporary_views import create_temporary_view, rename_temporary_view
from paimon_spark.spark.statements.table_words import simple_type
from paimon_spark.sql import statements as s
from paimon_spark.sql.text.names import TableName

Row = tuple[str, str, str | None]


def run_create(session: SqlSession, create: s.CreateCatalogView) -> DataFrame:
    """Stores a view. Its query is planned by Spark, which tells the columns, but does not run."""
    identifier = session.identifier(create.view)
    if create.if_not_exists and session.catalog.has_views and session.catalog.find_view(identifier) is not None:
        return session.no_rows
    fields = _named(_fields(session, create.view, create.text), create)
    view = View(fields, create.text, {SPARK: create.text}, create.comment, create.properties)
    if create.replace:  # not in one step, as by Java
        session.catalog.drop_view(identifier, ignore_if_not_exists=True)
    session.catalog.create_view(identifier, view, ignore_if_exists=create.if_not_exists)
    return session.no_rows


def run_create_temporary(session: SqlSession, view: s.CreateView | s.CacheQuery, args: Args = None) -> DataFrame:
    """Gives a query a name in this Spark session. CACHE TABLE: Spark keeps its rows until a table of it changes."""
    create_temporary_view(session, view, args)
    return session.no_rows


def run_drop(session: SqlSession, drop: s.DropView) -> DataFrame:
    """Drops a view."""
    session.catalog.drop_view(session.identifier(drop.view), ignore_if_not_exists=drop.if_exists)
    return session.no_rows


def run_rename(session: SqlSession, rename: s.RenameView) -> DataFrame:
    """Gives a view another name; a temporary one comes before one of the catalog."""
    if session.is_temporary_view(rename.view):
        rename_temporary_view(session, rename.view.table, rename.to.table)
    else:
        session.catalog.rename_view(session.identifier(rename.view), session.identifier(rename.to))
    return session.no_rows


def run_set_properties(session: SqlSession, change: s.SetViewProperties) -> DataFrame:
    """Sets options of a view."""
    changes = [SetViewOption(key, value) for key, value in change.properties.items()]
    return _alter(session, change.view, changes)


def run_unset_properties(session: SqlSession, change: s.UnsetViewProperties) -> DataFrame:
    """Removes options of a view."""
    return _alter(session, change.view, [RemoveViewOption(key) for key in change.keys])


def run_replace_query(session: SqlSession, change: s.ReplaceViewQuery) -> DataFrame:
    """Gives a view another query for Spark; a stored one, which a temporary one comes before, keeps its columns."""
    if session.is_temporary_view(change.view):
        assert change.view.database is not None
        query = parse_view(session, change.view.database, change.text)
        return run_create_temporary(session, s.CreateView(change.view.table, query, replace=True))
    view = session.catalog.load_view(_stored(session, change.view))
    found = _fields(session, change.view, change.text)
    if view.fields and [(f.name, f.type) for f in found] != [(f.name, f.type) for f in view.fields]:
        raise SqlError(
            f"ALTER VIEW {change.view}: the query has other columns ({_columns(found)}) than the view "
            f"({_columns(view.fields)}); create it anew (CREATE OR REPLACE VIEW)"
        )
    dialect = UpdateDialect if SPARK in view.dialects else AddDialect
    return _alter(session, change.view, [dialect(SPARK, change.text)])


def _alter(session: SqlSession, view: TableName, changes: Sequence[ViewChange]) -> DataFrame:
    session.catalog.alter_view(_stored(session, view), changes)
    return session.no_rows


def _stored(session: SqlSession, view: TableName) -> Identifier:
    """The view of the catalog that ALTER VIEW means.

    Raises:
        UnsupportedFeature: it means a temporary one of Spark.
    """
    identifier = session.identifier(view)
    if session.is_temporary_view(view):
        raise UnsupportedFeature(
            f"ALTER VIEW {view}: this is a temporary view; create it anew (CREATE OR REPLACE TEMPORARY VIEW), or write "
            f"{session.catalog.name}.{identifier} for the view of the catalog"
        )
    return identifier


def _fields(session: SqlSession, view: TableName, text: str) -> tuple[DataField, ...]:
    """The columns of the query of a view, with ids from 0."""
    assert view.database is not None
    session.catalog.load_database(view.database)
    planned = plan_query(session, parse_view(session, view.database, text), None, depth=1)
    fields = paimon_fields(session.spark.sql(planned.text, None, **planned.frames).schema)
    return tuple(replace(field, id=number) for number, field in enumerate(fields))


def _named(fields: tuple[DataField, ...], create: s.CreateCatalogView) -> tuple[DataField, ...]:
    if create.columns and len(create.columns) != len(fields):
        raise SqlError(
            f"CREATE VIEW {create.view}: {len(create.columns)} columns are named, the query has {len(fields)}"
        )
    if create.columns:
        pairs = zip(fields, create.columns, strict=True)
        fields = tuple(replace(f, name=name, description=comment or f.description) for f, (name, comment) in pairs)
    lower = [field.name.lower() for field in fields]
    twice = sorted({name for name in lower if lower.count(name) > 1})
    if twice:
        raise SqlError(f"CREATE VIEW {create.view}: the query has the column {twice[0]} twice; name the columns")
    return fields


def _columns(fields: Sequence[DataField]) -> str:
    return ", ".join(f"{field.name} {simple_type(field.type)}" for field in fields)
