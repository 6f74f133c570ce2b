"""Comments of new columns that give them another type (features 3.20; Java: ColumnDirectiveUtils, release 2.0).

Engines have no word for BLOB and VECTOR, so the comment of a column says it: ``__BLOB_FIELD`` makes BINARY a BLOB, and
``__VECTOR_FIELD;3`` makes an ARRAY a VECTOR of 3 elements. What follows another ``;`` is the comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from paimon_spark.errors import SchemaError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import BINARIES, DataField, DataType, Root

VECTOR_FIELD = "vector-field"
VECTOR_LENGTH = "field.{}.vector-dim"
_BLOBS = {
    "__BLOB_VIEW_FIELD": TableSettings.blob_view_field.key,
    "__BLOB_DESCRIPTOR_FIELD": TableSettings.blob_descriptor_field.key,
    "__BLOB_FIELD": TableSettings.blob_field.key,
}
_VECTOR = "__VECTOR_FIELD"
_KNOWN = ", ".join((*_BLOBS, f"{_VECTOR};<number of elements>"))


def is_directive(comment: str | None) -> bool:
    """True if a comment begins as those do that give a column another type."""
    return comment is not None and comment.strip().startswith(("__BLOB", "__VECTOR"))


def directed(field: DataField, options: Mapping[str, str]) -> tuple[DataField, dict[str, str]]:
    """A new column with the type and the comment that its comment asks for, and the options that then name it.

    Raises:
        SchemaError: the comment is no such directive, though it begins as one, or does not fit the type.
    """
    if not is_directive(field.description):
        return field, dict(options)
    word, *rest = [part.strip() for part in str(field.description).split(";", 2 if _is_vector(field) else 1)]
    if word == _VECTOR:
        return _vector(field, rest, options)
    if word not in _BLOBS:
        raise SchemaError(
            f"the comment '{field.description}' of the column '{field.name}' begins as one that asks for a BLOB or "
            f"VECTOR column: known are {_KNOWN}"
        )
    key = _BLOBS[word]
    made = replace(field, type=_as_blob(field.name, field.type, key), description=_comment(rest))
    return made, with_name(options, key, field.name)


def directed_columns(fields: Sequence[DataField], options: Mapping[str, str]) -> tuple[list[DataField], dict[str, str]]:
    """The columns of a new table, and its options; see directed."""
    made, found = [], dict(options)
    for field in fields:
        column, found = directed(field, found)
        made.append(column)
    return made, found


def with_blobs(fields: Iterable[DataField], options: Mapping[str, str]) -> Iterator[DataField]:
    """The columns of a new table, those as BLOB that its options name (Java: SparkCatalog.toInitialSchema).

    Raises:
        SchemaError: an option names one of another type.
    """
    keys = (*_BLOBS.values(), *TableSettings.blob_descriptor_field.older)
    named = {name: key for key in keys for name in parse_list(options.get(key, ""))}
    for field in fields:
        key = named.get(field.name)
        yield field if key is None else replace(field, type=_as_blob(field.name, field.type, key))


def _as_blob(name: str, data_type: DataType, option: str) -> DataType:
    """The type of a column that an option makes a BLOB; of arrays and maps the elements and values become BLOBs.

    Raises:
        SchemaError: the column does not hold bytes.
    """
    if data_type.root in BINARIES or data_type.root is Root.BLOB:
        return DataType(Root.BLOB, nullable=data_type.nullable)
    inner = data_type.element if data_type.root in (Root.ARRAY, Root.MAP) else None
    if option == TableSettings.blob_field.key and inner is not None and inner.root in (*BINARIES, Root.BLOB):
        return replace(data_type, element=DataType(Root.BLOB, nullable=inner.nullable))
    raise SchemaError(
        f"the option '{option}' names the column '{name}', which has the type {type_sql(data_type)}: give it the type "
        "BINARY"
    )


def with_name(options: Mapping[str, str], key: str, name: str) -> dict[str, str]:
    """The options with one more column in the list of an option, which then has its newest name."""
    found = dict(options)
    names = list(parse_list(found.get(key, "")))
    older = TableSettings.blob_descriptor_field.older if key == TableSettings.blob_descriptor_field.key else ()
    for alias in older:
        names = names or list(parse_list(found.pop(alias, "")))
    found[key] = ",".join([*names, name])
    return found


def without_name(options: Mapping[str, str], name: str) -> dict[str, str]:
    """The options without a column that is dropped (Java: removeDroppedDirectiveOptions)."""
    keys = {*_BLOBS.values(), *TableSettings.blob_descriptor_field.older, VECTOR_FIELD}
    found = {}
    for key, value in options.items():
        if key in keys:
            value = ",".join(other for other in parse_list(value) if other != name)
            if not value:
                continue
        if key != VECTOR_LENGTH.format(name):
            found[key] = value
    return found


def _is_vector(field: DataField) -> bool:
    return str(field.description).strip().startswith(_VECTOR)


def _vector(field: DataField, rest: Sequence[str], options: Mapping[str, str]) -> tuple[DataField, dict[str, str]]:
    length = rest[0] if rest else ""
    if field.type.root is not Root.ARRAY or not length.isdecimal() or int(length) < 1:
        raise SchemaError(
            f"the comment '{field.description}' asks for a VECTOR column '{field.name}': give it the type ARRAY, and "
            f"write its number of elements behind it, such as {_VECTOR};128"
        )
    made = replace(field.type, root=Root.VECTOR, length=int(length))
    return replace(field, type=made, description=_comment(rest[1:])), with_name(options, VECTOR_FIELD, field.name)


def _comment(rest: Sequence[str]) -> str | None:
    return (rest[0] or None) if rest else None
