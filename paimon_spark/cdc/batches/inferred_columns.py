"""The columns of a table as messages describe them, and the changes that a table needs for them (Java: CdcSchema)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from paimon_spark.cdc.encodings import TEXT
from paimon_spark.cdc.events import Event
from paimon_spark.cdc.formats.mysql_types import TypeMapping
from paimon_spark.errors import SchemaError
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import BINARIES, FLOATS, STRINGS, DataField, DataType, Root
from paimon_spark.store.evolution.changes import AddColumn, SchemaChange, UpdateType

InferredColumns = Mapping[str, DataType | None]
"""The columns by name, in their order; None: the messages have no type."""

_INTEGERS = (Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT)
_MOST_DIGITS = 38


def columns_text(event: Event) -> str:
    """The columns that a message describes, as text; a column that only its rows have comes without a type."""
    inferred = {} if event.columns is None else event.columns.by_name
    types: dict[str, str | None] = {name: type_sql(encoding.type) for name, encoding in inferred.items()}
    for _, image in event.rows:
        for name in image:
            types.setdefault(name, None)
    return json.dumps(types, ensure_ascii=False)


def inferred_columns(text: str) -> InferredColumns:
    """The columns behind such a text."""
    return {name: None if inferred is None else parse_type(inferred) for name, inferred in json.loads(text).items()}


def fields_of(
    inferred: Iterable[InferredColumns], keys: Sequence[str], mappings: frozenset[TypeMapping]
) -> tuple[DataField, ...]:
    """The columns of a new table for all these messages.

    Raises:
        SchemaError: a column has types that no type holds both of, or a key is no column.
    """
    fields: tuple[DataField, ...] = ()
    for columns in inferred:
        fields = with_changes(fields, column_changes(fields, columns, mappings))
    missing = [key for key in keys if key not in {field.name for field in fields}]
    if missing:
        raise SchemaError(f"the key '{missing[0]}' is none of the columns {', '.join(f.name for f in fields)}")
    return fields


def with_changes(fields: Sequence[DataField], changes: Sequence[SchemaChange]) -> tuple[DataField, ...]:
    """The columns after the changes that ``column_changes`` makes."""
    types = {change.path[0]: change.type for change in changes if isinstance(change, AddColumn | UpdateType)}
    changed = [replace(field, type=types.pop(field.name, field.type)) for field in fields]
    return (*changed, *(DataField(len(changed) + i, name, to) for i, (name, to) in enumerate(types.items())))


def column_changes(
    fields: Sequence[DataField],
    inferred: InferredColumns,
    mappings: frozenset[TypeMapping] = frozenset(),
    case_sensitive: bool = True,
) -> tuple[SchemaChange, ...]:
    """The columns that a table lacks, and the types that must become wider for messages.

    A column whose type the messages do not have is added as STRING, and never changes a type.

    Raises:
        SchemaError: the values of a column fit no type that its own could become.
    """
    fold = (lambda name: name) if case_sensitive else str.lower
    known = {fold(field.name): field for field in fields}
    changes: list[SchemaChange] = []
    for name, data_type in inferred.items():
        own = known.get(fold(name))
        if own is None:
            changes.append(AddColumn((name,), (data_type or TEXT).with_nullable(True)))
        elif data_type is not None:
            wide = widened(own.type.with_nullable(True), data_type.with_nullable(True), own.name, mappings)
            if wide != own.type.with_nullable(True):
                changes.append(UpdateType((own.name,), wide))
    return tuple(changes)


def widened(own: DataType, inferred: DataType, name: str, mappings: frozenset[TypeMapping]) -> DataType:
    """The type for values of both; the own one where it holds them all (Java: canConvert).

    Unlike Java, a decimal that gets digits on one side of the point loses none on the other.

    Raises:
        SchemaError: there is none.
    """
    if own == inferred:
        return own
    if own.root is Root.DECIMAL and (TypeMapping.DECIMAL_NO_CHANGE in mappings or inferred.root is Root.DECIMAL):
        return own if TypeMapping.DECIMAL_NO_CHANGE in mappings else _wider_decimal(own, inferred, name)
    for roots in (STRINGS, BINARIES):
        if own.root in roots and inferred.root in roots:
            return inferred if (own.length or 1) <= (inferred.length or 1) else own
    if inferred.root in STRINGS and TypeMapping.ALLOW_NON_STRING_TO_STRING in mappings:
        return inferred
    if own.root in _INTEGERS and inferred.root in _INTEGERS:
        return max(own, inferred, key=lambda data_type: _INTEGERS.index(data_type.root))
    if own.root in FLOATS and inferred.root in FLOATS:
        return own if own.root is Root.DOUBLE else inferred
    if own.root is inferred.root and own.root in (Root.TIMESTAMP, Root.TIME):
        return max(own, inferred, key=lambda data_type: data_type.precision or 0)
    if own.root is inferred.root is Root.ARRAY:
        return replace(own, element=widened(own.inner, inferred.inner, name, mappings))
    raise SchemaError(
        f"column '{name}' is {type_sql(own)}, and the messages tell {type_sql(inferred)}: there is no type for both. "
        "Change the type of the column, or give the columns of the rows yourself (schema=)"
    )


def _wider_decimal(own: DataType, inferred: DataType, name: str) -> DataType:
    scale = max(own.scale or 0, inferred.scale or 0)
    whole = max((own.precision or 10) - (own.scale or 0), (inferred.precision or 10) - (inferred.scale or 0))
    if whole + scale > _MOST_DIGITS:
        raise SchemaError(
            f"column '{name}' is {type_sql(own)}, and the messages tell {type_sql(inferred)}: a decimal has at most "
            f"{_MOST_DIGITS} digits"
        )
    return replace(own, precision=whole + scale, scale=scale)
