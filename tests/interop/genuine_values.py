"""Values across the border: Python values of a test <-> internal objects of Java Paimon.

On the Python side: DATE days, TIME millis, TIMESTAMP and LTZ nanoseconds since the epoch, DECIMAL Decimal, ROW and
ARRAY tuples, MAP and MULTISET tuples of pairs, VARIANT (value bytes, metadata bytes). Runs in the process of the JVM.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import jpype

NANOS_OF_MILLI = 10**6

# Type root -> (Java box, getter of a row or array, Python type: else a JInt or JDouble leaks out)
PRIMITIVES = {
    "BOOLEAN": ("Boolean", "getBoolean", bool),
    "TINYINT": ("Byte", "getByte", int),
    "SMALLINT": ("Short", "getShort", int),
    "INTEGER": ("Integer", "getInt", int),
    "DATE": ("Integer", "getInt", int),
    "TIME_WITHOUT_TIME_ZONE": ("Integer", "getInt", int),
    "BIGINT": ("Long", "getLong", int),
    "FLOAT": ("Float", "getFloat", float),
    "DOUBLE": ("Double", "getDouble", float),
}


class Codec(NamedTuple):
    """encode: Python value -> Java object; decode: (row or array, position) -> Python value."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any, int], Any]


def objects(values: list[Any]) -> Any:
    """A Java Object[]; GenericRow.of(*[None]) would be a null array."""
    return jpype.JArray(jpype.java.lang.Object)(values)


def codec(data_type: Any) -> Codec:
    """The codec of a Java DataType, nulls included."""
    inner = _codec(data_type)
    return Codec(
        lambda value: None if value is None else inner.encode(value),
        lambda row, i: None if row.isNullAt(i) else inner.decode(row, i),
    )


def _codec(data_type: Any) -> Codec:
    root = str(data_type.getTypeRoot().name())
    data = jpype.JPackage("org.apache.paimon.data")
    if root in PRIMITIVES:
        box, getter, plain = PRIMITIVES[root]
        return Codec(getattr(jpype.java.lang, box), lambda row, i: plain(getattr(row, getter)(i)))
    if root in ("CHAR", "VARCHAR"):
        return Codec(data.BinaryString.fromString, lambda row, i: str(row.getString(i)))
    if root in ("BINARY", "VARBINARY"):
        return Codec(jpype.JArray(jpype.JByte), lambda row, i: bytes(row.getBinary(i)))
    if root == "DECIMAL":
        return _decimal_codec(data, data_type.getPrecision(), data_type.getScale())
    if root.startswith("TIMESTAMP"):
        return _timestamp_codec(data, data_type.getPrecision())
    if root == "ARRAY":
        return _array_codec(data, codec(data_type.getElementType()))
    if root == "VECTOR":
        return _vector_codec(data, data_type)
    if root == "MAP":
        return _map_codec(data, codec(data_type.getKeyType()), codec(data_type.getValueType()))
    if root == "MULTISET":
        count = codec(jpype.JPackage("org.apache.paimon.types").DataTypes.INT())
        return _map_codec(data, codec(data_type.getElementType()), count)
    if root == "ROW":
        return _row_codec(data, [codec(t) for t in data_type.getFieldTypes()])
    if root == "VARIANT":
        return _variant_codec(data)
    if root == "BLOB":
        return _blob_codec(data)
    raise NotImplementedError(f"no codec for {root}")


def _variant_codec(data: Any) -> Codec:
    octets = jpype.JArray(jpype.JByte)

    def decode(row: Any, i: int) -> tuple[bytes, bytes]:
        variant = row.getVariant(i)
        return bytes(variant.value()), bytes(variant.metadata())

    return Codec(lambda value: data.variant.GenericVariant(octets(value[0]), octets(value[1])), decode)


PLACEHOLDER = "placeholder"
"""A BLOB that stays as an older file has it."""


