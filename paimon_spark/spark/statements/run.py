"""The entry: does what a text of SQL asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from paimon_spark.errors import DatabaseNotFound, TableNotFound
from paimon_spark.spark.adapters.errors import not_logged
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.reading import named_in_spark, read_statement
from paimon_spark.spark.queries.run_query import run_query, run_untouched
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements import alters, descriptions, functions, listings, tables, views
from paimon_spark.spark.statements.calls import run_call, run_call_by_tag
from paimon_spark.spark.statements.copies import run_copy
from paimon_spark.spark.statements.inserts import run_insert, run_inserts
from paimon_spark.spark.statements.new_tables import run_create_table
from paimon_spark.spark.statements.refreshes import refresh
from paimon_spark.spark.statements.row_changes import run_delete, run_merge_into, run_update
from paimon_spark.sql import listings as q
from paimon_spark.sql import statements as s
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import AlterColumns, Delete, Merge, Update

Runner = Callable[[SqlSession, Any], DataFrame]
RunnerWithArgs = Callable[[SqlSession, Any, Args], DataFrame]


def run_sql(session: SqlSession, text: str, args: Args = None) -> DataFrame:
    """Runs one statement.

    Args:
        text: SQL of Spark, with the statements and the names of Paimon.
        args: for parameters of queries, as ``spark.sql`` takes them.

    Returns:
        What Spark would return: the rows of a query or of what is shown, no rows of other statements. A query runs when
        its rows are asked for; all other statements have been done.

    Raises:
        SqlError: something of ours is named, and the text is not understood.
        UnsupportedFeature: something of ours is named in a statement that this release does not have.
        PaimonError: the statement cannot be done.
        AnalysisException, ParseException: of Spark, for what it runs.
    """
    statement = read_statement(session, text)
    try:
        with not_logged():
            return run_statement(session, statement, args)
    except (TableNotFound, DatabaseNotFound) as error:
        raise named_in_spark(session, statement, error) from None


def run_statement(session: SqlSession, statement: s.Statement, args: Args = None) -> DataFrame:
    """Does a statement that is read already; see run_sql."""
    session.begin()
    kind = type(statement)
    with_args = _WITH_ARGS.get(kind)
    return _RUNNERS[kind](session, statement) if with_args is None else with_args(session, statement, args)


_WITH_ARGS: Mapping[type, RunnerWithArgs] = {
    s.Untouched: run_untouched,
    Query: run_query,
    s.Insert: run_insert,
    s.InsertSeveral: run_inserts,
    s.CopyInto: run_copy,
    s.CreateTable: run_create_table,
    Delete: run_delete,
    Update: run_update,
    Merge: run_merge_into,
    s.CreateView: views.run_create_temporary,
    s.CacheQuery: views.run_create_temporary,
    s.Explain: descriptions.run_explain,
}
"""What may hold parameters."""

_refresh = partial(refresh, read_statement)
_RUNNERS: Mapping[type, Runner] = {
    s.Call: partial(run_call, refresh=_refresh),
    s.CallByTag: partial(run_call_by_tag, refresh=_refresh),
    s.SetProperties: alters.run_set_properties,
    s.UnsetProperties: alters.run_unset_properties,
    AlterColumns: alters.run_alter_columns,
    s.DropTable: tables.run_drop,
    s.RenameTable: tables.run_rename,
    s.TruncatePartitions: tables.run_truncate_partitions,
    s.AddPartition: tables.run_add_partition,
    s.RepairTable: tables.run_repair,
    s.DropPartition: tables.run_drop_partition,
    s.Refresh: tables.run_refresh,
    s.CreateCatalogView: views.run_create,
    s.DropView: views.run_drop,
    s.RenameView: views.run_rename,
    s.ReplaceViewQuery: views.run_replace_query,
    s.SetViewProperties: views.run_set_properties,
    s.UnsetViewProperties: views.run_unset_properties,
    q.ShowTables: listings.show_tables,
    q.ShowDatabases: listings.show_databases,
    q.ShowCatalogs: listings.show_catalogs,
    q.ShowProcedures: listings.show_procedures,
    q.ShowNamespace: listings.show_namespace,
    q.ShowPartitions: listings.show_partitions,
    q.ShowColumns: listings.show_columns,
    q.ShowCreateTable: listings.show_create_table,
    q.ShowProperties: listings.show_properties,
    q.ShowTags: listings.show_tags,
    q.DescribeTable: descriptions.describe_table,
    q.DescribeDatabase: descriptions.describe_database,
    q.DescribeProcedure: descriptions.describe_procedure,
    q.CreateDatabase: tables.run_create_database,
    q.DropDatabase: tables.run_drop_database,
    q.AlterDatabase: tables.run_alter_database,
    q.UseDatabase: tables.run_use,
    q.ShowFunctions: listings.show_functions,
    s.CreateFunction: functions.create_function,
    q.DescribeFunction: functions.describe_function,
    q.DropFunction: tables.run_drop_function,
}
