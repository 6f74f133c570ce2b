"""Schema files (format section 2; Java: SchemaSerializer)."""

from __future__ import annotations

from typing import Any

from paimon_spark.errors import CorruptFile, SchemaError, UnsupportedFeature
from paimon_spark.format.json_text import format_json, parse_json_object
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import format_field, parse_field
from paimon_spark.format.types import DataField

CURRENT_VERSION = 3
_KNOWN = frozenset(
    {"version", "id", "fields", "highestFieldId", "partitionKeys", "primaryKeys", "options", "comment", "timeMillis"}
)


def decode_schema(data: bytes, where: str) -> TableSchema:
    """The schema in the bytes of one schema file; where names the file in errors.

    Defaults of old releases become explicit options: up to version 1 ``bucket=1``, up to version 2 ``file.format=orc``.

    Raises:
        CorruptFile: not a schema file, or a partition or primary key names no column.
        UnsupportedFeature: the version or a type is newer than this release knows.
    """
    json = parse_json_object(data, where)
    version = json.integer("version") if json.get("version") is not None else 1
    if version > CURRENT_VERSION:
        raise UnsupportedFeature(
            f"cannot read {where}: schema version {version} is newer than {CURRENT_VERSION}, the last one this release "
            "knows; use a newer release of paimon_spark"
        )
    options = json.optional_text_map("options") or {}
    if version <= 1:
        options.setdefault("bucket", "1")
    if version <= 2:
        options.setdefault("file.format", "orc")
    fields = _decode_fields(json.array("fields"), where)
    for key in ("partitionKeys", "primaryKeys"):
        json.array(key)  # required: without its keys, the rows of a table would be read differently
    schema = TableSchema(
        id=json.integer("id"),
        fields=fields,
        highest_field_id=json.integer("highestFieldId"),
        partition_keys=json.texts("partitionKeys"),
        primary_keys=json.texts("primaryKeys"),
        options=options,
        comment=json.optional_text("comment"),
        time_millis=json.optional_integer("timeMillis") or 0,
        version=version,
        unknown=json.others(_KNOWN),
    )
    names = set(schema.names)
    if len(names) != len(fields):
        raise CorruptFile(f"cannot read {where}: it names a column twice: {', '.join(schema.names)}")
    if len({field.id for field in fields}) != len(fields):
        raise CorruptFile(f"cannot read {where}: two columns have one id: {[(f.name, f.id) for f in fields]}")
    for key in (*schema.partition_keys, *schema.primary_keys):
        if key not in names:
            raise CorruptFile(f"cannot read {where}: key column '{key}' is not a column ({', '.join(schema.names)})")
    return schema


def _decode_fields(entries: list[Any], where: str) -> tuple[DataField, ...]:
    try:
        return tuple(parse_field(entry) for entry in entries)
    except SchemaError as error:
        raise CorruptFile(f"cannot read {where}: {error}") from None
    except UnsupportedFeature as error:
        raise UnsupportedFeature(f"cannot read {where}: {error}") from None


def encode_schema(schema: TableSchema) -> bytes:
    """The bytes of the schema file, laid out as in Java. A comment of None is left out: Java reads null as "null"."""
    json: dict[str, Any] = {
        "version": schema.version,
        "id": schema.id,
        "fields": [format_field(f) for f in schema.fields],
        "highestFieldId": schema.highest_field_id,
        "partitionKeys": schema.partition_keys,
        "primaryKeys": schema.primary_keys,
        "options": schema.options,
    }
    if schema.comment is not None:
        json["comment"] = schema.comment
    json["timeMillis"] = schema.time_millis
    return format_json({**json, **schema.unknown}).encode("utf-8")
