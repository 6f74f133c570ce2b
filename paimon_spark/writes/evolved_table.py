"""The table that a write makes of the one it finds, where its rows may change the schema (features 2.4).

The new schema is not published here: it is committed with the rows (``publish_job_schema``), so that a job that fails
leaves none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from paimon_spark.errors import CommitConflict, PaimonError, SchemaError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.format.rules.new_tables import assign_field_ids, validate_table
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.evolution.alter import has_snapshots
from paimon_spark.store.evolution.changed_schema import changed_schema
from paimon_spark.store.evolution.difference import difference
from paimon_spark.store.evolution.merged_schema import merge_changes
from paimon_spark.store.metadata.alter import next_schema, publish_schema, replace_schema
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import resolve_keys, split_storage_options
from paimon_spark.writes.row_columns import RowColumns
from paimon_spark.writes.table_creation import check_names, new_table_schema
from paimon_spark.writes.write_job import WriteJob

_SHOWN_AS = {(Root.VECTOR, Root.ARRAY), (Root.TIME, Root.INT), (Root.TIME, Root.TIME), (Root.MULTISET, Root.MAP)}
"""Types that Spark does not have, each with the one that it shows instead."""
AnyTable = TypeVar("AnyTable", bound=Table)


def merged_table(table: AnyTable, rows: RowColumns, merging: Merging) -> AnyTable:
    """The table with the columns that rows need; the same object if it has them.

    Raises:
        SchemaError: the columns cannot become what the rows need; nothing was changed.
    """
    known = {field.name.lower() for field in table.schema.fields}
    untyped = [name for name in rows.untyped if name.lower() not in known]
    if untyped:
        raise SchemaError(f"writing to {table.location}: column '{untyped[0]}' has no type; cast it to the one it gets")
    try:
        given = _as_declared(table.schema.fields, rows.without(rows.untyped).fields())
        changes = merge_changes(table.schema.fields, given, merging)
        changed = changed_schema(table.schema, changes, has_snapshots(table), merging.case_sensitive)
    except SchemaError as error:
        raise SchemaError(f"writing to {table.location} with 'write.merge-schema': {error}") from None
    return table if changed == table.schema else replace(table, schema=next_schema(table.schema, changed))


def _as_declared(have: Sequence[DataField], rows: Sequence[DataField]) -> tuple[DataField, ...]:
    """The columns of rows, with the types of the table where Spark shows them as others."""
    own = {field.name.lower(): field.type for field in have}
    return tuple(replace(field, type=_type_as_declared(own.get(field.name.lower()), field.type)) for field in rows)


def _type_as_declared(own: DataType | None, given: DataType) -> DataType:
    if own is None:
        return given
    if (own.root, given.root) in _SHOWN_AS:
        return own
    if own.root is not given.root:
        return given
    if given.root is Root.ROW:
        return replace(given, fields=_as_declared(own.fields, given.fields))
    if given.root in (Root.ARRAY, Root.MAP):
        return replace(given, element=_type_as_declared(own.inner, given.inner))
    return given


def replaced_table(table: Table, rows: RowColumns, options: Mapping[str, str]) -> Table:
    """The table with the columns of rows in the place of its own, and with the keys and options that are given.

    Keys, partitions and options that are not given stay as they are.

    Raises:
        SchemaError: a key that stays is no column of the rows, or the table would be of another kind.
    """
    old = table.schema
    given = {
        key: value
        for key, value in split_storage_options(options)[1].items()
        if key.lower() != TableSettings.branch.key
    }
    keys = {
        TableSettings.primary_key.key: ",".join(old.primary_keys),
        TableSettings.partition.key: ",".join(old.partition_keys),
    }
    check_names(table.location, rows.names)
    fields = rows.fields()
    given = resolve_keys(given, [field.name for field in fields])
    wanted = new_table_schema(table.location, {**old.options, **keys, **given}, fields, old.comment)
    missing = [name for name in (*wanted.partition_keys, *wanted.primary_keys) if name not in wanted.by_name]
    if missing:
        raise SchemaError(
            f"writing to {table.location} with 'overwrite-schema': the rows lack the column '{missing[0]}', which the "
            "partitions or the primary key of the table have; add it, or drop the table first"
        )
    if _kind(wanted) != _kind(old):
        raise SchemaError(
            f"writing to {table.location} with 'overwrite-schema': the table cannot get or lose a primary key, nor "
            "other types of partition columns; drop it, or write CREATE OR REPLACE TABLE in SQL"
        )
    numbered, highest = assign_field_ids(wanted.fields, old.highest_field_id + 1)
    schema = next_schema(old, replace(wanted, fields=numbered, highest_field_id=highest))
    validate_table(schema, "replace the columns")
    return replace(table, schema=schema, settings=TableSettings(schema.options))


def _kind(schema: TableSchema) -> tuple[object, ...]:
    """What the manifests of a table must have in common."""
    types = tuple(data_type.with_nullable(True) for data_type in schema.partition_types)
    return bool(schema.primary_keys), types


def publish_job_schema(job: WriteJob) -> None:
    """Publishes the schema that the rows of a job are written with, just before they are committed.

    Raises:
        CommitConflict: another job has changed the schema concurrently, in another way; nothing was published.
        StorageError: the storage failed.
    """
    if job.evolution is None:
        return
    schema, table = job.table.schema, job.table
    if job.evolution.empties and table.server is not None:
        replace_schema(replace(table, schema=job.evolution.before), schema)
        return
    if job.evolution.empties:
        truncate_table(replace(table, schema=job.evolution.before))
    if publish_schema(table, schema):
        return
    theirs = table.schemas.load(schema.id)
    if not job.evolution.empties and replace(theirs, time_millis=schema.time_millis) == schema:
        return  # another job has just added the same columns
    differences = "; ".join(difference(job.evolution.before, theirs)) or "the same columns"
    emptied = "; the table is empty now, a rollback brings its last state back" if job.evolution.empties else ""
    raise CommitConflict(
        f"writing to {table.location}: another job has changed the schema meanwhile (schema {schema.id}: {differences})"
        f"{emptied}. Run the job again"
    )


def with_schema_note(job: WriteJob, error: PaimonError) -> PaimonError:
    """The error of a commit that failed, with what has become of the schema of the job."""
    if job.evolution is None:
        return error
    return type(error)(f"{error} {schema_note(job)}")


def schema_note(job: WriteJob) -> str:
    """What has become of the schema that a job has published before it failed."""
    return (
        f"The schema {job.table.schema.id} with the columns of these rows is published and stays; the same rows fit it "
        "when the job runs again"
    )
