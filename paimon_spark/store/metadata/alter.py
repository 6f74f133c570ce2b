"""Changes of a table's schema: each publishes the schema with the next id (Java: SchemaManager.commitChanges)."""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.errors import CommitConflict, TableNotFound, UnsupportedFeature
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import now_millis


def next_schema(current: TableSchema, schema: TableSchema) -> TableSchema:
    """A schema with the id that follows the current one, and the time of now."""
    return replace(schema, id=current.id + 1, time_millis=now_millis())


def replace_schema(table: Table, schema: TableSchema) -> None:
    """Publishes a schema of other columns as the next one of a table.

    Args:
        table: with the schema that is to be replaced; it must hold no rows, which the new columns would not show.
        schema: a `next_schema` of the table's; its fields have ids that the table has not used.

    Raises:
        CommitConflict: another job has changed the schema since the table was opened.
        StorageError: the storage failed.
    """
    if not _replaced(table, schema):
        raise CommitConflict(
            f"replacing the columns of {table.location}: another job has changed the schema meanwhile; run it again"
        )


def set_option(table: Table, key: str, value: str) -> None:
    """Publishes a schema with this option, unless the latest schema has it.

    Raises:
        StorageError: the storage failed.
    """
    while True:
        latest = table.schemas.latest()
        if latest is None or latest.options.get(key) == value:
            return
        if publish_schema(table, next_schema(latest, replace(latest, options={**latest.options, key: value}))):
            return


def publish_schema(table: Table, schema: TableSchema) -> bool:
    """False: there is another schema with this id.

    A server gets what is different from the schema before, and numbers schemas and new columns by itself.

    Raises:
        TableNotFound: the table is not there any more, or another one was made at its place (protocol C11).
        UnsupportedFeature: it says that a server decides who reads the table, which no server does.
    """
    _check_auth(table, schema)
    if table.server is not None:
        table.server.change_schema(table.branch, table.schemas.load(schema.id - 1), schema)
        return _is_there(table, schema)
    path, data = schema_path(table.location, schema.id, table.branch), encode_schema(schema)
    if table.is_there:
        if not publish_file(table.file_io, path, data):
            return False
        if table.is_there:
            return True
        if table.schemas.holds(schema):  # the place is empty, or has another table
            table.file_io.delete(path)
    raise TableNotFound(
        f"publishing schema {schema.id} of {table.location}: the table is not there any more; it was dropped or "
        "renamed since this job opened it. Nothing was changed; run the job again on the table of today"
    )


def _check_auth(table: Table, schema: TableSchema) -> None:
    """Nobody could open the table any more, to read it or to change it back."""
    if table.server is not None or table.auth is not None:
        return
    if TableSettings(schema.options).query_auth_enabled and not TableSettings(table.schema.options).query_auth_enabled:
        raise UnsupportedFeature(
            f"changing {table.location} to '{TableSettings.query_auth_enabled.key}' = 'true': only the server of a "
            "REST catalog can decide who reads which rows, and none does of this table; nothing was changed"
        )


def _replaced(table: Table, schema: TableSchema) -> bool:
    if table.server is None:
        return publish_schema(table, schema)
    table.server.replace_schema(schema)
    return _is_there(table, schema)


def _is_there(table: Table, schema: TableSchema) -> bool:
    """True if the latest schema, which a server has published, has the columns and the id of this one."""
    latest = table.schemas.latest()
    return latest is not None and (latest.id, latest.fields) == (schema.id, schema.fields)
