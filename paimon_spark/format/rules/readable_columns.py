"""Columns that this release cannot read: a table is read without them; a read that names one is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField, DataType, Root

_UNREADABLE_ROOTS = frozenset({Root.VARIANT, Root.BLOB, Root.VECTOR, Root.GEOMETRY, Root.GEOGRAPHY})


def unreadable_root(data_type: DataType) -> Root | None:
    """The first type within a type, at any depth, that this release cannot read; None if it can read all."""
    return next((root for root in _roots(data_type) if root in _UNREADABLE_ROOTS), None)


def holds_blobs(data_type: DataType) -> bool:
    """True if a type is BLOB or has one in it."""
    return Root.BLOB in _roots(data_type)


def _roots(data_type: DataType) -> Iterator[Root]:
    yield data_type.root
    inner = [t for t in (data_type.key, data_type.element) if t is not None]
    for part in (*inner, *(field.type for field in data_type.fields)):
        yield from _roots(part)


def check_columns(schema: TableSchema, fields: Iterable[DataField], conditions: Collection[str] = ()) -> None:
    """Checks that this release reads these columns.

    Args:
        schema: the schema of the table.
        fields: the columns to read.
        conditions: names of further columns, which a condition uses.

    Raises:
        UnsupportedFeature: it cannot read one of them; the message names that column, and lists the others.
    """
    for field in (*fields, *(schema.by_name[name] for name in conditions if name in schema.by_name)):
        root = unreadable_root(field.type)
        if root is not None:
            raise UnsupportedFeature(f"{_about(field, root)}; {_others(schema)}")


def check_all_columns(schema: TableSchema) -> None:
    """Checks that this release writes all columns of a table.

    Raises:
        UnsupportedFeature: it cannot write one of them; the message names the column.
    """
    for field in schema.fields:
        root = unreadable_root(field.type)
        if root is not None:
            raise UnsupportedFeature(f"{_about(field, root)}; use the official system for it")


def _about(field: DataField, root: Root) -> str:
    return (
        f"column '{field.name}' has the type {type_sql(field.type)}, and this release does not support {root} columns"
    )


def _others(schema: TableSchema) -> str:
    names = [field.name for field in schema.fields if unreadable_root(field.type) is None]
    if not names:
        return "read the table with the official system"
    listed = ", ".join(map(quoted_if_needed, names))
    return f'read the other columns, with .option("columns", "{listed}") in Spark, or columns={names} in Python'
