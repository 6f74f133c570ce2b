"""CALL, and statements that do what a procedure does; CALL shows the result as the official procedure (features 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import DataFrame

from paimon_spark.catalogs.functions import Function
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import AddDialect, DropDialect, UpdateDialect, ViewChange
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.types import DataField
from paimon_spark.procedures.call.bind import Call, DatabaseCall, bind
from paimon_spark.procedures.call.results import call_result
from paimon_spark.procedures.procedure import TABLE
from paimon_spark.spark.adapters.dataframes import rows_frame
from paimon_spark.spark.jobs.spark_engine import SparkEngine
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql import statements as s
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.metadata.table import Table

if TYPE_CHECKING:  # a CALL waits for the procedure that it names, and for what that uses
    from paimon_spark.procedures.databases import RefreshMaterializedTableResult
    from paimon_spark.store.compact.partition_choice import Partitions

Refresh: TypeAlias = "Callable[[SqlSession, TableName, Partitions | None], RefreshMaterializedTableResult]"
"""Replaces the rows of a materialized table by those of its query: of one partition, or all."""


def run_call(session: SqlSession, call: s.Call, refresh: Refresh) -> DataFrame:
    """Runs a procedure, and shows its result if the statement is a CALL.

    Raises:
        OptionError: there is no such procedure or argument, one is missing or given twice, or a value does not fit.
        UnsupportedFeature: this release does not have the procedure.
        PaimonError: as the procedure says.
    """
    named = call.named if call.table is None else {TABLE: str(call.table), **call.named}
    bound = bind(call.procedure, call.positional, named)
    if isinstance(bound, DatabaseCall):
        procedure, engine = bound.procedure, SparkEngine(session.spark, _reads_no_rows)
        schema, rows = call_result(procedure, procedure.run(_Tables(session, refresh), engine))
    else:
        located = bound.located(lambda name: session.location(session.table_name(name)))
        result = _run(session, located, call.table or session.table_name(located.table))
        schema, rows = call_result(located.procedure, result)
    return rows_frame(session.spark, schema, rows) if call.table is None else session.no_rows


def run_call_by_tag(session: SqlSession, given: s.CallByTag, refresh: Refresh) -> DataFrame:
    """Creates a tag, or does with one that is there what the statement says."""
    call = given.there if given.tag in session.open(given.table).snapshots.tag_names() else given.absent
    return session.no_rows if call is None else run_call(session, call, refresh)


def _run(session: SqlSession, call: Call, name: TableName) -> Any:
    said = {**session.said_of(name).of_writes, **call.options}

    def rows_of(columns: Sequence[str], snapshot_id: int) -> DataFrame:
        from paimon_spark.spark.table.table_api import PaimonTable

        frames = PaimonTable(session.spark, session.location(name), {**session.storage_options, **said})
        return frames.toDF(columns, options={ScanSettings.snapshot_id.key: str(snapshot_id)})

    return call.procedure.run(session.open(name, said), SparkEngine(session.spark, rows_of))


def _reads_no_rows(columns: Sequence[str], snapshot_id: int) -> DataFrame:
    raise NotImplementedError("a procedure of many tables reads no rows")


@dataclass(frozen=True)
class _Tables:
    """The tables of the catalog; see procedures.databases.Tables."""

    session: SqlSession
    refreshes: Refresh

    def list_databases(self) -> list[str]:
        return self.session.catalog.list_databases()

    def list_tables(self, database: str) -> list[str]:
        return self.session.catalog.list_tables(database)

    def repair(self, database: str | None, table: str | None) -> None:
        self.session.catalog.repair(database, table)

    def tables_of_hive(self, database: str) -> list[str]:
        return self.session.catalog.tables_of_hive(database)

    def migrate(self, source: str, target: str | None, options: Mapping[str, str], drop_source: bool) -> None:
        session = self.session
        new = None if target is None else session.identifier(session.table_name(target))
        session.catalog.migrate_table(session.identifier(session.table_name(source)), new, options, drop_source)

    def alter_dialect(self, view: str, action: str, dialect: str, query: str | None) -> None:
        changes: Mapping[str, Callable[[], ViewChange]] = {
            "add": lambda: AddDialect(dialect, query or ""),
            "update": lambda: UpdateDialect(dialect, query or ""),
            "drop": lambda: DropDialect(dialect),
        }
        name = self.session.identifier(self.session.table_name(view))
        self.session.catalog.alter_view(name, [changes[action]()])

    def create_function(
        self,
        function: str,
        inputs: Sequence[DataField],
        returns: Sequence[DataField],
        deterministic: bool,
        comment: str | None,
        options: Mapping[str, str],
    ) -> None:
        made = Function(tuple(inputs), tuple(returns), deterministic, comment=comment, options=options)
        self.session.catalog.create_function(self._function(function), made)

    def alter_function(self, function: str, change: Mapping[str, Any]) -> None:
        self.session.catalog.alter_function(self._function(function), [change])

    def drop_function(self, function: str) -> None:
        self.session.catalog.drop_function(self._function(function))

    def _function(self, name: str) -> Identifier:
        return self.session.identifier(self.session.table_name(name))

    def refresh(self, table: str, partition: Partitions | None) -> RefreshMaterializedTableResult:
        return self.refreshes(self.session, self.session.table_name(table), partition)

    def open(self, database: str, table: str, options: Mapping[str, str]) -> Table:
        name = TableName((database, table), database, table)
        return self.session.open(name, {**self.session.said_of(name).of_writes, **options})
