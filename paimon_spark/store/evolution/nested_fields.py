"""Columns by their path: an edit of one, at any depth, gives new fields (Java: SchemaManager.NestedColumnModifier)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from paimon_spark.errors import SchemaError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.evolution.changes import Path, dotted

Fields: TypeAlias = tuple[DataField, ...]
_INNER = {Root.ARRAY: "element", Root.MAP: "value"}
"""How a path names what is in the type."""


def edit_fields(fields: Fields, path: Path, edit: Callable[[Fields], Fields]) -> Fields:
    """The fields with those of the struct at a path edited; (): the columns themselves.

    Raises:
        SchemaError: the path names nothing, or no struct.
    """
    if not path:
        return edit(fields)

    def edit_struct(data_type: DataType) -> DataType:
        if data_type.root is not Root.ROW:
            raise SchemaError(f"'{dotted(path)}' is {type_sql(data_type)}, which has no fields")
        return replace(data_type, fields=edit(data_type.fields))

    return edit_type(fields, path, edit_struct)


def edit_field(fields: Fields, path: Path, edit: Callable[[DataField], DataField]) -> Fields:
    """The fields with the column or field of a struct at a path edited.

    Raises:
        SchemaError: the path names no column and no field of a struct.
    """
    last = path[-1]
    return edit_fields(
        fields,
        path[:-1],
        lambda beside: _replaced(beside, find(beside, last, path[:-1]), edit),
    )


def edit_type(fields: Fields, path: Path, edit: Callable[[DataType], DataType]) -> Fields:
    """The fields with the type at a path edited: that of a column, a field, an element or a value.

    Raises:
        SchemaError: the path names nothing that has a type to edit.
    """
    return _edit_type(fields, path, 0, edit)


def find(fields: Sequence[DataField], name: str, parent: Path = ()) -> DataField:
    """The field of a name.

    Raises:
        SchemaError: there is none; the message lists the names.
    """
    for field in fields:
        if field.name == name:
            return field
    names = ", ".join(field.name for field in fields)
    raise SchemaError(f"there is no column '{dotted((*parent, name))}'; found: {names}")


def field_at(fields: Fields, path: Path) -> DataField | None:
    """The column or field of a struct at a path; None: there is none, or the path ends in an array or map."""
    found: list[DataField] = []

    def keep(field: DataField) -> DataField:
        found.append(field)
        return field

    try:
        edit_field(fields, path, keep)
    except SchemaError:
        return None
    return found[0]


def type_at(fields: Fields, path: Path) -> DataType | None:
    """The type at a path, which may also name what is in an array or map; None: there is none."""
    found: list[DataType] = []

    def keep(data_type: DataType) -> DataType:
        found.append(data_type)
        return data_type

    try:
        edit_type(fields, path, keep)
    except SchemaError:
        return None
    return found[0]


def spelled(fields: Fields, path: Path) -> Path:
    """A path with the letter case of the columns, as far as one column alone has each name in some letter case."""
    if not path:
        return ()
    here = [field for field in fields if field.name == path[0]] or [
        field for field in fields if field.name.lower() == path[0].lower()
    ]
    if len(here) != 1:
        return path
    return (here[0].name, *_spelled_within(here[0].type, path[1:]))


def _spelled_within(data_type: DataType, path: Path) -> Path:
    if data_type.root is Root.ROW or not path:
        return spelled(data_type.fields, path)
    inner = _INNER.get(data_type.root)
    if inner is None or path[0].lower() != inner:
        return path
    return (inner, *_spelled_within(data_type.inner, path[1:]))


def _edit_type(fields: Fields, path: Path, depth: int, edit: Callable[[DataType], DataType]) -> Fields:
    field = find(fields, path[depth], path[:depth])
    return _replaced(fields, field, lambda f: replace(f, type=_edit_within(f.type, path, depth + 1, edit)))


def _edit_within(data_type: DataType, path: Path, depth: int, edit: Callable[[DataType], DataType]) -> DataType:
    if depth == len(path):
        return edit(data_type)
    if data_type.root is Root.ROW:
        return replace(data_type, fields=_edit_type(data_type.fields, path, depth, edit))
    if data_type.root is Root.MAP and path[depth] == "key":
        raise SchemaError(f"'{dotted(path)}': what is in the keys of a map cannot change, since keys are found by it")
    inner = _INNER.get(data_type.root)
    if inner is None:
        raise SchemaError(f"'{dotted(path[:depth])}' is {type_sql(data_type)}, which has nothing in it to name")
    if path[depth] != inner:
        raise SchemaError(
            f"'{dotted(path[:depth])}' is {type_sql(data_type)}: '{dotted((*path[:depth], inner))}' names what is in "
            f"it, not '{path[depth]}'"
        )
    return replace(data_type, element=_edit_within(data_type.inner, path, depth + 1, edit))


def _replaced(fields: Fields, field: DataField, edit: Callable[[DataField], DataField]) -> Fields:
    return tuple(edit(f) if f is field else f for f in fields)
