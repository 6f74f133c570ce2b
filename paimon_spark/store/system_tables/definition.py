"""$schemas, $options, $aggregation_fields: the definitions of a table; $statistics: the result of ANALYZE."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from paimon_spark.errors import MissingFile
from paimon_spark.format.java.text import hash_order
from paimon_spark.format.json_text import JsonObject, format_json, parse_json_object
from paimon_spark.format.paths import statistics_path
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import format_field, type_sql
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import find_bytes
from paimon_spark.store.system_tables.request import (
    NANOS_OF_MILLI,
    Columns,
    MetadataTable,
    Request,
    columns_of_rows,
    fields_of,
    shown_state,
)

SCHEMA_FIELDS = fields_of("""
    schema_id BIGINT NOT NULL
    fields STRING NOT NULL
    partition_keys STRING NOT NULL
    primary_keys STRING NOT NULL
    options STRING NOT NULL
    comment STRING
    update_time TIMESTAMP(3) NOT NULL
""")
OPTION_FIELDS = fields_of("""
    key STRING NOT NULL
    value STRING NOT NULL
""")
AGGREGATION_FIELDS = fields_of("""
    field_name STRING NOT NULL
    field_type STRING NOT NULL
    function STRING
    function_options STRING
    comment STRING
""")
STATISTICS_FIELDS = fields_of("""
    snapshot_id BIGINT NOT NULL
    schema_id BIGINT NOT NULL
    mergedRecordCount BIGINT
    mergedRecordSize BIGINT
    colstat STRING
""")


def flat_json(value: Any) -> str:
    """JSON without blanks, as Jackson writes it by default."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _in_java_order(options: Mapping[str, str]) -> dict[str, str]:
    """Java keeps options in a HashMap and shows them in its order."""
    return {key: options[key] for key in hash_order(options)}


def _schemas(request: Request) -> Columns:
    store = request.table.schemas
    found = (store.load(schema_id) for schema_id in store.ids() if request.may_hold(schema_id=schema_id))
    return columns_of_rows(SCHEMA_FIELDS, map(_schema_row, found))


def _schema_row(schema: TableSchema) -> tuple[Any, ...]:
    return (
        schema.id,
        flat_json([format_field(field) for field in schema.fields]),
        flat_json(schema.partition_keys),
        flat_json(schema.primary_keys),
        flat_json(_in_java_order(schema.options)),
        schema.comment,
        schema.time_millis * NANOS_OF_MILLI,
    )


def _options(request: Request) -> Columns:
    return columns_of_rows(OPTION_FIELDS, _in_java_order(_latest(request.table).options).items())


def _aggregation_fields(request: Request) -> Columns:
    """One row per column, with all its options ``fields.<column>.*``, for every merge engine."""
    schema = _latest(request.table)
    given = dict(_column_options(schema.options))
    rows = []
    for field in schema.fields:
        of_field = [(key, schema.options[key]) for key, name in given.items() if name == field.name]
        functions = ", ".join(value for _, value in of_field)
        keys = ", ".join(key for key, _ in of_field)
        rows.append((field.name, type_sql(field.type), f"[{functions}]", f"[{keys}]", field.description))
    return columns_of_rows(AGGREGATION_FIELDS, rows)


def _column_options(options: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The keys ``fields.<column>.<rest>`` and their column, as Java cuts them: at every dot."""
    for key in hash_order(options):
        words = key.rstrip(".").split(".")
        if len(words) > 2 and words[0] == "fields":
            yield key, words[1]


def _latest(table: Table) -> TableSchema:
    return table.schemas.latest() or table.schema


def stored_statistics(table: Table) -> JsonObject | None:
    """What ANALYZE has stored for the snapshot that is read; None: nothing.

    Raises:
        MissingFile: the file is gone.
    """
    with shown_state(table) as snapshot:
        if snapshot is None or snapshot.statistics is None:
            return None
        path = statistics_path(table.location, snapshot.statistics)
        data = find_bytes(table.file_io, path)
        if data is None:
            raise MissingFile(
                f"reading the statistics of snapshot {snapshot.id} of the table at {table.location}: the file {path} "
                "does not exist; analyze the table again",
                path,
            )
    return parse_json_object(data, path)


def _statistics(request: Request) -> Columns:
    stored = stored_statistics(request.table)
    if stored is None:
        return columns_of_rows(STATISTICS_FIELDS, ())
    row = (
        stored.integer("snapshotId"),
        stored.integer("schemaId"),
        stored.optional_integer("mergedRecordCount"),
        stored.optional_integer("mergedRecordSize"),
        format_json(stored.get("colStats") or {}),
    )
    return columns_of_rows(STATISTICS_FIELDS, [row])


TABLES = {
    "schemas": MetadataTable(SCHEMA_FIELDS, _schemas, frozenset({"update_time"})),
    "options": MetadataTable(OPTION_FIELDS, _options),
    "aggregation_fields": MetadataTable(AGGREGATION_FIELDS, _aggregation_fields),
    "statistics": MetadataTable(STATISTICS_FIELDS, _statistics),
}
