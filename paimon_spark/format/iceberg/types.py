"""Types, schemas and single values in Iceberg's form (Java: IcebergDataField, IcebergSchema, IcebergConversions)."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import FLOATS, UNORDERED, DataField, DataType, Root

_NESTED_ID_BASE = 536870911  # as in the data files (Java: SpecialFields)
_NESTED_ID_STEP = 1024
_NAMES = {
    Root.BOOLEAN: "boolean", Root.TINYINT: "int", Root.SMALLINT: "int", Root.INT: "int", Root.BIGINT: "long",
    Root.FLOAT: "float", Root.DOUBLE: "double", Root.CHAR: "string", Root.VARCHAR: "string", Root.BINARY: "binary",
    Root.VARBINARY: "binary", Root.DATE: "date", Root.TIME: "time", Root.TIMESTAMP: "timestamp",
    Root.TIMESTAMP_LTZ: "timestamptz",
}  # fmt: skip
_PACKED = {
    "boolean": "<?", "int": "<i", "long": "<q", "float": "<f", "double": "<d", "date": "<i", "time": "<q",
    "timestamp": "<q", "timestamptz": "<q",
}  # fmt: skip
_WIDER = {("int", "long"), ("float", "double")}


def iceberg_schema(schema: TableSchema) -> dict[str, Any]:
    """A schema as the metadata file has it."""
    return {"type": "struct", "schema-id": schema.id, "fields": [_field(field) for field in schema.fields]}


def _field(field: DataField) -> dict[str, Any]:
    found = {
        "id": field.id,
        "name": field.name,
        "required": not field.type.nullable,
        "type": iceberg_type(field.type, field.id),
    }
    return found if field.description is None else {**found, "doc": field.description}


def iceberg_type(data_type: DataType, row_id: int, depth: int = 0) -> Any:
    """A type in JSON: a text, or the description of a nested one.

    Args:
        data_type: one that Iceberg has (format/rules/iceberg_tables.py).
        row_id: the id of the field of a ROW around the type.
        depth: how many types are between.
    """
    root = data_type.root
    if root is Root.DECIMAL:
        return f"decimal({data_type.precision}, {data_type.scale})"
    if root is Root.ROW:
        return {"type": "struct", "fields": [_field(field) for field in data_type.fields]}
    if root not in (Root.ARRAY, Root.MAP, Root.MULTISET):
        return _NAMES[root]
    depth += 1
    above = _NESTED_ID_BASE + _NESTED_ID_STEP * row_id + depth
    inner = data_type.inner
    if root is Root.ARRAY:
        element = iceberg_type(inner, row_id, depth)
        return {"type": "list", "element-id": above, "element-required": not inner.nullable, "element": element}
    counted = root is Root.MULTISET
    key = inner if counted else data_type.key_type
    return {
        "type": "map",
        "key-id": _NESTED_ID_BASE - _NESTED_ID_STEP * row_id - depth,
        "key": iceberg_type(key, row_id, depth),
        "value-id": above,
        "value-required": counted or not inner.nullable,
        "value": "int" if counted else iceberg_type(inner, row_id, depth),
    }


def is_promoted(written: DataType, read: DataType) -> bool:
    """True if readers of Iceberg read values of one type as another one: the same, or a promotion of its spec."""
    one, other = iceberg_type(written, 0), iceberg_type(read, 0)
    if Root.DECIMAL in (written.root, read.root):
        return written.root is read.root and written.scale == read.scale and _digits(written) <= _digits(read)
    return bool(one == other or (isinstance(one, str) and isinstance(other, str) and (one, other) in _WIDER))


def _digits(data_type: DataType) -> int:
    return data_type.precision or 0


def has_bounds(data_type: DataType) -> bool:
    """True if manifests tell the least and greatest values of columns of a type."""
    return data_type.root not in UNORDERED


def partition_value(value: Any, data_type: DataType) -> Any:
    """A value of a partition column (internal) as manifests hold it: times in microseconds."""
    if value is None:
        return None
    return value // 1000 if data_type.root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) else value


def single_value(value: Any, data_type: DataType) -> bytes:
    """A value (internal) in Iceberg's binary form of single values."""
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(data_type.scale or 0))
        return unscaled.to_bytes((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1, "big", signed=True)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    if data_type.root is Root.TIME:
        value *= 1000
    return struct.pack(_PACKED[_NAMES[data_type.root]], partition_value(value, data_type))


def bound_pair(low: Any, high: Any, data_type: DataType) -> tuple[bytes, bytes] | None:
    """The least and greatest value in binary form; None: they are unknown, or not in Iceberg's order.

    Iceberg has no NaN in bounds, and takes -0.0 for less than 0.0.
    """
    if low is None or high is None:
        return None
    if data_type.root in FLOATS:
        if math.isnan(low) or math.isnan(high):
            return None
        low, high = (-0.0 if low == 0 else low), (0.0 if high == 0 else high)
    return single_value(low, data_type), single_value(high, data_type)


def value_reader(data_type: DataType) -> Callable[[bytes], Any]:
    """Reads a partition value of the binary form, as ``partition_value`` makes it."""
    name = _NAMES[data_type.root]
    if name == "string":
        return lambda data: data.decode()
    if name == "binary":
        return bytes
    return lambda data: struct.unpack(_PACKED[name], data)[0]


def partition_spec(schema: TableSchema) -> dict[str, Any]:
    """The partition spec of a table: its partition columns, as they are."""
    fields = [
        {"name": field.name, "transform": "identity", "source-id": field.id, "field-id": 1000 + i}
        for i, field in enumerate(schema.partition_fields)
    ]
    return {"spec-id": 0, "fields": fields}


def changed_fields(written: TableSchema, read: TableSchema) -> Mapping[int, tuple[DataField, DataField]]:
    """The columns, by id, whose values of one schema readers of Iceberg cannot read in the type of another one."""
    now = {field.id: field for field in read.fields}
    pairs = ((field, now[field.id]) for field in written.fields if field.id in now)
    return {one.id: (one, other) for one, other in pairs if not is_promoted(one.type, other.type)}
