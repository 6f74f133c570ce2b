"""Detects files with a newer schema than that of their reader, which opened the table before the schema was changed.

An older file is converted to the newer schema (arrow.evolution). The reverse is not possible: values that do not fit
the old type would be cut off, and a column that was dropped since then would be null.
"""

from __future__ import annotations

from collections.abc import Iterable

from paimon_spark.errors import TableChanged
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.metadata.schemas import SchemaStore


def schema_of_file(
    reader: TableSchema, schemas: SchemaStore, schema_id: int, fields: Iterable[DataField]
) -> TableSchema:
    """The schema that a file was written with.

    Args:
        reader: the schema that the table is read in.
        schemas: the schemas of the table.
        schema_id: the id of the file's schema.
        fields: the columns that the reader needs, in its own schema. A renamed column is the same column, and columns
            that were added later are not needed.

    Raises:
        TableChanged: the file has a newer schema in which one of the columns was dropped or changed its type.
    """
    if schema_id == reader.id:
        return reader
    written = schemas.load(schema_id)
    if schema_id > reader.id:
        known = {field.id: field for field in written.fields}
        for field in fields:
            now = known.get(field.id)
            if now is None or not _holds(now.type, field.type):
                raise _changed(schemas.table, reader, written, field, now)
    return written


def check_rewritable(table: str, reader: TableSchema, schemas: SchemaStore, schema_ids: Iterable[int]) -> None:
    """Checks that files can be rewritten in the schema of the reader: no column was added or changed since then.

    Raises:
        TableChanged: a file has a newer schema with an added or changed column.
    """
    for schema_id in sorted(set(schema_ids)):
        if schema_id > reader.id and schemas.load(schema_id).fields != reader.fields:
            raise TableChanged(
                f"writing rows of {table} again: the table was opened with schema {reader.id}, and others have since "
                f"written rows with schema {schema_id}, which has other columns; nothing was changed. Open it again"
            )


def _holds(written: DataType, read: DataType) -> bool:
    """True if values of the written type are values of the read type; fields of rows that are not read do not count."""
    if written.root is not read.root or (written.nullable and not read.nullable):
        return False
    if read.root is Root.ROW:
        there = {field.id: field.type for field in written.fields}
        return all(field.id in there and _holds(there[field.id], field.type) for field in read.fields)
    if read.root in (Root.ARRAY, Root.MULTISET):
        return _holds(written.inner, read.inner)
    if read.root is Root.MAP:
        return _holds(written.key_type, read.key_type) and _holds(written.inner, read.inner)
    return written.with_nullable(True) == read.with_nullable(True)


def _changed(
    table: str, reader: TableSchema, written: TableSchema, field: DataField, now: DataField | None
) -> TableChanged:
    found = "it is no more" if now is None else f"it is {type_sql(now.type)}"
    return TableChanged(
        f"reading {table}: its column '{field.name}' was {type_sql(field.type)} when the table was opened (schema "
        f"{reader.id}), and rows have since been written with schema {written.id}, where {found}. Open or load the "
        f"table again, or read the state of then with 'scan.snapshot-id'"
    )
