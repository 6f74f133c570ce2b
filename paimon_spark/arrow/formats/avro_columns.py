"""Columns between Arrow arrays and the plain Python values that Avro encodes, and the Avro schema of a table.

Source: format section 4.6; Java: AvroSchemaConverter. Paimon swaps the logical types of TIMESTAMP and TIMESTAMP_LTZ
compared with Avro's meaning, so only their unit is used. Values: integers for dates and times, bytes for decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType, expand_schema
from pyarrow import types as pt

from paimon_spark.arrow.conform import conform, rescale
from paimon_spark.arrow.types import NANOS_PER_UNIT, arrow_type
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import STRINGS, TIMESTAMPS, DataField, DataType, Root

_RECORD = "org.apache.paimon.avro.generated.record"
_COUNT = DataType(Root.INT)
_PLAIN = {
    Root.BOOLEAN: "boolean", Root.TINYINT: "int", Root.SMALLINT: "int", Root.INT: "int", Root.BIGINT: "long",
    Root.FLOAT: "float", Root.DOUBLE: "double", Root.CHAR: "string", Root.VARCHAR: "string", Root.BINARY: "bytes",
    Root.VARBINARY: "bytes", Root.BLOB: "bytes",
}  # fmt: skip
_LOGICAL_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}


def avro_schema(fields: Sequence[DataField]) -> dict[str, Any]:
    """The Avro schema of a data file with these columns, as Java writes it.

    Raises:
        UnsupportedFeature: a type that Avro cannot hold; the message names the column.
    """
    used: set[str] = set()
    record: dict[str, Any] = {"type": "record", "name": _RECORD, "fields": []}
    for field in fields:
        try:
            record["fields"].append(_schema_field(field, f"{_RECORD}_{field.name}", used))
        except UnsupportedFeature as error:
            raise UnsupportedFeature(f"column '{field.name}': {error}") from None
    return record


def _schema_field(field: DataField, path: str, used: set[str]) -> dict[str, Any]:
    letters = field.name.replace("_", "a")
    if not (letters.isalnum() and not letters[0].isdigit()):
        raise UnsupportedFeature(
            f"Avro files allow letters, digits and _ in names, not '{field.name}': use another file.format"
        )
    described = {"name": field.name, "type": _schema_type(field.type, path, used)}
    return {**described, "default": None} if field.type.nullable else described


def _schema_type(data_type: DataType, path: str, used: set[str]) -> Any:
    plain = _not_null_type(data_type, path, used)
    return ["null", plain] if data_type.nullable else plain


def _not_null_type(data_type: DataType, path: str, used: set[str]) -> Any:
    root = data_type.root
    if root in _PLAIN:
        return _PLAIN[root]
    if root is Root.VARIANT:
        raise UnsupportedFeature("Avro files cannot hold VARIANT: use the file.format parquet")
    if root is Root.DECIMAL:
        digits = {"precision": data_type.precision or 10, "scale": data_type.scale or 0}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if root is Root.DATE:
        return {"type": "int", "logicalType": "date"}
    if root is Root.TIME:
        _check_precision(data_type, 3)
        return {"type": "int", "logicalType": "time-millis"}
    if root in TIMESTAMPS:
        _check_precision(data_type, 6)
        unit = "millis" if arrow_type(data_type).unit == "ms" else "micros"
        local = "local-" if root is Root.TIMESTAMP_LTZ else ""
        return {"type": "long", "logicalType": f"{local}timestamp-{unit}"}
    if root in (Root.ARRAY, Root.VECTOR):
        return {"type": "array", "items": _schema_type(data_type.inner, path, used)}
    if root is Root.ROW:
        children = [_schema_field(field, f"{path}_{field.name}", used) for field in data_type.fields]
        return {"type": "record", "name": _unused(path, used), "fields": children}
    key, value = _entry_types(data_type)
    if key.root in STRINGS:
        return {"type": "map", "values": _schema_type(value, path, used)}
    entry = [
        {"name": "key", "type": _schema_type(key, f"{path}_key", used)},
        _schema_field(DataField(0, "value", value), f"{path}_value", used),
    ]
    record = {"type": "record", "name": _unused(path, used), "fields": entry}
    return {"type": "array", "items": record, "logicalType": "map"}


def _check_precision(data_type: DataType, limit: int) -> None:
    if (data_type.precision or 0) > limit:
        raise UnsupportedFeature(
            f"Avro files cannot hold {data_type.root} of precision {data_type.precision}, only up to {limit}: "
            "use another file.format"
        )


def _entry_types(data_type: DataType) -> tuple[DataType, DataType]:
    """Key and value types of a MAP, or of a MULTISET as a map from element to count."""
    if data_type.root is Root.MULTISET:
        return data_type.inner, _COUNT
    return data_type.key_type, data_type.inner


def _unused(name: str, used: set[str]) -> str:
    """The name, made unique: otherwise `a` with field `b_c` and `a_b` with field `c` would have the same name."""
    unique, count = name, 1
    while unique in used:
        count += 1
        unique = f"{name}_{count}"
    used.add(unique)
    return unique


def record_of(schema: Any) -> dict[str, Any]:
    """The record in a file's schema, with all names resolved. Up to Paimon 1.0 it is in a union.

    Raises:
        ValueError: the schema has no record on top.
    """
    try:
        expanded = expand_schema(schema)
    except (SchemaParseException, UnknownType, TypeError, LookupError) as error:
        raise ValueError(f"its Avro schema is not valid: {error}") from error
    record = _branch(expanded)
    if not isinstance(record, dict) or record.get("type") != "record":
        raise ValueError("its Avro schema has no record on top")
    return record


def _branch(avro_type: Any) -> Any:
    """The branch of a union that is not null."""
    if not isinstance(avro_type, list):
        return avro_type
    branches = [branch for branch in avro_type if branch != "null"]
    return branches[0] if branches else "null"


def from_avro(values: Sequence[Any], avro_type: Any, data_type: DataType) -> pa.Array:
    """Decoded values, None for null, as an array of ``arrow_type(data_type)``.

    Raises:
        pa.ArrowException, TypeError, KeyError, OverflowError: the values are not of the data type.
    """
    avro = _branch(avro_type)
    target = arrow_type(data_type)
    if avro == "null":
        return pa.nulls(len(values), target)
    if data_type.root in TIMESTAMPS:
        return _timestamps(values, avro, target)
    if data_type.root is Root.DATE:
        return pa.array(values, pa.int32()).view(target)
    if data_type.root is Root.TIME:
        return _times(values, avro, target)
    if data_type.root is Root.DECIMAL:
        return _decimals(values, target)
    if data_type.root is Root.ROW:
        return _rows(values, avro, data_type, target)
    if data_type.root is Root.VECTOR:
        return conform(from_avro(values, avro_type, replace(data_type, root=Root.ARRAY)), target)
    if data_type.root is Root.ARRAY:
        flat = [item for items in values if items is not None for item in items]
        child = from_avro(flat, avro["items"], data_type.inner) if flat else pa.array([], target.value_type)
        return pa.ListArray.from_arrays(_offsets(values), child, type=target, mask=_nulls(values))
    if pt.is_map(target):
        return _maps(values, avro, data_type, target)
    return pa.array(values, target)


def _timestamps(values: Sequence[Any], avro: Any, target: pa.DataType) -> pa.Array:
    counts = pa.array(values, pa.int64())
    have, want = NANOS_PER_UNIT[_unit(avro, target.unit)], NANOS_PER_UNIT[target.unit]
    return rescale(counts, max(have // want, 1), max(want // have, 1), target)


def _times(values: Sequence[Any], avro: Any, target: pa.DataType) -> pa.Array:
    if _unit(avro, "ms") == "us":
        values = [None if value is None else value // 1000 for value in values]
    return pa.array(values, pa.int32()).view(target)


def _unit(avro: Any, default: str) -> str:
    logical = avro.get("logicalType", "") if isinstance(avro, dict) else ""
    return _LOGICAL_UNITS.get(logical.rpartition("-")[2], default)


def _decimals(values: Sequence[Any], target: pa.DataType) -> pa.Array:
    limit = 10**target.precision
    numbers = [0 if value is None else int.from_bytes(value, "big", signed=True) for value in values]
    if any(not -limit < number < limit for number in numbers):
        raise OverflowError(f"a decimal has more than {target.precision} digits")
    raw = b"".join(number.to_bytes(16, "little", signed=True) for number in numbers)
    valid = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
    return pa.Array.from_buffers(target, len(values), [valid, pa.py_buffer(raw)])


def _rows(values: Sequence[Any], avro: Any, data_type: DataType, target: pa.DataType) -> pa.Array:
    types = {field["name"]: field["type"] for field in avro["fields"]}
    children = []
    for field in data_type.fields:
        items = [None if value is None else value.get(field.name) for value in values]
        children.append(from_avro(items, types.get(field.name, "null"), field.type))
    if not children:
        valid = pa.array([value is not None for value in values], pa.bool_()).buffers()[1]
        return pa.Array.from_buffers(target, len(values), [valid])
    return pa.StructArray.from_arrays(children, fields=list(target), mask=_nulls(values))


def _maps(values: Sequence[Any], avro: Any, data_type: DataType, target: pa.DataType) -> pa.Array:
    present = [entries for entries in values if entries is not None]
    key_type, value_type = _entry_types(data_type)
    if isinstance(avro, dict) and avro.get("type") == "map":
        pairs = [pair for entries in present for pair in entries.items()]
        key_avro, value_avro = "string", avro["values"]
    elif present:
        pairs = [(entry["key"], entry["value"]) for entries in present for entry in entries]
        key_avro, value_avro = (field["type"] for field in avro["items"]["fields"])
    else:  # Java up to 0.8 declares maps with other keys than strings in its own way, and cannot write them
        pairs, key_avro, value_avro = [], "null", "null"
    keys = from_avro([key for key, _ in pairs], key_avro, key_type.with_nullable(False))
    items = from_avro([value for _, value in pairs], value_avro, value_type)
    if data_type.root is Root.MULTISET:
        items = items.cast(target.item_type)
    return pa.MapArray.from_arrays(_offsets(values), keys, items, type=target, mask=_nulls(values))


def _offsets(values: Sequence[Any]) -> pa.Array:
    sizes = np.array([0 if value is None else len(value) for value in values], np.int64)
    return pa.array(np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))), pa.int32())


def _nulls(values: Sequence[Any]) -> pa.Array | None:
    mask = [value is None for value in values]
    return pa.array(mask, pa.bool_()) if any(mask) else None


def to_avro(array: pa.Array, data_type: DataType) -> list[Any]:
    """The values of an array as Avro encodes them under ``avro_schema``."""
    root = data_type.root
    if root in TIMESTAMPS:
        return list(array.view(pa.int64()).to_pylist())
    if root in (Root.DATE, Root.TIME):
        return list(array.view(pa.int32()).to_pylist())
    if root is Root.DECIMAL:
        return _decimal_bytes(array)
    if root is Root.ROW:
        children = [to_avro(array.field(i), field.type) for i, field in enumerate(data_type.fields)]
        names = [field.name for field in data_type.fields]
        rows = zip(*children, strict=True) if children else ((),) * len(array)
        return _with_nulls(array, [dict(zip(names, row, strict=True)) for row in rows])
    if root is Root.VECTOR:
        array = conform(array, pa.list_(array.type.value_field))
    if root in (Root.ARRAY, Root.VECTOR):
        return _sliced(array, to_avro(array.values, data_type.inner))
    if root not in (Root.MAP, Root.MULTISET):
        return list(array.to_pylist())
    key_type, value_type = _entry_types(data_type)
    keys, items = to_avro(array.keys, key_type), to_avro(array.items, value_type)
    if key_type.root in STRINGS:
        pairs = _sliced(array, list(zip(keys, items, strict=True)))
        return [None if entries is None else dict(entries) for entries in pairs]
    return _sliced(array, [{"key": key, "value": value} for key, value in zip(keys, items, strict=True)])


def _with_nulls(array: pa.Array, values: list[Any]) -> list[Any]:
    if not array.null_count:
        return values
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _sliced(array: pa.Array, items: list[Any]) -> list[Any]:
    offsets = array.offsets.to_pylist()
    return _with_nulls(array, [items[start:end] for start, end in pairwise(offsets)])


def _decimal_bytes(array: pa.Array) -> list[bytes | None]:
    """The shortest big-endian two's complement of each unscaled value."""
    raw = np.frombuffer(array.buffers()[1] or b"", np.int64, 2 * len(array), 16 * array.offset).reshape(-1, 2)
    numbers = ((high << 64) | (low & (2**64 - 1)) for low, high in raw.tolist())
    sizes_known = ((n, (n if n >= 0 else ~n).bit_length() // 8 + 1) for n in numbers)
    return _with_nulls(array, [number.to_bytes(size, "big", signed=True) for number, size in sizes_known])
