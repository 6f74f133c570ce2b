"""The files of indexes of a whole table, and the columns that they are over (Java: GlobalIndexMeta)."""

from __future__ import annotations

from collections.abc import Iterable

from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataType
from paimon_spark.store.metadata.schemas import SchemaStore


def field_ids(entry: IndexManifestEntry) -> tuple[int, ...]:
    """The ids of the columns that an index file is over; none: it is of another kind of index."""
    meta = entry.global_index
    return () if meta is None else (meta.index_field_id, *(meta.extra_field_ids or ()))


def indexed_columns(schema: TableSchema, entries: Iterable[IndexManifestEntry]) -> dict[str, str]:
    """The columns that index files are over, each with the type of the index."""
    names = {field.id: field.name for field in schema.fields}
    found: dict[str, str] = {}
    for entry in entries:
        for number in field_ids(entry):
            found.setdefault(names.get(number, f"of the id {number}"), entry.index_type)
    return found


def type_of_keys(now: TableSchema, schemas: SchemaStore, field_id: int) -> DataType | None:
    """The type of the keys of an index over a column; None: the column is no longer there, or had another type.

    An index file does not say which type its keys have, and a change of the type does not make it anew.

    Args:
        now: the schema of the read.
        schemas: all of the table.
        field_id: of the column.

    Raises:
        CorruptFile: a schema is damaged.
    """
    if all(field.id != field_id for field in now.fields):
        return None
    every = [now if number == now.id else schemas.load(number) for number in schemas.ids()]
    types = {field.type.with_nullable(True) for schema in every for field in schema.fields if field.id == field_id}
    return types.pop() if len(types) == 1 else None


def may_have_old_values(now: TableSchema, schemas: SchemaStore, schema_id: int) -> bool:
    """True if changes left indexes as they were when a snapshot was made, even if the table says otherwise now.

    Args:
        now: the schema of the read.
        schemas: all of the table.
        schema_id: of the snapshot.

    Raises:
        CorruptFile: the schema of the snapshot is damaged.
    """
    schema = now if schema_id == now.id else schemas.load(schema_id)
    return TableSettings(schema.options).global_index.update_action == "IGNORE"
