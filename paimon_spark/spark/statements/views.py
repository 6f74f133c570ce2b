"""Temporary views over tables of ours, ALTER VIEW of them and of those of the catalog, and EXPLAIN."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.spark.adapters.dataframes import rows_frame, texts
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import parse_view, run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.queries.temporary_views import create_temporary_view, rename_temporary_view
from paimon_spark.spark.statements import catalog_views
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import CacheQuery, CreateView, Explain, RenameView, ReplaceViewQuery

_NO_PLAN = "Row(plan='Error occurred during query planning"


def run_create_view(session: SqlSession, view: CreateView, args: Args = None) -> DataFrame:
    """Gives a query a name in this Spark session."""
    create_temporary_view(session, view, args)
    return session.no_rows


def run_rename(session: SqlSession, rename: RenameView) -> DataFrame:
    """Gives a view another name; a temporary one comes before one of the catalog."""
    if not session.is_temporary_view(rename.view):
        return catalog_views.run_rename(session, rename)
    rename_temporary_view(session, rename.view.table, rename.to.table)
    return session.no_rows


def run_replace_query(session: SqlSession, change: ReplaceViewQuery) -> DataFrame:
    """Gives a view another query; a temporary one comes before one of the catalog."""
    if not session.is_temporary_view(change.view):
        return catalog_views.run_replace_query(session, change)
    assert change.view.database is not None
    query = parse_view(session, change.view.database, change.text)
    create_temporary_view(session, CreateView(change.view.table, query, replace=True))
    return session.no_rows


def run_cache(session: SqlSession, cache: CacheQuery, args: Args = None) -> DataFrame:
    """Gives a query a name in this Spark session, and has Spark keep its rows until a table of the query changes."""
    create_temporary_view(session, cache, args)
    return session.no_rows


def run_explain(session: SqlSession, explain: Explain, args: Args = None) -> DataFrame:
    """The plan that Spark has for a query, as one text; nothing runs. Of another statement: what it would do."""
    if not isinstance(explain.inner, Query):
        said = type(explain.inner).__name__
        return rows_frame(session.spark, texts("plan"), [(f"{said}: done by paimon_spark, not by Spark",)])
    plan = run_query(session, explain.inner, args, f"EXPLAIN {explain.mode} ")
    if str(plan.first()).startswith(_NO_PLAN):
        run_query(session, explain.inner, args)  # which raises the error that stands in the place of the plan
    return plan
