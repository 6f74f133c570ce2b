"""SHOW: databases, tables, and what a table has (features 8.1). Names and columns of the results are those of Spark."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.arrow.predicates.expressions import as_predicate
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.spark.adapters.dataframes import rows_frame, texts
from paimon_spark.spark.adapters.types import spark_schema
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.partition_specs import find_partitions, required_values, the_partition
from paimon_spark.spark.statements.table_words import create_statement, create_view_statement, shown_properties
from paimon_spark.sql import listings as q
from paimon_spark.sql.queries.functions import CATALOG_FUNCTIONS
from paimon_spark.sql.queries.references import TABLE_FUNCTIONS
from paimon_spark.sql.text.literals import partition_condition
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.open import ReadableTable, with_snapshots
from paimon_spark.store.scan.row_limits import check_unlimited

_log = logging.getLogger(__name__)
_TABLES = pa.schema(
    [
        pa.field("namespace", pa.string(), nullable=False),
        pa.field("tableName", pa.string(), nullable=False),
        pa.field("isTemporary", pa.bool_(), nullable=False),
    ]
)
_VIEWS = pa.schema([_TABLES.field(0), pa.field("viewName", pa.string(), nullable=False), _TABLES.field(2)])
_INFORMATION = pa.field("information", pa.string(), nullable=False)


def like(names: Sequence[str], pattern: str | None) -> list[str]:
    """The names that a pattern of SHOW fits: ``*`` is any text, ``|`` is or; letter case does not count."""
    if pattern is None:
        return list(names)
    parts = (re.escape(part.strip()).replace(r"\*", ".*") for part in pattern.split("|"))
    fits = re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE | re.DOTALL)
    found = [name for name in names if fits.fullmatch(name)]
    if not found and "%" in pattern:
        _log.warning("no name is like '%s': in SHOW, * is any text and | is or, and %% stands for itself", pattern)
    return found


def show_databases(session: SqlSession, show: q.ShowDatabases) -> DataFrame:
    """The databases of the catalog."""
    names = like(session.catalog.list_databases(), show.pattern)
    return rows_frame(session.spark, _required("namespace"), [(name,) for name in names])


def show_catalogs(session: SqlSession, show: q.ShowCatalogs) -> DataFrame:
    """The catalogs of Spark that it has loaded, and ours."""
    of_spark = (catalog.name for catalog in session.spark.catalog.listCatalogs())
    names = like(sorted({*of_spark, session.catalog.name}), show.pattern)
    return rows_frame(session.spark, _required("catalog"), [(name,) for name in names])


def show_tables(session: SqlSession, show: q.ShowTables) -> DataFrame:
    """The tables or views of a database, or all that is known of them."""
    if show.kind == "VIEWS":
        views = session.catalog.list_views(show.database) if session.catalog.has_views else []
        return rows_frame(session.spark, _VIEWS, [(show.database, name, False) for name in like(views, show.pattern)])
    names = like(session.catalog.list_tables(show.database), show.pattern)
    if show.kind == "TABLES":
        return rows_frame(session.spark, _TABLES, [(show.database, name, False) for name in names])
    rows = [
        (show.database, name, False, _information(session, Identifier(show.database, name), show)) for name in names
    ]
    return rows_frame(session.spark, _TABLES.append(_INFORMATION), rows)


def _information(session: SqlSession, identifier: Identifier, show: q.ShowTables) -> str:
    table = session.catalog.load_any_table(identifier, time_zone=session.time_zone())
    if show.partition:
        return _partition_information(session, with_snapshots(table), show)
    schema = table.schema
    keys = ", ".join(f"`{name}`" for name in schema.partition_keys)
    lines = [
        f"Catalog: {session.catalog.name}",
        f"Namespace: {identifier.database}",
        f"Table: {identifier.table}",
        "Type: MANAGED",
        *([f"Comment: {schema.comment}"] if schema.comment else []),
        f"Location: {table.location}",
        "Provider: paimon",
        f"Table Properties: [{', '.join(f'{key}={value}' for key, value in shown_properties(table).items())}]",
        *(["Partition Provider: Catalog", f"Partition Columns: [{keys}]"] if keys else []),
        f"Schema: {spark_schema(schema.fields).treeString()}",
    ]
    return "\n".join(lines) + "\n"


def _partition_information(session: SqlSession, table: ReadableTable, show: q.ShowTables) -> str:
    found = [the_partition(session.spark, f"{show.database}.{show.pattern}", table, show.partition)]
    rows, size, files, made = found[0].total
    values = found[0].text.replace("/", ", ")
    return (
        f"Partition Values: [{values}]\n"
        f"Partition Parameters: {{recordCount={rows}, fileSizeInBytes={size}, fileCount={files}, "
        f"lastFileCreationTime={made}}}\n"
        f"Partition Statistics: {rows} rows, {size} bytes\n"
    )


def show_partitions(session: SqlSession, show: q.ShowPartitions) -> DataFrame:
    """The partitions that have rows, as ``dt=2026-11-01/hour=1``."""
    table, name = session.open_any(show.table), str(show.table)
    if not table.schema.partition_keys:
        with_snapshots(table)
        raise SqlError(f"SHOW PARTITIONS {name}: the table has no partitions")
    values = required_values(session.spark, name, table.schema.partition_fields, show.partition)
    if isinstance(table, FormatTable):
        where = as_predicate(partition_condition(values), table.schema.fields, session.time_zone()) if values else None
        return rows_frame(session.spark, _required("partition"), [(one.name,) for one in table.partitions(where)])
    table = with_snapshots(table)
    check_unlimited(table, "listing the partitions")
    rows = sorted((partition.text,) for partition in find_partitions(table, values))
    return rows_frame(session.spark, _required("partition"), rows)


def show_columns(session: SqlSession, show: q.ShowColumns) -> DataFrame:
    """The names of the columns."""
    view = session.find_view(show.table)
    names = [field.name for field in (session.fields(show.table) if view is None else view.fields)]
    return rows_frame(session.spark, _required("column"), [(name,) for name in names])


def show_properties(session: SqlSession, show: q.ShowProperties) -> DataFrame:
    """The options of a table, with its keys and its path."""
    properties = shown_properties(session.open_any(show.table))
    if show.key is not None:
        missing = f"Table {session.catalog.name}.{session.identifier(show.table)} does not have property: {show.key}"
        properties = {show.key: properties.get(show.key, missing)}
    return rows_frame(session.spark, _required("key", "value"), list(properties.items()))


def show_create_table(session: SqlSession, show: q.ShowCreateTable) -> DataFrame:
    """The statement that makes such a table or view."""
    name, view = f"{session.catalog.name}.{session.identifier(show.table)}", session.find_view(show.table)
    text = create_statement(name, session.open_any(show.table)) if view is None else create_view_statement(name, view)
    return rows_frame(session.spark, _required("createtab_stmt"), [(text,)])


def show_tags(session: SqlSession, show: q.ShowTags) -> DataFrame:
    """The names of the tags."""
    names = sorted(session.open(show.table).snapshots.tag_names())
    return rows_frame(session.spark, _required("tag"), [(name,) for name in names])


def show_namespace(session: SqlSession, show: q.ShowNamespace) -> DataFrame:
    """The current catalog and database."""
    return rows_frame(session.spark, _required("catalog", "namespace"), [(session.catalog.name, show.database)])


def show_procedures(session: SqlSession, show: q.ShowProcedures) -> DataFrame:
    """The procedures that CALL knows."""
    schema = texts("catalog", "schema", "procedure")
    rows = ((session.catalog.name, "sys", name) for name in like(sorted(PROCEDURES), show.pattern))
    return rows_frame(session.spark, schema, rows)


def show_functions(session: SqlSession, show: q.ShowFunctions) -> DataFrame:
    """The functions that a query can call: those of Spark, and with USER those of this package."""
    names: list[str] = []
    if show.kind != "USER":
        names += session.system_functions
    if show.kind != "SYSTEM":
        names += TABLE_FUNCTIONS
        own = CATALOG_FUNCTIONS if show.database == "sys" else ()
        names += [f"{session.catalog.name}.sys.{name}" for name in own]
        if show.database != "sys":
            names += [
                f"{session.catalog.name}.{show.database}.{name}" for name in _stored_functions(session, show.database)
            ]
    fitting = set(like([name.rpartition(".")[2] for name in names], show.pattern))
    rows = sorted((name,) for name in names if name.rpartition(".")[2] in fitting)
    return rows_frame(session.spark, _required("function"), rows)


def _required(*names: str) -> pa.Schema:
    return pa.schema([pa.field(name, pa.string(), nullable=False) for name in names])


def _stored_functions(session: SqlSession, database: str) -> list[str]:
    """The names of the functions that a catalog stores in a database; none of a catalog that stores none."""
    try:
        return session.catalog.list_functions(database)
    except UnsupportedFeature:
        return []
