"""The schema that changes make of another: a pure function (Java: SchemaManager.generateTableSchema)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from paimon_spark.errors import OptionError, PaimonError, SchemaError, UnsupportedFeature
from paimon_spark.format.options.catalogue import known_key
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_list
from paimon_spark.format.rules.new_tables import check_written_compressions, validate_table
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.format.schema import CURRENT_VERSION, TableSchema
from paimon_spark.merge.engines.choice import engine_for
from paimon_spark.store.evolution.changes import (
    AddColumn,
    ColumnChange,
    DropColumn,
    DropPrimaryKey,
    MoveColumn,
    Position,
    RenameColumn,
    SchemaChange,
    SetOption,
    SetTableComment,
    UnsetOption,
    dotted,
)
from paimon_spark.store.evolution.column_changes import Draft, change_columns
from paimon_spark.store.evolution.nested_fields import Fields, edit_fields, spelled
from paimon_spark.store.evolution.option_changes import check_set, check_unset
from paimon_spark.store.metadata.table_options import resolve_properties


def changed_schema(
    current: TableSchema,
    changes: Sequence[SchemaChange],
    has_snapshots: Callable[[], bool],
    case_sensitive: bool = True,
) -> TableSchema:
    """The schema with changes made to it, one after the other.

    Args:
        current: the latest schema.
        changes: each sees what those before it have made.
        has_snapshots: whether the table has or had rows; asked only where a rule depends on it.
        case_sensitive: False: columns are found in any letter case, and no name may differ from another in its case
            alone.

    Returns:
        A schema with the same id and time as the current one; equal to it if the changes change nothing.

    Raises:
        SchemaError, OptionError: a change does not fit, or the result breaks a rule of tables; the message says which.
        UnsupportedFeature: this release could not write to the table that it wrote to before.
    """
    draft = Draft(
        current.fields,
        current.highest_field_id,
        current.partition_keys,
        current.primary_keys,
        dict(current.options),
        current.comment,
    )
    for number, change in enumerate(changes):
        try:
            draft = _changed(draft, change, current, has_snapshots, case_sensitive)
        except PaimonError as error:
            gone = _gone_before(change, changes[:number])
            raise _about(f"cannot {change}", error, gone and f"; it comes after '{gone}' of the same call") from None
    schema = _schema_of(draft, current)
    if schema != current:
        _check(schema, current)
    return schema


def _gone_before(change: SchemaChange, before: Sequence[SchemaChange]) -> str:
    """The earlier change of the same call that took away the column, or what it is in; empty: there is none."""
    path = dotted(getattr(change, "path", ())).lower()
    for earlier in before:
        if isinstance(earlier, DropColumn | RenameColumn) and f"{path}.".startswith(f"{dotted(earlier.path)}.".lower()):
            return str(earlier)
    return ""


def _changed(
    draft: Draft, change: SchemaChange, current: TableSchema, has_snapshots: Callable[[], bool], case_sensitive: bool
) -> Draft:
    match change:
        case SetOption():
            return _set_option(draft, change, current, has_snapshots)
        case UnsetOption():
            key = known_key(change.key, {f.name.lower(): f.name for f in draft.fields}) or change.key
            check_unset(current, key, has_snapshots())
            return replace(draft, options={k: v for k, v in draft.options.items() if k not in (key, change.key)})
        case SetTableComment():
            return replace(draft, comment=change.comment)
        case DropPrimaryKey():
            if has_snapshots():
                raise SchemaError("a table that has rows keeps its primary key; create another table and copy the rows")
            return replace(draft, primary_keys=())
    return change_columns(draft, change if case_sensitive else _respelled(draft.fields, change), current)


def _set_option(draft: Draft, change: SetOption, current: TableSchema, has_snapshots: Callable[[], bool]) -> Draft:
    (key,) = resolve_properties({change.key: change.value}, [field.name for field in draft.fields])
    if not check_set(current, key, change.value, has_snapshots()):
        return draft
    if key == TableSettings.primary_key.key:
        if draft.primary_keys:
            raise SchemaError(f"the table has the primary key ({', '.join(draft.primary_keys)}); drop it first")
        return replace(draft, primary_keys=parse_list(change.value))
    if key == TableSettings.partition.key:
        if draft.partition_keys:
            raise SchemaError(f"the table is partitioned by {', '.join(draft.partition_keys)}, which cannot change")
        return replace(draft, partition_keys=parse_list(change.value))
    return replace(draft, options={**draft.options, key: change.value})


def _schema_of(draft: Draft, current: TableSchema) -> TableSchema:
    """The columns of a primary key become NOT NULL, as in every table that has one."""
    fields = tuple(
        replace(field, type=field.type.with_nullable(False)) if field.name in draft.primary_keys else field
        for field in draft.fields
    )
    changed = replace(
        current,
        fields=fields,
        highest_field_id=draft.highest_field_id,
        partition_keys=draft.partition_keys,
        primary_keys=draft.primary_keys,
        options=dict(draft.options),
        comment=draft.comment,
    )
    return changed if changed == current else replace(changed, version=CURRENT_VERSION)


def _check(schema: TableSchema, current: TableSchema) -> None:
    validate_table(schema, "change the schema")
    settings = TableSettings(schema.options)
    if schema.primary_keys:
        try:
            engine_for(schema, settings)
        except PaimonError as error:
            raise _about("cannot change the schema", error) from None
    try:
        _check_written(current)
    except UnsupportedFeature:
        return  # it is another system's table already
    _check_written(schema)


def _check_written(schema: TableSchema) -> None:
    settings = TableSettings(schema.options)
    check_writable(schema, settings)
    try:
        check_written_compressions(schema, settings)
    except UnsupportedFeature as error:
        raise _about("cannot change the schema", error) from None


# ------------------------------------------------------------------------------------------------------- letter cases


def _respelled(fields: Fields, change: ColumnChange) -> ColumnChange:
    """A change of columns that names them as they are spelled in the table."""
    match change:
        case AddColumn():
            parent = spelled(fields, change.path[:-1])
            _check_alike(fields, parent, change.path[-1])
            position = _respelled_position(fields, parent, change.position)
            return replace(change, path=(*parent, change.path[-1]), position=position)
        case RenameColumn():
            path = spelled(fields, change.path)
            if change.to.lower() != path[-1].lower():
                _check_alike(fields, path[:-1], change.to)
            return replace(change, path=path)
        case MoveColumn():
            path = spelled(fields, change.path)
            position = _respelled_position(fields, path[:-1], change.position)
            return replace(change, path=path, position=position or change.position)
    return replace(change, path=spelled(fields, change.path))


def _respelled_position(fields: Fields, parent: tuple[str, ...], position: Position | None) -> Position | None:
    if position is None or position.reference is None:
        return position
    return replace(position, reference=spelled(fields, (*parent, position.reference))[-1])


def _check_alike(fields: Fields, parent: tuple[str, ...], name: str) -> None:
    def check(beside: Fields) -> Fields:
        alike = next((field.name for field in beside if field.name.lower() == name.lower()), None)
        if alike is not None:
            raise SchemaError(f"there is a column '{dotted((*parent, alike))}' already")
        return beside

    edit_fields(fields, parent, check)


def _about(doing: str, error: PaimonError, more: str = "") -> PaimonError:
    kinds = (OptionError, UnsupportedFeature)
    kind = next((kind for kind in kinds if isinstance(error, kind)), SchemaError)
    return kind(f"{doing}: {error}{more}")
