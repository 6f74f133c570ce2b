"""What each kind of statement is done by that is no query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements import alters, descriptions, functions, listings, tables, views
from paimon_spark.spark.statements.calls import run_call_by_tag
from paimon_spark.spark.statements.copies import run_copy
from paimon_spark.spark.statements.inserts import run_insert, run_inserts
from paimon_spark.spark.statements.new_tables import run_create_table
from paimon_spark.spark.statements.refreshes import refresh
from paimon_spark.spark.statements.row_changes import run_delete, run_merge_into, run_update
from paimon_spark.sql import listings as q
from paimon_spark.sql import statements as s
from paimon_spark.sql.statements import AlterColumns, Delete, Merge, Update

Runner = Callable[[SqlSession, Any], DataFrame]
RunnerWithArgs = Callable[[SqlSession, Any, Args], DataFrame]


def run_change(
    session: SqlSession, statement: s.Statement, args: Args, read: Callable[[SqlSession, str], s.Statement]
) -> DataFrame:
    """Does a statement that is no query and no CALL; see run_sql.

    Args:
        read: tells what a text asks for.
    """
    kind = type(statement)
    if isinstance(statement, s.CallByTag):
        return run_call_by_tag(session, statement, partial(refresh, read))
    with_args = _WITH_ARGS.get(kind)
    return _RUNNERS[kind](session, statement) if with_args is None else with_args(session, statement, args)


_WITH_ARGS: Mapping[type, RunnerWithArgs] = {
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

_RUNNERS: Mapping[type, Runner] = {
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
