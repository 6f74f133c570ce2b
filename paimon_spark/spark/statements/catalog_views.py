"""Views that the catalog stores: CREATE, DROP, ALTER, and what is shown (features 8.3; Java: PaimonViewExec)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import paimon_fields
from paimon_spark.spark.queries.run_query import parse_view, plan_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.table_words import simple_type
from paimon_spark.sql import statements as s
from paimon_spark.sql.text.literals import literal_text
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


def run_drop(session: SqlSession, drop: s.DropView) -> DataFrame:
    """Drops a view."""
    session.catalog.drop_view(session.identifier(drop.view), ignore_if_not_exists=drop.if_exists)
    return session.no_rows


def run_rename(session: SqlSession, rename: s.RenameView) -> DataFrame:
    """Gives a view another name."""
    session.catalog.rename_view(_stored(session, rename.view), session.identifier(rename.to))
    return session.no_rows


def run_set_properties(session: SqlSession, change: s.SetViewProperties) -> DataFrame:
    """Sets options of a view."""
    changes = [SetViewOption(key, value) for key, value in change.properties.items()]
    return _alter(session, change.view, changes)


def run_unset_properties(session: SqlSession, change: s.UnsetViewProperties) -> DataFrame:
    """Removes options of a view."""
    return _alter(session, change.view, [RemoveViewOption(key) for key in change.keys])


def run_replace_query(session: SqlSession, change: s.ReplaceViewQuery) -> DataFrame:
    """Gives a view another query for Spark, which must have the columns that the view was stored with."""
    view = session.catalog.load_view(_stored(session, change.view))
    found = _fields(session, change.view, change.text)
    if view.fields and [(f.name, f.type) for f in found] != [(f.name, f.type) for f in view.fields]:
        raise SqlError(
            f"ALTER VIEW {change.view}: the query has other columns ({_columns(found)}) than the view "
            f"({_columns(view.fields)}); create it anew (CREATE OR REPLACE VIEW)"
        )
    dialect = UpdateDialect if SPARK in view.dialects else AddDialect
    return _alter(session, change.view, [dialect(SPARK, change.text)])


def create_statement(name: str, view: View) -> str:
    """CREATE VIEW with all clauses, as the official SHOW CREATE TABLE has them."""
    text = f"CREATE VIEW {name} "
    if view.fields:
        columns = (
            quoted_if_needed(f.name) + ("" if f.description is None else f" COMMENT {literal_text(f.description)}")
            for f in view.fields
        )
        text += _lines(columns)
    if view.comment is not None:
        text += f"COMMENT {literal_text(view.comment)}\n"
    if view.options:
        pairs = (f"{literal_text(key)} = {literal_text(value)}" for key, value in sorted(view.options.items()))
        text += f"TBLPROPERTIES {_lines(pairs)}"
    return f"{text}AS\n{view.query_for(SPARK)}\n"


def description(name: str, view: View, extended: bool) -> list[Row]:
    """The rows of DESCRIBE."""
    rows: list[Row] = [(f.name, simple_type(f.type), f.description) for f in view.fields]
    if extended:
        options = ", ".join(f"{key}={value}" for key, value in sorted(view.options.items()))
        rows += [
            ("", "", ""),
            ("# Detailed View Information", "", ""),
            ("Name", name, ""),
            ("Comment", view.comment or "", ""),
            ("View Text", view.query_for(SPARK), ""),
            ("View Query Output Columns", f"[{', '.join(f.name for f in view.fields)}]", ""),
            ("View Properties", f"[{options}]", ""),
        ]
    return rows


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


def _lines(items: Iterable[str]) -> str:
    return "(\n  " + ",\n  ".join(items) + ")\n"
