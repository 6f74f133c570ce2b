"""CREATE TEMPORARY VIEW over tables of ours, and EXPLAIN."""

from __future__ import annotations

from pyspark.sql import DataFrame

from paimon_spark.errors import SqlError
from paimon_spark.spark.queries.results import no_rows, rows_frame, texts
from paimon_spark.spark.queries.run_query import Args, plan_query, run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import CreateView, Explain


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


def run_explain(session: SqlSession, explain: Explain, args: Args = None) -> DataFrame:
    """The plan that Spark has for a query, as one text; nothing runs. Of another statement: what it would do."""
    if not isinstance(explain.inner, Query):
        said = type(explain.inner).__name__
        return rows_frame(session.spark, texts("plan"), [(f"{said}: done by paimon_spark, not by Spark",)])
    planned = plan_query(session, explain.inner, args)
    return session.spark.sql(f"EXPLAIN {explain.mode} {planned.text}", args, **planned.frames)  # type: ignore[arg-type]  # its stub lacks Mapping
