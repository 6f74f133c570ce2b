"""CREATE TABLE, also with AS and LIKE, and REPLACE TABLE (features 8.1).

REPLACE TABLE and CREATE OR REPLACE TABLE of a table that is there (Java: StagedSparkTable, in release 2.1). The table
keeps its history: its rows go in one snapshot, the new columns come with the next schema, and the new rows in one more
snapshot. Snapshots before that can be read as they were.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from paimon_spark.arrow.default_values import check_defaults
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import SqlError, TableAlreadyExists, TableNotFound, UnsupportedFeature
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.quoting import quoted
from paimon_spark.format.rules.format_tables import check_names_of_spark
from paimon_spark.format.rules.new_tables import assign_field_ids, validate_table
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.options import path_in_session
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.adapters.types import paimon_fields
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.spark.queries.asking import Args
from paimon_spark.spark.queries.run_query import DEFAULT, run_query
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.alters import check_property, declared_columns
from paimon_spark.spark.statements.table_formats import check_clauses, format_options
from paimon_spark.spark.table.table_api import PaimonTable
from paimon_spark.sql.statements import CreateTable
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.metadata.alter import next_schema, replace_schema
from paimon_spark.store.metadata.table_options import PATH
from paimon_spark.store.open import ReadableTable
from paimon_spark.writes.open_write import job_for
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.row_columns import all_nullable
from paimon_spark.writes.table_creation import alike_names, new_table_schema

_TABLE_COMMENT = "comment"


def run_create_table(session: SqlSession, create: CreateTable, args: Args = None) -> DataFrame:
    """Creates a table, and writes the rows of its query.

    If the rows of AS cannot be written, the table is not there, or is as it was.

    Raises:
        TableAlreadyExists: there is one, and the statement neither replaces it nor says IF NOT EXISTS.
        TableNotFound: REPLACE TABLE of a table that is not there.
        SqlError, SchemaError: the columns, keys and options break a rule.
        UnsupportedFeature: a clause that catalogs of this kind do not have.
    """
    check_clauses(create)
    for key in (*create.options, *create.properties):
        check_property(key)
    identifier = session.identifier(create.table)
    session.make_default(identifier.database)
    there = session.catalog.find_table(identifier) is not None
    if there and create.replace and create.location is not None:
        raise UnsupportedFeature(
            f"REPLACE TABLE {create.table} LOCATION: a table stays where it is; leave LOCATION out, or drop it first"
        )
    if there and create.if_not_exists:
        return session.no_rows
    if there and not create.replace:
        raise TableAlreadyExists(
            f"CREATE TABLE {create.table}: there is such a table; write IF NOT EXISTS, or CREATE OR REPLACE TABLE"
        )
    if not there and not create.create:
        raise TableNotFound(f"REPLACE TABLE {create.table}: there is no such table; write CREATE OR REPLACE TABLE")
    rows = None if create.query is None else run_query(session, replace(create.query, tells_defaults=True), args)
    schema = _schema(session, create, rows)
    if there:
        replace_table(session, identifier, schema, rows)
        return session.no_rows
    try:
        create_filled_table(session, identifier, schema, rows)
    except TableAlreadyExists:  # another job has made it since this statement looked; nothing of this one is there
        if not create.if_not_exists:
            raise
    return session.no_rows


# --------------------------------------------------------------------------------------------------------------- schema


def _schema(session: SqlSession, create: CreateTable, rows: DataFrame | None) -> TableSchema:
    of_files = format_options(create.provider)
    given = {**create.options, **create.properties, **of_files}
    if of_files:
        check_names_of_spark(f"creating {create.table}", given)
    if create.location is not None:
        given[PATH] = path_in_session(session.spark, create.location)
    comment = create.comment if create.comment is not None else given.pop(_TABLE_COMMENT, None)
    given.pop(_TABLE_COMMENT, None)
    if create.like:
        return _like(session, create, given, comment)
    if rows is not None:
        defaults = [field.metadata.get(DEFAULT) for field in rows.schema.fields]  # as in Spark, of columns as they are
        fields = tuple(
            replace(field, type=all_nullable(field.type), default_value=default)
            for field, default in zip(paimon_fields(rows.schema), defaults, strict=True)
        )
    else:
        fields = declared_columns(create.columns)
    is_of_files = given.get(TableSettings.table_type.key, "").lower() == TableKind.OBJECT_TABLE
    if not fields and not is_of_files:
        raise SqlError(f"CREATE TABLE {create.table}: a table needs columns; declare them in parentheses, or write AS")
    _check_names(session, create, fields)
    if create.partitioned_by:
        given[TableSettings.partition.key] = _joined(create.partitioned_by)
    return new_table_schema(str(create.table), given, fields, comment, with_rows=rows is not None)


def _check_names(session: SqlSession, create: CreateTable, fields: Sequence[DataField]) -> None:
    """Refuses names that a query in this session could not tell apart (Spark: PreprocessTableCreation)."""
    found = alike_names([field.name for field in fields], is_case_sensitive(session.spark))
    if found is not None:
        raise SqlError(f"CREATE TABLE {create.table}: {found}; give each column a name of its own")


def _joined(names: Sequence[str]) -> str:
    return ",".join(names)


def _like(session: SqlSession, create: CreateTable, given: Mapping[str, str], comment: str | None) -> TableSchema:
    """The schema of LIKE: columns, keys and options of a table of ours, the columns of one of Spark."""
    name = session.names.find_table(create.like)
    if name is None:
        fields = paimon_fields(session.spark.table(".".join(map(quoted, create.like))).schema)
        return new_table_schema(str(create.table), given, fields, comment)
    source = session.open(name).schema
    options = {
        **source.options,
        **({TableSettings.primary_key.key: _joined(source.primary_keys)} if source.primary_keys else {}),
        **({TableSettings.partition.key: _joined(source.partition_keys)} if source.partition_keys else {}),
        **given,
    }
    options.pop("path", None)
    return new_table_schema(
        str(create.table), options, source.fields, comment if comment is not None else source.comment
    )


def replace_table(session: SqlSession, identifier: Identifier, schema: TableSchema, rows: DataFrame | None) -> None:
    """Gives a table other columns and keys, and the rows of a query in the place of its own.

    All rows are written before anything changes. Then readers see the table empty for a moment.

    Args:
        schema: of a new table.
        rows: None: the table is empty afterwards.

    Raises:
        CommitConflict: another job has changed the schema concurrently; the table is empty, its last state can be
            restored by a rollback.
        UnsupportedFeature: the table would be of another kind, and the catalog cannot rename tables.
        PaimonError: the rows do not fit; nothing has changed.
    """
    validate_table(schema)
    table = session.catalog.load_any_table(identifier)
    of_files = TableSettings(schema.options).table_type in (TableKind.FORMAT_TABLE, TableKind.OBJECT_TABLE)
    if of_files or not isinstance(table, ReadableTable):
        kinds = f"{table.settings.table_type if isinstance(table, ReadableTable) else table.kind}"
        raise UnsupportedFeature(
            f"replacing {identifier}, whose type is {kinds}, by one of the type "
            f"{TableSettings(schema.options).table_type}: a table of files has no history that would go on; drop the "
            "table, then create it"
        )
    if not _is_alike(table.schema, schema):
        _drop_and_create(session, identifier, schema, rows)
        return
    fields, highest = assign_field_ids(schema.fields, table.schema.highest_field_id + 1)
    wanted = next_schema(table.schema, replace(schema, fields=fields, highest_field_id=highest))
    validate_table(wanted)
    check_defaults(f"replacing {identifier}", wanted.fields)
    if rows is None:
        _empty(table, wanted)
        return
    later = replace(table, schema=wanted, settings=TableSettings(wanted.options))
    job = job_for(later, WriteOptions(table.location), FrameColumns(rows.schema), overwrite=True)
    run_write(session.spark, rows, job, before_commit=lambda: _empty(table, wanted))


def _empty(table: ReadableTable, schema: TableSchema) -> None:
    """Takes the rows away first: they have none of the new columns."""
    truncate_table(table)
    replace_schema(table, schema)


def _is_alike(old: TableSchema, new: TableSchema) -> bool:
    """True if manifests of both may follow each other: keys of rows or none, and the same types of partitions."""

    def kind(schema: TableSchema) -> tuple[object, ...]:
        types = tuple(data_type.with_nullable(True) for data_type in schema.partition_types)
        return bool(schema.primary_keys), TableSettings(schema.options).table_type, types

    return kind(old) == kind(new)


def _drop_and_create(session: SqlSession, identifier: Identifier, schema: TableSchema, rows: DataFrame | None) -> None:
    """A table of another kind begins anew. The old one is deleted after the new one has its rows and its name."""
    catalog = session.catalog
    if not catalog.can_rename_tables:
        raise UnsupportedFeature(
            f"replacing {identifier} by a table of another kind (with a primary key or without, or with other "
            f"partitions): the catalog '{catalog.name}' cannot rename tables, so the old table would be gone before "
            "the new one is whole; nothing was changed. Drop the table, then create it"
        )
    mark = uuid.uuid4().hex[:12]
    staged = Identifier(identifier.database, f"{identifier.table}__new_{mark}")
    retired = Identifier(identifier.database, f"{identifier.table}__old_{mark}")
    create_filled_table(session, staged, schema, rows)
    try:
        catalog.rename_table(identifier, retired)
        catalog.rename_table(staged, identifier)
    except BaseException:
        if catalog.find_table(identifier) is None:
            catalog.rename_table(retired, identifier)
        catalog.drop_table(staged, ignore_if_not_exists=True)  # without an answer it may have its new name
        raise
    catalog.drop_table(retired)


def create_filled_table(
    session: SqlSession, identifier: Identifier, schema: TableSchema, rows: DataFrame | None
) -> None:
    """Creates a table and writes its rows. If they cannot be written, the table is dropped again.

    Args:
        rows: None: the table is empty.

    Raises:
        TableAlreadyExists: there is one.
        PaimonError: the rows cannot be written.
    """
    session.catalog.create_table(identifier, schema)
    if rows is None:
        return
    try:
        PaimonTable(session.spark, session.catalog.table_location(identifier), session.storage_options).append(rows)
    except BaseException:
        session.catalog.drop_table(identifier, ignore_if_not_exists=True)
        raise
