"""Changes of a table's schema: each publishes the schema with the next id (Java: SchemaManager.commitChanges)."""

from __future__ import annotations

import time
from dataclasses import replace

from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema_json import encode_schema
from paimon_spark.store.metadata.publish import publish_file
from paimon_spark.store.metadata.table import Table


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
