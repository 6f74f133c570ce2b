"""CREATE TEMPORARY VIEW over tables of ours, and EXPLAIN."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.errors import SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.results import no_rows, rows_frame, texts
from paimon_spark.spark.queries.run_query import run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import CacheQuery, CreateView, Explain
from paimon_spark.sql.text.writing import literal_text

_NO_PLAN = "Row(plan='Error occurred during query planning"


def run_create_view(session: SqlSession, view: CreateView, args: Args = None) -> DataFrame:
    """Gives a query a name in this Spark session. The tables are read as they are now, whatever is written later."""
    frame = run_query(session, view.query, args)
    if view.columns:
        if len(view.columns) != len(frame.columns):
            raise SqlError(
                f"CREATE VIEW {view.name}: {len(view.columns)} columns are named, the query has {len(frame.columns)}"
            )
        frame = frame.toDF(*view.columns)
    match view.is_global, view.replace:
        case True, True:
            frame.createOrReplaceGlobalTempView(view.name)
        case True, False:
            frame.createGlobalTempView(view.name)
        case False, True:
            frame.createOrReplaceTempView(view.name)
        case False, False:
            frame.createTempView(view.name)
    return no_rows(session.spark)


def run_cache(session: SqlSession, cache: CacheQuery, args: Args = None) -> DataFrame:
    """Gives a query a name in this Spark session, and has Spark keep its rows."""
    run_query(session, cache.query, args).createTempView(cache.name)
    pairs = ", ".join(f"{literal_text(key)} = {literal_text(value)}" for key, value in cache.options.items())
    options = f" OPTIONS ({pairs})" if pairs else ""
    return session.spark.sql(f"CACHE {'LAZY ' if cache.is_lazy else ''}TABLE {quoted(cache.name)}{options}")


def run_explain(session: SqlSession, explain: Explain, args: Args = None) -> DataFrame:
    """The plan that Spark has for a query, as one text; nothing runs. Of another statement: what it would do."""
    if not isinstance(explain.inner, Query):
        said = type(explain.inner).__name__
        return rows_frame(session.spark, texts("plan"), [(f"{said}: done by paimon_spark, not by Spark",)])
    plan = run_query(session, explain.inner, args, f"EXPLAIN {explain.mode} ")
    if str(plan.first()).startswith(_NO_PLAN):
        run_query(session, explain.inner, args)  # which raises the error that stands in the place of the plan
    return plan
