"""Changes of a table's schema: each publishes the schema with the next id (Java: SchemaManager.commitChanges)."""

from __future__ import annotations

import time
from dataclasses import replace

from paimon_spark.errors import CommitConflict
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.schema_json import encode_schema
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.table import Table


def replace_schema(table: Table, schema: TableSchema) -> TableSchema:
    """Publishes a schema of other columns as the next one of a table.

    Args:
        table: with the schema that is to be replaced; it must hold no rows, which the new columns would not show.
        schema: the new one; its fields have ids that the table has not used. Its own id and time are set here.

    Raises:
        CommitConflict: another job has changed the schema since the table was opened.
        StorageError: the storage failed.
    """
    made = next_schema(table.schema, schema)
    if not publish_file(table.file_io, schema_path(table.location, made.id, table.branch), encode_schema(made)):
        raise CommitConflict(
            f"replacing the columns of {table.location}: another job has changed the schema meanwhile; run it again"
        )
    return made


def next_schema(current: TableSchema, schema: TableSchema) -> TableSchema:
    """A schema with the id that follows the current one, and the time of now."""
    return replace(schema, id=current.id + 1, time_millis=time.time_ns() // 1_000_000)


def set_option(table: Table, key: str, value: str) -> None:
    """Publishes a schema with this option, unless the latest schema has it.

    Raises:
        StorageError: the storage failed.
    """
    while True:
        latest = table.schemas.latest()
        if latest is None or latest.options.get(key) == value:
            return
        options = {**latest.options, key: value}
        schema = replace(latest, id=latest.id + 1, options=options, time_millis=time.time_ns() // 1_000_000)
        if publish_file(table.file_io, schema_path(table.location, schema.id, table.branch), encode_schema(schema)):
            return
