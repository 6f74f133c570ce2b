"""Changes of a schema from the JSON of the protocol (Java: SchemaChange)."""

from __future__ import annotations

from typing import Any

from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_field, parse_type
from paimon_spark.store.evolution import changes as c


def schema_of(json: dict[str, Any]) -> TableSchema:
    """A schema of a new table (Java: Schema)."""
    fields = tuple(parse_field(field) for field in json["fields"])
    highest = max((field.id for field in fields), default=-1)
    keys, partitions = tuple(json.get("primaryKeys") or ()), tuple(json.get("partitionKeys") or ())
    return TableSchema(0, fields, highest, partitions, keys, dict(json.get("options") or {}), json.get("comment"))


def change_of(json: dict[str, Any]) -> c.SchemaChange:
    """One change."""
    path = tuple(json.get("fieldNames") or ())
    match json["action"]:
        case "setOption":
            return c.SetOption(json["key"], json["value"])
        case "removeOption":
            return c.UnsetOption(json["key"])
        case "updateComment":
            return c.SetTableComment(json.get("comment"))
        case "addColumn":
            return c.AddColumn(path, parse_type(json["dataType"]), json.get("comment"), _position(json.get("move")))
        case "renameColumn":
            return c.RenameColumn(path, json["newName"])
        case "dropColumn":
            return c.DropColumn(path)
        case "updateColumnType":
            return c.UpdateType(path, parse_type(json["newDataType"]), json["keepNullability"])
        case "updateColumnNullability":
            return c.UpdateNullable(path, json["newNullability"])
        case "updateColumnComment":
            return c.UpdateComment(path, json["newComment"])
        case "updateColumnDefaultValue":
            return c.UpdateDefault(path, json["newDefaultValue"])
        case "updateColumnPosition":
            position = _position(json["move"])
            assert position is not None
            return c.MoveColumn((json["move"]["fieldName"],), position)
        case "dropPrimaryKey":
            return c.DropPrimaryKey()
    raise ValueError(f"no change of a schema: {json['action']}")


def _position(move: dict[str, Any] | None) -> c.Position | None:
    return None if move is None else c.Position(c.Place(move["type"]), move.get("referenceFieldName"))
