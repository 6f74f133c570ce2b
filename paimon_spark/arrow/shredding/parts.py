"""Columns that are parts of VARIANT values, made of the rows that are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from paimon_spark.arrow.shredding.casts import cast
from paimon_spark.arrow.shredding.paths import PathColumn, find
from paimon_spark.arrow.types import arrow_field
from paimon_spark.format.types import DataField


def read_in_part(field: DataField, parts: Sequence[PathColumn]) -> DataField:
    """A VARIANT column of which no more is read than some parts need."""
    paths = tuple(dict.fromkeys(part.names for part in parts if part.column == field.name))
    return field if () in paths else replace(field, type=replace(field.type, paths=paths))


def with_parts(rows: pa.RecordBatch, parts: Sequence[PathColumn]) -> pa.RecordBatch:
    """Rows with parts of their VARIANT values behind their other columns.

    Raises:
        DataError: a value is damaged, or a part of it is not of its type.
        UnsupportedFeature: a part is of a kind that is not cast without Spark.
    """
    for part in parts:
        values = cast(find(rows.column(part.column), part.path), part.field.type, part.fails, part.field.name)
        rows = rows.append_column(arrow_field(part.field), values)
    return rows
