"""Partitions as text, for messages and listings."""

from __future__ import annotations

from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.paths import partition_path
from paimon_spark.store.metadata.table import Table


def describe_partition(table: Table, row: bytes) -> str:
    """A partition row as text, for messages."""
    return f"partition {format_partition(table, row)}" if table.schema.partition_fields else "the table"


def format_partition(table: Table, row: bytes) -> str:
    """``k=v/k2=v2``, the values as casts to a string print them."""
    fields = table.schema.partition_fields
    values = decode_arity_row(row, [f.type for f in fields])
    return partition_path(values, fields, table.settings.partitions.default_name, legacy=False).rstrip("/")
