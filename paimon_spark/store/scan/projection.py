"""Resolves the columns of a read."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.errors import OptionError, similar_names
from paimon_spark.format.options.column_names import parse_columns
from paimon_spark.format.schema import ROW_KIND, ROW_KIND_FIELD, TableSchema
from paimon_spark.format.types import DataField


def row_kind_field(schema: TableSchema) -> DataField:
    """The column with the row kind of each row.

    Raises:
        OptionError: the table has a column of that name.
    """
    if ROW_KIND in schema.by_name:
        raise OptionError(
            f"row kinds were asked for in a column '{ROW_KIND}', but the table has a column of that name; rename that "
            f"to read row kinds"
        )
    return ROW_KIND_FIELD


def find_fields(
    schema: TableSchema, columns: str | Sequence[str], hidden: Sequence[DataField] = ()
) -> tuple[DataField, ...]:
    """The fields of the columns, by exact name, else in any letter case; every table has the column ``_row_kind``.

    Args:
        columns: names, or one text of names with commas between them.
        hidden: further columns that may be named.

    Raises:
        OptionError: a column does not exist, is named twice, or matches several columns in other letter cases.
    """
    by_lower: dict[str, list[DataField]] = {}
    for field in (*schema.fields, *(() if ROW_KIND in schema.by_name else (ROW_KIND_FIELD,)), *hidden):
        by_lower.setdefault(field.name.lower(), []).append(field)
    fields: list[DataField] = []
    for name in parse_columns(columns) if isinstance(columns, str) else columns:
        exact = schema.by_name.get(name)
        found = [exact] if exact is not None else by_lower.get(name.lower(), [])
        if len(found) > 1:
            raise OptionError(f"the column '{name}' fits {', '.join(f.name for f in found)}: write its exact name")
        if not found:
            near = similar_names(name, schema.names)
            hint = f", did you mean '{near[0]}'?" if near else ""
            raise OptionError(f"no column '{name}'{hint}; the columns are {', '.join(schema.names)}")
        if found[0] in fields:
            raise OptionError(f"the column '{found[0].name}' is named twice among the columns to read")
        fields.append(found[0])
    return tuple(fields)