def _blob_codec(data: Any) -> Codec:
    def encode(value: Any) -> Any:
        if value == PLACEHOLDER:
            return data.BlobPlaceholder.INSTANCE
        if isinstance(value, tuple):  # a path, and the place of the bytes in the file
            file_io = jpype.JPackage("org.apache.paimon").fs.local.LocalFileIO.create()
            return data.Blob.fromFile(file_io, value[0], jpype.JLong(value[1]), jpype.JLong(value[2]))
        return data.BlobData(jpype.JArray(jpype.JByte)(value))

    return Codec(encode, lambda row, i: bytes(row.getBlob(i).toData()))


def _decimal_codec(data: Any, precision: int, scale: int) -> Codec:
    def encode(value: Decimal) -> Any:
        return data.Decimal.fromBigDecimal(jpype.java.math.BigDecimal(format(value, "f")), precision, scale)

    def decode(row: Any, i: int) -> Decimal | None:
        value = row.getDecimal(i, precision, scale)
        return None if value is None else Decimal(str(value))  # an array may have it where isNullAt says no

    return Codec(encode, decode)


def _timestamp_codec(data: Any, precision: int) -> Codec:
    def decode(row: Any, i: int) -> int:
        value = row.getTimestamp(i, precision)
        return int(value.getMillisecond()) * NANOS_OF_MILLI + int(value.getNanoOfMillisecond())

    return Codec(lambda value: data.Timestamp.fromEpochMillis(*divmod(value, NANOS_OF_MILLI)), decode)


def _array_codec(data: Any, element: Codec) -> Codec:
    def decode(row: Any, i: int) -> tuple[Any, ...]:
        array = row.getArray(i)
        return tuple(element.decode(array, k) for k in range(array.size()))

    def encode(value: Any) -> Any:
        if value == PLACEHOLDER:
            return data.BlobArrayPlaceholder.INSTANCE
        return data.GenericArray(objects([element.encode(item) for item in value]))

    return Codec(encode, decode)


def _vector_codec(data: Any, data_type: Any) -> Codec:
    primitive = {
        "BOOLEAN": jpype.JBoolean,
        "TINYINT": jpype.JByte,
        "SMALLINT": jpype.JShort,
        "INTEGER": jpype.JInt,
        "BIGINT": jpype.JLong,
        "FLOAT": jpype.JFloat,
        "DOUBLE": jpype.JDouble,
    }[str(data_type.getElementType().getTypeRoot().name())]
    element = codec(data_type.getElementType())

    def decode(row: Any, i: int) -> tuple[Any, ...]:
        vector = row.getVector(i)
        return tuple(element.decode(vector, k) for k in range(vector.size()))

    return Codec(lambda value: data.BinaryVector.fromPrimitiveArray(jpype.JArray(primitive)(value)), decode)


def _map_codec(data: Any, key: Codec, item: Codec) -> Codec:
    def encode(pairs: Any) -> Any:
        if pairs == PLACEHOLDER:
            return data.BlobMapPlaceholder.INSTANCE
        made = jpype.java.util.LinkedHashMap()
        for k, v in pairs:  # a Python dict would take 0.0 and -0.0 for one key
            made.put(key.encode(k), item.encode(v))
        return data.GenericMap(made)

    def decode(row: Any, i: int) -> tuple[Any, ...]:
        entries = row.getMap(i)
        keys, items = entries.keyArray(), entries.valueArray()
        return tuple((key.decode(keys, k), item.decode(items, k)) for k in range(entries.size()))

    return Codec(encode, decode)


def _row_codec(data: Any, fields: list[Codec]) -> Codec:
    def decode(row: Any, i: int) -> tuple[Any, ...]:
        inner = row.getRow(i, len(fields))
        return tuple(field.decode(inner, k) for k, field in enumerate(fields))

    def encode(values: Any) -> Any:
        return data.GenericRow.of(objects([f.encode(v) for f, v in zip(fields, values, strict=True)]))

    return Codec(encode, decode)
