"""What is different between two schemas of a table, as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.evolution.changes import Path, dotted


def difference(old: TableSchema, new: TableSchema) -> tuple[str, ...]:
    """The lines, columns first: ``+ note STRING``, ``- tmp INT``, ``~ n INT -> BIGINT``; (): both say the same.

    Columns are the same by their ids, so that a new name is no new column. Ids, versions and times are left out.
    """
    lines = [*_fields(old.fields, new.fields, ())]
    for what, before, after in (
        ("primary key", ",".join(old.primary_keys), ",".join(new.primary_keys)),
        ("partition", ",".join(old.partition_keys), ",".join(new.partition_keys)),
        ("comment", old.comment, new.comment),
    ):
        if before != after:
            lines.append(f"~ {what}: {_text(before)} -> {_text(after)}")
    for key in sorted({*old.options, *new.options}):
        before, after = old.options.get(key), new.options.get(key)
        if before is None:
            lines.append(f"+ option {key} = {after}")
        elif after is None:
            lines.append(f"- option {key} = {before}")
        elif before != after:
            lines.append(f"~ option {key} = {before} -> {after}")
    return tuple(lines)


def _fields(old: tuple[DataField, ...], new: tuple[DataField, ...], parent: Path) -> Iterator[str]:
    before = {field.id: field for field in old}
    after = {field.id for field in new}
    for field in old:
        if field.id not in after:
            yield f"- {_column(field, parent)}"
    for field in new:
        was = before.get(field.id)
        if was is None:
            yield f"+ {_column(field, parent)}{_place(new, field)}"
        else:
            yield from _field(was, field, (*parent, field.name))
    kept_before = [f.id for f in old if f.id in after]
    kept_after = [f.id for f in new if f.id in before]
    if kept_before != kept_after:
        where = f" of {dotted(parent)}" if parent else ""
        yield f"~ order{where}: {', '.join(f.name for f in new)}"


def _field(was: DataField, now: DataField, path: Path) -> Iterator[str]:
    name = dotted(path)
    if was.name != now.name:
        yield f"~ {dotted((*path[:-1], was.name))} is now called {name}"
    if was.description != now.description:
        yield f"~ {name} comment: {_text(was.description)} -> {_text(now.description)}"
    if was.default_value != now.default_value:
        yield f"~ {name} default: {_text(was.default_value)} -> {_text(now.default_value)}"
    yield from _types(was.type, now.type, path)


def _types(was: DataType, now: DataType, path: Path) -> Iterator[str]:
    if was == now:
        return
    if was.root is not now.root or was.root not in (Root.ROW, Root.ARRAY, Root.MAP):
        yield f"~ {dotted(path)} {type_sql(was)} -> {type_sql(now)}"
        return
    if was.nullable != now.nullable:
        yield f"~ {dotted(path)} is {'nullable' if now.nullable else 'NOT NULL'} now"
    if was.root is Root.ROW:
        yield from _fields(was.fields, now.fields, path)
    elif was.root is Root.ARRAY:
        yield from _types(was.inner, now.inner, (*path, "element"))
    else:
        yield from _types(was.key_type, now.key_type, (*path, "key"))
        yield from _types(was.inner, now.inner, (*path, "value"))


def _column(field: DataField, parent: Path) -> str:
    comment = f" COMMENT '{field.description}'" if field.description else ""
    return f"{dotted((*parent, field.name))} {type_sql(field.type)}{comment}"


def _place(fields: tuple[DataField, ...], field: DataField) -> str:
    at = fields.index(field)
    if at == len(fields) - 1:
        return ""
    return " FIRST" if at == 0 else f" AFTER {fields[at - 1].name}"


def _text(value: str | None) -> str:
    return value or "none"
