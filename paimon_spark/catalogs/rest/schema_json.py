"""Schemas and their changes as the REST protocol writes them (Java: Schema, SchemaChange)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.schema import CURRENT_VERSION, TableSchema, decode_schema
from paimon_spark.format.type_text import format_field, format_type
from paimon_spark.format.types import DataField, DataType
from paimon_spark.store.evolution.option_changes import renamed_options

Json = dict[str, Any]


def schema_json(schema: TableSchema) -> Json:
    """A schema without its id, for a new table."""
    return {
        "fields": [format_field(field) for field in schema.fields],
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
        "comment": schema.comment,
    }


def read_schema(found: Mapping[str, Any], name: str) -> TableSchema:
    """The schema in what the server tells of a table.

    Raises:
        CorruptFile: it is none.
        UnsupportedFeature: a type is newer than this release knows.
    """
    described = found.get("schema") or {}
    fields = described.get("fields") or []
    highest = max((one.get("id", 0) for one in fields if isinstance(one, Mapping)), default=0)
    known = {**described, "version": CURRENT_VERSION, "id": found.get("schemaId") or 0, "highestFieldId": highest}
    return decode_schema(json.dumps(known).encode(), f"the schema of {name} from the server of the REST catalog")


def changes_between(before: TableSchema, after: TableSchema) -> list[Json]:
    """The changes that make one schema of another. Columns are known by their ids.

    Raises:
        UnsupportedFeature: the protocol has no such change.
    """
    if after.primary_keys != before.primary_keys and after.primary_keys:
        raise UnsupportedFeature("altering the table: a REST catalog cannot give it another primary key")
    if after.partition_keys != before.partition_keys:
        raise UnsupportedFeature("altering the table: a REST catalog cannot partition it otherwise")
    dropped_key: list[Json] = [{"action": "dropPrimaryKey"}] if before.primary_keys and not after.primary_keys else []
    comment = [{"action": "updateComment", "comment": after.comment}] if after.comment != before.comment else []
    return [*dropped_key, *_fields((), before.fields, after.fields), *_options(before, after), *comment]


def _options(before: TableSchema, after: TableSchema) -> Iterator[Json]:
    """Options that name a renamed column are rewritten by the server."""
    old_names = {field.id: field.name for field in before.fields}
    renames = [(old_names[f.id], f.name) for f in after.fields if f.id in old_names and old_names[f.id] != f.name]
    old: Mapping[str, str] = reduce(lambda options, pair: renamed_options(options, *pair), renames, before.options)
    for key, text in after.options.items():
        if old.get(key) != text:
            yield {"action": "setOption", "key": key, "value": text}
    yield from ({"action": "removeOption", "key": key} for key in old if key not in after.options)


def _fields(path: tuple[str, ...], before: tuple[DataField, ...], after: tuple[DataField, ...]) -> Iterator[Json]:
    """The changes of the fields beside each other; path: of what holds them."""
    known, wanted = {field.id: field for field in before}, {field.id: field for field in after}
    for field in before:
        if field.id not in wanted:
            yield {"action": "dropColumn", "fieldNames": [*path, field.name]}
    for field in after:
        if field.id in known and known[field.id].name != field.name:
            yield {"action": "renameColumn", "fieldNames": [*path, known[field.id].name], "newName": field.name}
    for field in sorted(after, key=lambda field: field.id):  # the server numbers them in this order
        if field.id not in known:
            yield _added(path, field)
    for field in after:
        if field.id in known:
            yield from _changed((*path, field.name), known[field.id], field)
    yield from _moved(path, [f.id for f in before if f.id in wanted], after)


def _added(path: tuple[str, ...], field: DataField) -> Json:
    if field.default_value is not None:
        raise UnsupportedFeature(f"adding the column {field.name} with a default value: set it afterwards")
    names, kind = [*path, field.name], format_type(field.type)
    return {"action": "addColumn", "fieldNames": names, "dataType": kind, "comment": field.description, "move": None}


def _changed(path: tuple[str, ...], before: DataField, after: DataField) -> Iterator[Json]:
    names = list(path)
    yield from _type(path, before.type, after.type)
    if before.description != after.description:
        yield {"action": "updateColumnComment", "fieldNames": names, "newComment": after.description}
    if before.default_value != after.default_value:
        yield {"action": "updateColumnDefaultValue", "fieldNames": names, "newDefaultValue": after.default_value}


def _type(path: tuple[str, ...], before: DataType, after: DataType) -> Iterator[Json]:
    names = list(path)
    if before.nullable != after.nullable:
        yield {"action": "updateColumnNullability", "fieldNames": names, "newNullability": after.nullable}
    if before.with_nullable(True) == after.with_nullable(True):
        return
    if before.root == after.root and before.fields and after.fields:
        yield from _fields(path, before.fields, after.fields)
    elif before.root == after.root and before.element is not None and after.element is not None:
        yield from _type((*path, "value" if before.key is not None else "element"), before.element, after.element)
    else:
        kind = format_type(after)
        yield {"action": "updateColumnType", "fieldNames": names, "newDataType": kind, "keepNullability": True}


def _moved(path: tuple[str, ...], kept: list[int], after: tuple[DataField, ...]) -> Iterator[Json]:
    """New fields are behind all others before they are moved."""
    order = [*kept, *sorted(field.id for field in after if field.id not in set(kept))]
    names = {field.id: field.name for field in after}
    for place, field in enumerate(after):
        if order[place] == field.id:
            continue
        if path:
            raise UnsupportedFeature(f"moving {'.'.join((*path, field.name))}: a REST catalog moves whole columns only")
        order.remove(field.id)
        order.insert(place, field.id)
        reference = None if place == 0 else names[order[place - 1]]
        move = {"fieldName": field.name, "referenceFieldName": reference, "type": "AFTER" if reference else "FIRST"}
        yield {"action": "updateColumnPosition", "move": move}
