"""DESCRIBE of a table, a column, a database or a procedure (features 8.1), laid out as by Spark, and EXPLAIN."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, TableNotFound, UnsupportedFeature
from paimon_spark.format.paths import partition_text
from paimon_spark.format.types import DataField, Root
from paimon_spark.procedures.catalogue import PROCEDURES
from paimon_spark.procedures.procedure import arguments_of, sql_signature
from paimon_spark.spark.adapters.dataframes import rows_frame, texts
from paimon_spark.spark.adapters.readable_columns import find_column
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.partition_specs import the_partition, whole_values
from paimon_spark.spark.statements.table_words import shown_properties, simple_type, view_description
from paimon_spark.sql import listings as q
from paimon_spark.sql.queries.query import Query
from paimon_spark.sql.queries.references import statement_advice
from paimon_spark.sql.statements import Explain
from paimon_spark.sql.text.names import TableName
from paimon_spark.store.open import OpenTable, ReadableTable, with_snapshots
from paimon_spark.store.scan.row_limits import check_unlimited
from paimon_spark.store.system_tables.definition import stored_statistics
from paimon_spark.store.system_tables.names import METADATA_NAMES
from paimon_spark.store.system_tables.totals import PartitionTotal

_TABLE = pa.schema(
    [
        pa.field("col_name", pa.string(), nullable=False),
        pa.field("data_type", pa.string(), nullable=False),
        pa.field("comment", pa.string()),
    ]
)
_NO_PLAN = "Row(plan='Error occurred during query planning"
_INFO = pa.schema([pa.field("info_name", pa.string(), nullable=False), pa.field("info_value", pa.string())])
_COLUMN_STATISTICS = (
    ("min", "min"),
    ("max", "max"),
    ("num_nulls", "nullCount"),
    ("distinct_count", "distinctCount"),
    ("avg_col_len", "avgLen"),
    ("max_col_len", "maxLen"),
)
_EMPTY = ("", "", "")
_OWNER = "owner"
"""Where the official connector stores who has created a table; tables made here have none."""
_Row = tuple[str, str, str | None]


def describe_table(session: SqlSession, describe: q.DescribeTable) -> DataFrame:
    """The columns of a table or view, and with EXTENDED what else is known of it; or one column."""
    if describe.as_json:
        raise UnsupportedFeature(f"DESCRIBE {describe.table} AS JSON is not supported, leave AS JSON out")
    view = session.find_view(describe.table)
    if view is not None and not describe.column and not describe.partition:
        name = str(session.identifier(describe.table))
        return rows_frame(session.spark, _TABLE, view_description(name, view, describe.extended))
    if describe.table.system is not None and not describe.column:
        return rows_frame(session.spark, _TABLE, _of_system_table(session, describe.table))
    try:
        table = session.open_any(describe.table)
    except TableNotFound:
        advice = statement_advice(("DESCRIBE", describe.table.table.upper()), describe.column)
        if advice is None or not describe.column or not describe.table.is_bare:
            raise
        raise UnsupportedFeature(f"DESCRIBE {describe.table} is of another system: {advice}") from None
    if describe.column:
        return _describe_column(session, describe, with_snapshots(table))
    name = str(describe.table)
    if describe.partition:
        whole_values(session.spark, name, table.schema, describe.partition)
    rows = [_column(field) for field in table.schema.fields]
    if table.schema.partition_keys:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [_column(table.schema.by_name[key]) for key in table.schema.partition_keys]
    if describe.extended:
        rows += _details(str(session.identifier(describe.table)), table)
    if describe.extended and describe.partition:
        partition = the_partition(session.spark, name, with_snapshots(table), describe.partition)
        rows += _partition_details(session.identifier(describe.table), partition)
    required = [field.name for field in table.schema.fields if not field.type.nullable]
    if describe.extended and required:
        rows += [_EMPTY] if describe.partition else []
        rows.append(("# Column Not Null", "", ""))
        rows += [(key, simple_type(table.schema.by_name[key].type), "NOT NULL") for key in required]
    return rows_frame(session.spark, _TABLE, rows)


def _of_system_table(session: SqlSession, name: TableName) -> list[_Row]:
    """The columns of a system table; one that shows the rows of the table shows its partitions too, as in Java."""
    fields = {field.name: field for field in session.fields(name)}
    rows = [_column(field) for field in fields.values()]
    keys = () if name.system in METADATA_NAMES else session.open(replace(name, system=None)).schema.partition_keys
    if keys:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        rows += [_column(fields[key]) for key in keys]
    return rows


def _column(field: DataField) -> _Row:
    return field.name, simple_type(field.type), field.description


def _details(name: str, table: OpenTable) -> list[_Row]:
    schema = table.schema
    owner = schema.options.get(_OWNER)
    shown = {key: value for key, value in shown_properties(table).items() if key != _OWNER}
    properties = ",".join(f"{key}={value}" for key, value in shown.items())
    rows: list[_Row] = [_EMPTY, ("# Metadata Columns", "", "")] if table.hidden_fields else []
    rows += [(field.name, simple_type(field.type), "") for field in table.hidden_fields]
    rows += [_EMPTY, ("# Detailed Table Information", "", ""), ("Name", name, ""), ("Type", "MANAGED", "")]
    rows += [("Comment", schema.comment, "")] if schema.comment else []
    rows += [("Location", table.location, ""), ("Provider", "paimon", "")]
    rows += [("Owner", owner, "")] if owner else []
    rows += [("Table Properties", f"[{properties}]", "")]
    defaults = [field for field in schema.fields if field.default_value is not None]
    if defaults:
        rows += [_EMPTY, ("# Column Default Values", "", "")]
        rows += [(field.name, simple_type(field.type), field.default_value) for field in defaults]
    if isinstance(table, ReadableTable):
        splits = table.scan().plan().splits
        size, count = sum(split.size for split in splits), sum(split.row_count for split in splits)
        rows.append(("Statistics", f"{size} bytes, {count} rows", None))
    return rows


def _partition_details(identifier: Identifier, partition: PartitionTotal) -> list[_Row]:
    """What Spark tells of one partition (Spark: DescribeTablePartitionExec)."""
    rows, size, files, made = partition.total
    created = "UNKNOWN"
    if made is not None:
        created = f"{dt.datetime.fromtimestamp(made / 1000, dt.UTC):%a %b %d %H:%M:%S UTC %Y}"
    parameters = f"fileCount={files}, fileSizeInBytes={size}, lastFileCreationTime={made}, recordCount={rows}"
    return [
        _EMPTY,
        ("# Detailed Partition Information", "", ""),
        ("Database", identifier.database, ""),
        ("Table", identifier.table, ""),
        ("Partition Values", f"[{partition.text.replace('/', ', ')}]", ""),
        ("Partition Parameters", f"[{parameters}]", ""),
        ("Created Time", created, ""),
        ("Last Access", "UNKNOWN", ""),
        ("Partition Statistics", f"{size} bytes, {rows} rows", ""),
    ]


def _describe_column(session: SqlSession, describe: q.DescribeTable, table: ReadableTable) -> DataFrame:
    if len(describe.column) > 1:
        raise UnsupportedFeature(f"DESCRIBE {describe.table} {'.'.join(describe.column)}: name a column, not one in it")
    field = find_column(table, describe.column[0])
    rows = [("col_name", field.name), ("data_type", simple_type(field.type)), ("comment", field.description or "NULL")]
    if describe.extended:
        rows += _column_statistics(table, field)
    return rows_frame(session.spark, _INFO, rows)


def _column_statistics(table: ReadableTable, field: DataField) -> list[tuple[str, str]]:
    """What ANALYZE has found in a column (Spark: DescribeColumnExec); dates as people write them."""
    check_unlimited(table, "describing the values of a column")
    stored = stored_statistics(table)
    found = None if stored is None else (stored.get("colStats") or {}).get(field.name)
    if not isinstance(found, Mapping):
        return []

    def text(key: str) -> str:
        value = found.get(key)
        if value is not None and field.type.root is Root.DATE and key in ("min", "max"):
            return partition_text(int(value), field.type, legacy=False)
        return "NULL" if value is None else str(value)

    return [(name, text(key)) for name, key in _COLUMN_STATISTICS]


def describe_database(session: SqlSession, describe: q.DescribeDatabase) -> DataFrame:
    """A database, and with EXTENDED its properties."""
    database = session.catalog.load_database(describe.database)
    rows = [("Catalog Name", session.catalog.name), ("Namespace Name", database.name)]
    rows += [("Comment", database.comment)] if database.comment else []
    rows += [("Location", database.location)] if database.location else []
    if describe.extended:
        pairs = ", ".join(f"({key},{value})" for key, value in sorted(database.properties.items()))
        rows.append(("Properties", f"({pairs})" if pairs else ""))
    return rows_frame(session.spark, _INFO, rows)


def describe_procedure(session: SqlSession, describe: q.DescribeProcedure) -> DataFrame:
    """The arguments of a procedure."""
    procedure = PROCEDURES.get(describe.procedure.lower())
    if procedure is None:
        raise OptionError(f"there is no procedure '{describe.procedure}'; SHOW PROCEDURES lists them")
    by_sql = {declared.sql: declared for declared in arguments_of(procedure).values()}
    ordered, named = sql_signature(procedure)
    rows = []
    for name in (*ordered, *named):
        declared = by_sql.get(name)
        kind = "STRING" if declared is None else declared.sql_values
        is_required = name == ordered[0] if declared is None else declared.is_required
        doc = None if declared is None else declared.argument.doc
        rows.append((name, kind, "true" if is_required else "false", doc))
    return rows_frame(session.spark, texts("argument", "type", "required", "comment"), rows)


def run_explain(session: SqlSession, explain: Explain, args: Args = None) -> DataFrame:
    """The plan that Spark has for a query, as one text; nothing runs. Of another statement: what it would do."""
    if not isinstance(explain.inner, Query):
        said = type(explain.inner).__name__
        return rows_frame(session.spark, texts("plan"), [(f"{said}: done by paimon_spark, not by Spark",)])
    plan = run_query(session, explain.inner, args, f"EXPLAIN {explain.mode} ")
    if str(plan.first()).startswith(_NO_PLAN):
        run_query(session, explain.inner, args)  # which raises the error that stands in the place of the plan
    return plan
