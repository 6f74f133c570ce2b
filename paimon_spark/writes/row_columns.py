"""The columns of rows that are to be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import pyarrow as pa
from pyarrow import types as pt

from paimon_spark.arrow.types import data_type
from paimon_spark.errors import DataError, SchemaError
from paimon_spark.format.types import DataField, DataType


class RowColumns(Protocol):
    """The columns of rows, wherever these come from."""

    @property
    def names(self) -> Sequence[str]:
        """Their names, in order."""
        ...

    @property
    def texts(self) -> Sequence[str]:
        """The names of those that hold texts."""
        ...

    @property
    def untyped(self) -> Sequence[str]:
        """The names of those that hold nothing but NULL, and have no type."""
        ...

    def without(self, names: Sequence[str]) -> Self:
        """The columns but some."""
        ...

    def words(self) -> str:
        """Names and types, for a message."""
        ...

    def arrow_schema(self) -> pa.Schema:
        """The columns as batches of the rows have them.

        Raises:
            DataError: no column of a table can hold a type; the message names the column.
        """
        ...

    def fields(self) -> list[DataField]:
        """The columns as a table made for the rows has them, without ids; they may hold NULL at any depth.

        Raises:
            SchemaError: a table cannot hold a type; the message names the column.
        """
        ...


@dataclass(frozen=True)
class ArrowColumns:
    """See RowColumns; those of rows of Arrow."""

    schema: pa.Schema

    @property
    def names(self) -> Sequence[str]:
        names: list[str] = self.schema.names
        return names

    @property
    def texts(self) -> Sequence[str]:
        return [field.name for field in self.schema if _is_text(field.type)]

    @property
    def untyped(self) -> Sequence[str]:
        return [field.name for field in self.schema if pt.is_null(field.type)]

    def without(self, names: Sequence[str]) -> ArrowColumns:
        return ArrowColumns(pa.schema([field for field in self.schema if field.name not in names]))

    def words(self) -> str:
        return ", ".join(f"{field.name} {field.type}" for field in self.schema)

    def arrow_schema(self) -> pa.Schema:
        return self.schema

    def fields(self) -> list[DataField]:
        return [_field(field) for field in self.schema]


def _field(field: pa.Field) -> DataField:
    try:
        return DataField(0, field.name, all_nullable(data_type(field.type)))
    except DataError as error:
        raise SchemaError(f"column '{field.name}': {error}") from None


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pt.is_dictionary(kind) else kind
    return bool(pt.is_string(plain) or pt.is_large_string(plain) or pt.is_string_view(plain))


def all_nullable(data_type: DataType) -> DataType:
    """The type with NULL allowed at every depth, as Spark has the types of a new table's columns."""
    return replace(
        data_type,
        nullable=True,
        element=None if data_type.element is None else all_nullable(data_type.element),
        fields=tuple(replace(f, type=all_nullable(f.type)) for f in data_type.fields),
    )
