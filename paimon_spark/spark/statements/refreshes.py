"""The refresh of a materialized table: its rows are replaced by those of its query, in one commit.

Flink does the same with ``ALTER MATERIALIZED TABLE ... REFRESH [PARTITION (...)]``: INSERT OVERWRITE of the query, for
a partition with a WHERE of its values. The official connector of Spark has no such procedure.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pyspark.errors import PySparkException

from paimon_spark.arrow.predicates.predicate import And, Compare, IsNull, Predicate
from paimon_spark.arrow.types import from_internal
from paimon_spark.errors import OptionError, PaimonError, UnsupportedFeature
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.schema import TableSchema
from paimon_spark.procedures.databases import RefreshMaterializedTableResult
from paimon_spark.spark.queries.run_query import run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.inserts import write_insert
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.statements import Insert, Statement
from paimon_spark.sql.text.literals import Value, partition_condition
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.compact.partition_choice import Partitions, chosen_partitions
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import with_snapshots
from paimon_spark.writes.options import DYNAMIC_OVERWRITE

_QUERY = "materialized-table.definition-query"
_MODE = "materialized-table.refresh-mode"
_FULL = "FULL"
Reader: TypeAlias = Callable[[SqlSession, str], Statement]


def refresh(
    read: Reader, session: SqlSession, name: TableName, partition: Partitions | None
) -> RefreshMaterializedTableResult:
    """Replaces all rows, or those of one partition. The options of the table stay as they are.

    Args:
        read: what a text of one statement asks for (reading.read_statement).

    Raises:
        UnsupportedFeature: it is no materialized table, its mode is another one, or Spark does not run its query.
        OptionError: the partition is none of the table.
        PaimonError: the rows do not fit; nothing has changed.
    """
    table = with_snapshots(session.open_any(name))
    query = _definition(name, table)
    values = {} if partition is None else _partition_values(table, partition)
    condition = partition_condition(values) if values else None
    where = "" if condition is None else f" WHERE {condition}"
    inner = SqlSession(session.spark, session.catalog)
    inner.opened.database = name.database  # names without a catalog, or a database, are beside the table
    planned = _planned(read, inner, name, f"SELECT * FROM ({query}) AS definition{where}")
    options = {} if condition is not None else {DYNAMIC_OVERWRITE: "false"}
    done = write_insert(inner, Insert(name, planned, overwrite=True, replace_where=condition, options=options))
    return RefreshMaterializedTableResult(done.rows, done.snapshot_id)


def _definition(name: TableName, table: Table) -> str:
    """The query of a table that is refreshed as a whole."""
    options = table.schema.options
    if table.settings.table_type != TableKind.MATERIALIZED_TABLE:
        raise UnsupportedFeature(
            f"refreshing {name}: it is no materialized table ('type' = 'materialized-table'); INSERT OVERWRITE "
            "replaces its rows"
        )
    query, mode = options.get(_QUERY, "").strip().rstrip(";"), options.get(_MODE, "").strip().upper()
    if not query:
        raise UnsupportedFeature(f"refreshing {name}: the option '{_QUERY}' is missing, so nobody knows its rows")
    if mode != _FULL:
        raise UnsupportedFeature(
            f"refreshing {name}: '{_MODE}' = '{options.get(_MODE, '')}', and this release refreshes tables of the mode "
            f"{_FULL} only; a job of Flink refreshes the others"
        )
    return query


def _planned(read: Reader, session: SqlSession, name: TableName, text: str) -> Query:
    """The query, which Spark understands."""
    try:
        found = read(session, text)
        query = found if isinstance(found, Query) else Query(text)  # without a table of the catalog
        run_query(session, query)
        return query
    except (PaimonError, PySparkException) as error:
        why = str(error).strip().partition("\n")[0]
    raise UnsupportedFeature(
        f"refreshing {name}: its rows are those of a query in the SQL of Flink ('{_QUERY}'), and Spark does not run "
        f"it: {why}; refresh it with Flink, or INSERT OVERWRITE it with a query of Spark"
    )


def _partition_values(table: Table, partition: Partitions) -> Mapping[str, Value]:
    """The values of one partition, or of some of its columns."""
    found = chosen_partitions(table, None, partition)
    parts: tuple[Predicate, ...] = found.parts if isinstance(found, And) else (found,)  # type: ignore[assignment]
    values = dict[str, Value]()
    for part in parts:
        match part:
            case Compare((column,), _, value):
                values[column] = _literal(table.schema, column, value)
            case IsNull((column,)):
                values[column] = None
            case _:
                raise OptionError(
                    f"refreshing {table.location}: '{partition}' names several partitions; call the procedure for "
                    "each of them",
                    arguments=("partition",),
                )
    return values


def _literal(schema: TableSchema, column: str, value: object) -> Value:
    shown = from_internal([value], schema.by_name[column].type.with_nullable(True))[0].as_py()
    if isinstance(shown, dt.datetime):
        return shown.isoformat(sep=" ")
    return shown.isoformat() if isinstance(shown, dt.date) else shown
