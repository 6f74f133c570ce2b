"""What a change of columns makes of them (Java: SchemaManager.generateTableSchema).

The official system refuses both for a column with an index, because the options then name no column.

Changes of a column's type, and of whether it may hold NULL (Java: SchemaManager, UpdateColumnType).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from paimon_spark.arrow.casts import cast_array
from paimon_spark.arrow.default_values import default_scalar
from paimon_spark.arrow.types import arrow_type
from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.options.table_settings import SchemaChangeSettings, TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.rules.column_directives import directed, is_directive, without_name
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.rules.supported import holds_blobs
from paimon_spark.format.rules.type_casts import may_cast
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, NESTED, STRINGS, TIMESTAMPS, DataField, DataType, Root, holds
from paimon_spark.store.evolution.changes import (
    AddColumn,
    ColumnChange,
    DropColumn,
    MoveColumn,
    Path,
    Place,
    Position,
    RenameColumn,
    UpdateComment,
    UpdateDefault,
    UpdateNullable,
    UpdateType,
    dotted,
)
from paimon_spark.store.evolution.nested_fields import Fields, edit_field, edit_fields, edit_type, field_at, find
from paimon_spark.store.evolution.option_changes import renamed_options

_INDEX_OPTIONS = (
    "pk-vector.index.columns",
    "pk-btree.index.columns",
    "pk-bitmap.index.columns",
    "pk-multivalue.index.columns",
    "pk-full-text.index.columns",
)
_NOT_NULL = SchemaChangeSettings.null_to_not_null_disabled.key
_EXPLICIT = SchemaChangeSettings.explicit_casting_disabled.key
_TIMES = TIMESTAMPS | {Root.DATE, Root.TIME}
_LONG_TEXT = DataType(Root.VARCHAR, length=MAX_LENGTH)


@dataclass(frozen=True)
class Draft:
    """A schema in the making."""

    fields: Fields
    highest_field_id: int
    partition_keys: tuple[str, ...]
    primary_keys: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None


def change_columns(draft: Draft, change: ColumnChange, before: TableSchema) -> Draft:
    """The draft after one change of its columns.

    Args:
        draft: after the changes before this one.
        change: names columns as they are spelled in the draft.
        before: the schema before all changes of the call, whose options give the rules.

    Raises:
        SchemaError: it does not fit; the message does not say which change it was.
        UnsupportedFeature: columns of a kind that this release does not write.
    """
    match change:
        case AddColumn():
            return _add(draft, change, before)
        case RenameColumn():
            return _rename(draft, change)
        case DropColumn():
            return _drop(draft, change)
        case UpdateType():
            return _update_type(draft, change, before)
        case UpdateNullable():
            return _update_nullable(draft, change, before)
        case UpdateComment():
            _refuse_directive(change.comment)
            edited = edit_field(draft.fields, change.path, lambda f: replace(f, description=change.comment))
            return replace(draft, fields=edited)
        case UpdateDefault():
            return replace(draft, fields=_with_default(draft.fields, change))
        case MoveColumn():
            parent, name = change.path[:-1], change.path[-1]
            moved = edit_fields(draft.fields, parent, lambda f: _moved(f, name, change.position, parent))
            return replace(draft, fields=moved)


def _add(draft: Draft, change: AddColumn, before: TableSchema) -> Draft:
    parent, name = change.path[:-1], change.path[-1]
    if not change.type.nullable:
        raise SchemaError("a new column cannot be NOT NULL: the rows that are there have NULL in it")
    if parent and is_directive(change.comment):
        raise SchemaError(
            f"the comment '{change.comment}' asks for a BLOB or VECTOR column, and '{dotted(change.path)}' is "
            "nested in another one"
        )
    asked, options = directed(DataField(0, name, change.type, change.comment), draft.options)
    (field,), highest = assign_field_ids([asked], draft.highest_field_id + 1)
    ahead = frozenset[str]()
    if not parent and TableSettings(before.options).changes.column_before_partition:
        ahead = frozenset(draft.partition_keys)

    def add(fields: Fields) -> Fields:
        _check_free(fields, name, parent)
        if change.position is not None:
            return _placed(fields, field, change.position, parent)
        at = next((i for i, f in enumerate(fields) if f.name in ahead), len(fields))
        return (*fields[:at], field, *fields[at:])

    return replace(draft, fields=edit_fields(draft.fields, parent, add), highest_field_id=highest, options=options)


def _rename(draft: Draft, change: RenameColumn) -> Draft:
    parent, name = change.path[:-1], change.path[-1]
    if not parent:
        _refuse_keys(name, "partition", draft.partition_keys)
        _refuse_special(draft, name)

    def rename(fields: Fields) -> Fields:
        field = find(fields, name, parent)
        _check_free([f for f in fields if f is not field], change.to, parent)
        if change.to == name:
            raise SchemaError(f"column '{dotted(change.path)}' has this name already")
        return tuple(replace(f, name=change.to) if f is field else f for f in fields)

    renamed = replace(draft, fields=edit_fields(draft.fields, parent, rename))
    if parent:
        return renamed
    return replace(
        renamed,
        primary_keys=tuple(change.to if key == name else key for key in draft.primary_keys),
        options=with_renamed_indexes(renamed_options(draft.options, name, change.to), name, change.to),
    )


def _drop(draft: Draft, change: DropColumn) -> Draft:
    parent, name = change.path[:-1], change.path[-1]
    if change.if_exists and field_at(draft.fields, change.path) is None:
        return draft
    if not parent:
        _refuse_keys(name, "partition", draft.partition_keys)
        _refuse_keys(name, "primary key", draft.primary_keys)
        _refuse_indexed(draft, name)

    def drop(fields: Fields) -> Fields:
        rest = tuple(f for f in fields if f is not find(fields, name, parent))
        if not rest:
            what = f"'{dotted(parent)}'" if parent else "the table"
            raise SchemaError(f"column '{dotted(change.path)}' is the only one of {what}; add another one first")
        return rest

    options = draft.options if parent else without_name(without_indexes(draft.options, name), name)
    return replace(draft, fields=edit_fields(draft.fields, parent, drop), options=options)


def _update_type(draft: Draft, change: UpdateType, before: TableSchema) -> Draft:
    name = change.path[0]
    if len(change.path) == 1:
        _refuse_keys(name, "partition", draft.partition_keys)
        _refuse_keys(name, "primary key", draft.primary_keys)
        _refuse_special(draft, name)

    rules = TableSettings(before.options).changes

    def change_type(source: DataType) -> DataType:
        return changed_type(
            dotted(change.path),
            source,
            change.type,
            change.keep_nullable,
            allow_explicit=not rules.explicit_casting_disabled,
            allow_not_null=not rules.null_to_not_null_disabled,
        )

    fields = edit_type(draft.fields, change.path, change_type)
    field = field_at(fields, change.path)
    if field is not None and field.default_value is not None:
        default_scalar(field)  # a default that the new type cannot read would fail every write
    return replace(draft, fields=fields)


def _update_nullable(draft: Draft, change: UpdateNullable, before: TableSchema) -> Draft:
    if change.nullable and len(change.path) == 1:
        _refuse_keys(change.path[0], "primary key", draft.primary_keys)
    allow = not TableSettings(before.options).changes.null_to_not_null_disabled
    fields = edit_type(
        draft.fields, change.path, lambda t: changed_nullable(dotted(change.path), t, change.nullable, allow)
    )
    return replace(draft, fields=fields)


def _with_default(fields: Fields, change: UpdateDefault) -> Fields:
    if len(change.path) > 1:
        raise UnsupportedFeature(f"'{dotted(change.path)}': what is nested in a column has no default value")

    def with_default(field: DataField) -> DataField:
        changed = replace(field, default_value=change.default)
        if change.default is not None:
            default_scalar(changed)
        return changed

    return edit_field(fields, change.path, with_default)


# ------------------------------------------------------------------------------------------------------------- places


def _placed(fields: Fields, field: DataField, position: Position, parent: Path) -> Fields:
    """The fields and one more, at a place among them."""
    match position.place:
        case Place.FIRST:
            at = 0
        case Place.LAST:
            at = len(fields)
        case _:
            reference = position.reference or ""
            at = fields.index(find(fields, reference, parent)) + (position.place is Place.AFTER)
    return (*fields[:at], field, *fields[at:])


def _moved(fields: Fields, name: str, position: Position, parent: Path) -> Fields:
    field = find(fields, name, parent)
    ends = {Place.FIRST: fields[0], Place.LAST: fields[-1]}
    target = ends.get(position.place)
    if target is None:
        target = find(fields, position.reference or "", parent)
    if target is field:
        raise SchemaError(f"column '{dotted((*parent, name))}' cannot move {position}: it is that column itself")
    return _placed(tuple(f for f in fields if f is not field), field, position, parent)


# ------------------------------------------------------------------------------------------------------------- checks


def _check_free(fields: Fields | list[DataField], name: str, parent: Path) -> None:
    if any(field.name == name for field in fields):
        raise SchemaError(f"there is a column '{dotted((*parent, name))}' already")


def _refuse_keys(name: str, what: str, keys: tuple[str, ...]) -> None:
    if name in keys:
        raise SchemaError(
            f"'{name}' is a column of the {what}, by which the stored rows are kept; create another table, and copy "
            "the rows: CREATE TABLE ... AS SELECT"
        )


def _refuse_special(draft: Draft, name: str) -> None:
    """Columns with an index keep their name and type, and so do those that may have files of their own."""
    _refuse_indexed(draft, name)
    field = field_at(draft.fields, (name,))
    if field is not None and holds_blobs(field.type):
        raise UnsupportedFeature(
            f"column '{name}' has the type {type_sql(field.type)}, and BLOB columns keep their name and type (so they "
            "do in the official system); add another column, and drop this one"
        )
    if field is not None and holds(field.type, lambda part: part.root is Root.VECTOR):
        raise UnsupportedFeature(
            f"column '{name}' has the type {type_sql(field.type)}, which this release does not change; use the "
            "official system"
        )


def _refuse_indexed(draft: Draft, name: str) -> None:
    settings = TableSettings(draft.options)
    for key in _INDEX_OPTIONS:
        if name in parse_list(settings.get(key, "")):
            raise SchemaError(f"the option '{key}' makes an index of column '{name}'; drop the index first")


def _refuse_directive(comment: str | None) -> None:
    if is_directive(comment):
        raise UnsupportedFeature(
            f"the comment '{comment}' asks for a BLOB or VECTOR column, and only a new column becomes one; add a "
            "column with this comment"
        )


_LIST = re.compile(r"file-index\.[a-z-]+\.columns")
_OF_COLUMN = re.compile(r"(file-index\.[a-z-]+\.)(.+)(\.[a-z-]+)")


def with_renamed_indexes(options: Mapping[str, str], old: str, new: str) -> dict[str, str]:
    """The options with another name for a column with indexes, or with indexes of keys of its map."""
    return _edited(options, lambda name: new + name[len(old) :] if _is_of(name, old) else name)


def without_indexes(options: Mapping[str, str], column: str) -> dict[str, str]:
    """The options without the indexes of a column."""
    return _edited(options, lambda name: None if _is_of(name, column) else name)


def _is_of(name: str, column: str) -> bool:
    return name == column or (name.startswith(f"{column}[") and name.endswith("]"))


def _edited(options: Mapping[str, str], edit: Callable[[str], str | None]) -> dict[str, str]:
    """The options in which each name of an indexed column is edited; None takes it out."""
    found: dict[str, str] = {}
    for key, value in options.items():
        if _LIST.fullmatch(key):
            names = [edit(name.strip()) for name in value.split(",")]
            left = ",".join(name for name in names if name is not None)
            if left:
                found[key] = left
        elif match := _OF_COLUMN.fullmatch(key):
            name = edit(match[2])
            if name is not None:
                found[f"{match[1]}{name}{match[3]}"] = value
        else:
            found[key] = value
    return found


def changed_type(
    name: str, source: DataType, target: DataType, keep_nullable: bool, allow_explicit: bool, allow_not_null: bool
) -> DataType:
    """The type that a column has after a change.

    Args:
        name: of the column, for messages.
        source: its type.
        target: what is asked for.
        keep_nullable: whether it may hold NULL stays as it is.
        allow_explicit: also changes that may lose information.
        allow_not_null: a column that may hold NULL may be made NOT NULL.

    Raises:
        SchemaError: no rule lets the one type become the other.
        UnsupportedFeature: of nested types, or blobs.
    """
    if keep_nullable:
        target = target.with_nullable(source.nullable)
    else:
        changed_nullable(name, source, target.nullable, allow_not_null)
    if source.with_nullable(True) == target.with_nullable(True):
        return target
    have, want = type_sql(source.with_nullable(True)), type_sql(target.with_nullable(True))
    if holds_blobs(source) or holds_blobs(target):
        raise UnsupportedFeature(f"column '{name}' cannot change from {have} to {want}: BLOB columns keep their type")
    if source.root in NESTED or target.root in NESTED:
        raise UnsupportedFeature(
            f"column '{name}' cannot change from {have} to {want} as a whole; change what is in it, by the path of a "
            "field, of '.element' or '.value'"
        )
    if not may_cast(source, target, allow_explicit):
        hint = ""
        if may_cast(source, target, allow_explicit=True):
            hint = f"; it may lose information, which the table option '{_EXPLICIT}' = 'false' allows"
        raise SchemaError(f"column '{name}' cannot change from {have} to {want}{hint}")
    _check_cast(name, source, target)
    return target


def changed_nullable(name: str, source: DataType, nullable: bool, allow_not_null: bool) -> DataType:
    """The type that may hold NULL or may not.

    Raises:
        SchemaError: it may hold NULL now, and the table does not let that change.
    """
    if source.nullable and not nullable and not allow_not_null:
        raise SchemaError(
            f"column '{name}' may hold NULL, and rows may have it; the table option '{_NOT_NULL}' = 'false' "
            "allows to make it NOT NULL, if it has none"
        )
    return source.with_nullable(nullable)


def _check_cast(name: str, source: DataType, target: DataType) -> None:
    """Rows that are there are cast when they are read (Java: CastExecutors.resolve)."""
    try:
        if source.root in _TIMES and target.root in STRINGS and target != _LONG_TEXT:
            raise UnsupportedFeature("times are cast to STRING alone, and only where it may be NULL")
        cast_array(pa.nulls(0, arrow_type(source)), source, target)
    except UnsupportedFeature:
        raise SchemaError(
            f"column '{name}' cannot change from {type_sql(source.with_nullable(True))} to "
            f"{type_sql(target.with_nullable(True))}: there is no cast for the rows that the table has"
        ) from None
