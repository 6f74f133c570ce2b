"""Schema changes made by the genuine Java, from our values; run where the JVM is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jpype

from paimon_spark.format.type_text import format_type
from paimon_spark.format.types import DataType
from paimon_spark.store.evolution import changes as c


def alter_all(paimon: Any, jobs: Sequence[tuple[str, Sequence[c.SchemaChange]]]) -> list[str | None]:
    """Alters tables, one schema each: the text of Java's error, or None where it made the change."""
    file_io, found = paimon.fs.local.LocalFileIO.create(), list[str | None]()
    for path, changes in jobs:
        schemas = paimon.schema.SchemaManager(file_io, paimon.fs.Path(path))
        try:
            made = jpype.java.util.ArrayList([_change(paimon, change) for change in changes])
            schemas.commitChanges(made)
            found.append(None)
        except jpype.JException as error:
            found.append(str(error))
    return found


def _change(paimon: Any, change: c.SchemaChange) -> Any:
    made = paimon.schema.SchemaChange
    match change:
        case c.AddColumn():
            move = _move(made, change.path[-1], change.position)
            return made.addColumn(_names(change.path), _type(paimon, change.type), change.comment, move)
        case c.RenameColumn():
            return made.renameColumn(_names(change.path), change.to)
        case c.DropColumn():
            return made.dropColumn(_names(change.path))
        case c.UpdateType():
            return made.updateColumnType(_names(change.path), _type(paimon, change.type), change.keep_nullable)
        case c.UpdateNullable():
            return made.updateColumnNullability(_names(change.path), change.nullable)
        case c.UpdateComment():
            return made.updateColumnComment(_names(change.path), change.comment)
        case c.UpdateDefault():
            return made.updateColumnDefaultValue(_names(change.path), change.default)
        case c.MoveColumn():
            return made.updateColumnPosition(_move(made, change.path[-1], change.position))
        case c.SetOption():
            return made.setOption(change.key, change.value)
        case c.UnsetOption():
            return made.removeOption(change.key)
        case c.SetTableComment():
            return made.updateComment(change.comment)
        case c.DropPrimaryKey():
            return made.dropPrimaryKey()


def _names(path: c.Path) -> Any:
    return jpype.JArray(jpype.JString)(list(path))


def _move(made: Any, name: str, position: c.Position | None) -> Any:
    if position is None:
        return None
    place = getattr(made.Move, position.place.lower())
    return place(name) if position.reference is None else place(name, position.reference)


def _type(paimon: Any, data_type: DataType) -> Any:
    text = json.dumps({"id": 0, "name": "f", "type": format_type(data_type)})
    return paimon.utils.JsonSerdeUtil.fromJson(text, paimon.types.DataField.class_).type()
