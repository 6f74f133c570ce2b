"""REPLACE TABLE and CREATE OR REPLACE TABLE of a table that is there (Java: StagedSparkTable, in release 2.1).

The table keeps its history: its rows go in one snapshot, the new columns come with the next schema, and the new rows in
one more snapshot. Snapshots before that can be read as they were.
"""

from __future__ import annotations

import uuid
from dataclasses import replace

from pyspark.sql import DataFrame

from paimon_spark.arrow.default_values import check_defaults
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.new_tables import assign_field_ids, validate_table
from paimon_spark.format.schema import TableSchema
from paimon_spark.spark.adapters.options import WriteOptions
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.spark.statements.filled_tables import create_filled_table
from paimon_spark.spark.write.open_write import job_for
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.metadata.alter import next_schema, replace_schema
from paimon_spark.store.open import ReadableTable


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
    table = session.catalog.load_table(identifier)
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
    job = job_for(later, WriteOptions(table.location), rows.schema, overwrite=True)
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
