"""Spark data types and Paimon data types, both ways (features 1.5; Java: SparkTypeUtils).

What Spark cannot show as it is: TIME comes as INT, the milliseconds of the day; MULTISET<T> as MAP<T, INT>; a TIMESTAMP
finer than microseconds loses the digits Spark has no room for. CHAR(n) and VARCHAR(n) are STRING with the declared type
in the metadata of the column, as in all DataFrames of Spark: by it Spark pads CHAR in reads and comparisons. A table
made from a DataFrame gets STRING, TIMESTAMP(6) and so on, or the declared types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from pyspark.errors import ParseException
from pyspark.sql import types as st

from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import MAX_LENGTH, STRINGS, TIMESTAMPS, DataField, DataType, Root, holds

COMMENT = "comment"
CURRENT_DEFAULT = "CURRENT_DEFAULT"  # Spark keeps the default of a column under this metadata key
CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"  # and the declared type of a CHAR or VARCHAR column under this one

_ATOMIC: dict[Root, st.DataType] = {
    Root.BOOLEAN: st.BooleanType(),
    Root.TINYINT: st.ByteType(),
    Root.SMALLINT: st.ShortType(),
    Root.INT: st.IntegerType(),
    Root.BIGINT: st.LongType(),
    Root.FLOAT: st.FloatType(),
    Root.DOUBLE: st.DoubleType(),
    Root.CHAR: st.StringType(),
    Root.VARCHAR: st.StringType(),
    Root.BINARY: st.BinaryType(),
    Root.VARBINARY: st.BinaryType(),
    Root.BLOB: st.BinaryType(),
    Root.DATE: st.DateType(),
    Root.TIME: st.IntegerType(),
    Root.TIMESTAMP: st.TimestampNTZType(),
    Root.TIMESTAMP_LTZ: st.TimestampType(),
    Root.VARIANT: st.VariantType(),
}
_FROM_SPARK: dict[type[st.DataType], DataType] = {
    st.BooleanType: DataType(Root.BOOLEAN),
    st.ByteType: DataType(Root.TINYINT),
    st.ShortType: DataType(Root.SMALLINT),
    st.IntegerType: DataType(Root.INT),
    st.LongType: DataType(Root.BIGINT),
    st.FloatType: DataType(Root.FLOAT),
    st.DoubleType: DataType(Root.DOUBLE),
    st.StringType: DataType(Root.VARCHAR, length=MAX_LENGTH),
    st.BinaryType: DataType(Root.VARBINARY, length=MAX_LENGTH),
    st.DateType: DataType(Root.DATE),
    st.TimestampNTZType: DataType(Root.TIMESTAMP, precision=6),
    st.TimestampType: DataType(Root.TIMESTAMP_LTZ, precision=6),
    st.VariantType: DataType(Root.VARIANT),
}
_FIELD_NAME = re.compile(r"(`(?:[^`]|``)*`|\w+)\s*:")
_TEXT_TYPE = re.compile(r"\b(?:(char|varchar)\s*\(\s*(\d+)\s*\)|string)")
_WHAT_INSTEAD = {
    "void": "a column of untyped NULLs; cast it to the type it is meant to have",
    "time": "store the milliseconds of the day as INT, or a STRING",
    "interval": "cast it to STRING, or an interval of one unit, such as INTERVAL DAY, to INT",
}


def spark_type(data_type: DataType) -> st.DataType:
    """The Spark type under which values of a Paimon type are read.

    Raises:
        UnsupportedFeature: GEOMETRY or GEOGRAPHY, at any depth.
    """
    root = data_type.root
    atomic = _ATOMIC.get(root)
    if atomic is not None:
        return atomic
    if root is Root.DECIMAL:
        return st.DecimalType(data_type.precision or 10, data_type.scale or 0)
    if root is Root.ARRAY:
        return st.ArrayType(spark_type(data_type.inner), data_type.inner.nullable)
    if root is Root.VECTOR:
        return st.ArrayType(spark_type(data_type.inner), False)
    if root is Root.MAP:
        return st.MapType(spark_type(data_type.key_type), spark_type(data_type.inner), data_type.inner.nullable)
    if root is Root.MULTISET:
        return st.MapType(spark_type(data_type.inner), st.IntegerType(), False)
    if root is Root.ROW:
        return spark_schema(data_type.fields)
    raise UnsupportedFeature(f"the data type {root} cannot be read in Spark by this release")


def loses_digits(data_type: DataType) -> bool:
    """True if a type is, or holds at any depth, a time finer than microseconds, of which Spark sees a part."""
    return holds(data_type, lambda part: part.root in TIMESTAMPS and (part.precision or 0) > 6)


def spark_field(field: DataField) -> st.StructField:
    """A column as Spark sees it: its comment, and a type with CHAR(n) or VARCHAR(n), are metadata, as Spark does it."""
    metadata: dict[str, Any] = {}
    if field.description:
        metadata[COMMENT] = field.description
    if _has_lengths(field.type):
        metadata[CHAR_VARCHAR] = declared_type(field.type)
    return st.StructField(field.name, spark_type(field.type), field.type.nullable, metadata)


def _has_lengths(data_type: DataType) -> bool:
    """True if a type is, or holds at any depth, texts of a length."""
    return holds(data_type, _is_limited)


def _is_limited(part: DataType) -> bool:
    return part.root is Root.CHAR or (part.root in STRINGS and (part.length or MAX_LENGTH) < MAX_LENGTH)


def read_spark_type(text: str) -> st.DataType:
    """The type that a text of Spark's SQL means. Spark itself takes two words for a column and its type.

    Raises:
        ParseException: Spark does not have it.
    """
    found = cast(st.StructType, st.DataType.fromDDL(f"struct<type: {text}>"))
    if found.names != ["type"]:
        raise ParseException(f"{text} is no type")
    return found.fields[0].dataType


def declared_type(data_type: DataType) -> str:
    """A type in the words of Spark's catalog, with the lengths of texts."""
    return type_words(data_type, quoted, lambda plain: spark_type(plain).simpleString())


def type_words(data_type: DataType, name: Callable[[str], str], plain: Callable[[DataType], str]) -> str:
    """A type in small letters, with the lengths of texts.

    Args:
        data_type: the type.
        name: writes the name of a field of a struct.
        plain: writes a type that holds no other and has no length of texts.
    """

    def words(part: DataType) -> str:
        match part.root:
            case Root.CHAR | Root.VARCHAR if _is_limited(part):
                return f"{part.root.lower()}({part.length or 1})"
            case Root.ARRAY:
                return f"array<{words(part.inner)}>"
            case Root.MAP:
                return f"map<{words(part.key_type)},{words(part.inner)}>"
            case Root.MULTISET:
                return f"map<{words(part.inner)},int>"
            case Root.ROW:
                return f"struct<{','.join(f'{name(field.name)}:{words(field.type)}' for field in part.fields)}>"
        return plain(part)

    return words(data_type)


def spark_schema(fields: Iterable[DataField]) -> st.StructType:
    """The Spark schema of columns, in their order."""
    return st.StructType([spark_field(field) for field in fields])


def shown_schema(schema: st.StructType) -> st.StructType:
    """The schema of a read: what is in a struct that may be NULL may be NULL too, as in a row where the struct is.

    Otherwise PySpark's ``toArrow()`` fails on such a row. Spark's own file sources say so of all their columns.
    """
    return st.StructType([_shown(field, within_null=False) for field in schema.fields])


def _shown(field: st.StructField, within_null: bool) -> st.StructField:
    nullable = field.nullable or within_null
    return st.StructField(field.name, _shown_type(field.dataType, nullable), nullable, field.metadata)


def _shown_type(spark: st.DataType, nullable: bool) -> st.DataType:
    match spark:
        case st.StructType():
            return st.StructType([_shown(field, nullable) for field in spark.fields])
        case st.ArrayType():
            return st.ArrayType(_shown_type(spark.elementType, spark.containsNull), spark.containsNull)
        case st.MapType():
            values = _shown_type(spark.valueType, spark.valueContainsNull)
            return st.MapType(_shown_type(spark.keyType, nullable=False), values, spark.valueContainsNull)
    return spark


def paimon_fields(schema: st.StructType) -> tuple[DataField, ...]:
    """The columns of a new table for the rows of a DataFrame, without ids: all are 0, also inside ROWs.

    Raises:
        SchemaError: a column has a type no table can hold; the message says what to do.
    """
    return tuple(paimon_field(field) for field in schema.fields)


def paimon_field(field: st.StructField) -> DataField:
    """A column of a new table, with its comment and default value; the id is 0, for the creator to assign.

    Raises:
        SchemaError: its type cannot be stored.
    """
    declared = field.metadata.get(CHAR_VARCHAR)
    spark = with_lengths(field.dataType, declared) if isinstance(declared, str) else field.dataType
    data_type = _paimon_type(spark, field.name)
    comment, default = field.metadata.get(COMMENT), field.metadata.get(CURRENT_DEFAULT)
    return DataField(0, field.name, data_type.with_nullable(field.nullable), comment, default)


def with_lengths(spark: st.DataType, declared: str) -> st.DataType:
    """A type with the lengths of its texts, as Spark's words for the declared type have them.

    Spark itself would read the words, but it does not run in the processes of a data source.
    """
    types = _FIELD_NAME.sub("", declared.lower())
    texts = [(match[1], match[2]) for match in _TEXT_TYPE.finditer(types)]
    return _given_lengths(spark, iter(texts)) if len(texts) == _count_texts(spark) else spark


def _count_texts(spark: st.DataType) -> int:
    match spark:
        case st.ArrayType():
            return _count_texts(spark.elementType)
        case st.MapType():
            return _count_texts(spark.keyType) + _count_texts(spark.valueType)
        case st.StructType():
            return sum(_count_texts(field.dataType) for field in spark.fields)
    return int(isinstance(spark, st.StringType))


def _given_lengths(spark: st.DataType, texts: Iterator[tuple[str | None, str | None]]) -> st.DataType:
    match spark:
        case st.ArrayType():
            return st.ArrayType(_given_lengths(spark.elementType, texts), spark.containsNull)
        case st.MapType():
            key, value = (_given_lengths(part, texts) for part in (spark.keyType, spark.valueType))
            return st.MapType(key, value, spark.valueContainsNull)
        case st.StructType():
            fields = [(f, _given_lengths(f.dataType, texts)) for f in spark.fields]
            return st.StructType([st.StructField(f.name, inner, f.nullable, f.metadata) for f, inner in fields])
        case st.StringType():
            name, length = next(texts)
            if length is not None:
                return st.CharType(int(length)) if name == "char" else st.VarcharType(int(length))
    return spark


def _paimon_type(spark: st.DataType, column: str) -> DataType:
    if isinstance(spark, st.StringType) and not spark.isUTF8BinaryCollation():
        raise SchemaError(
            f"column '{column}' is {spark.simpleString()}: a table stores no collation; cast the column to string"
        )
    known = _FROM_SPARK.get(type(spark))
    if known is not None:
        return known
    match spark:
        case st.DecimalType():
            return DataType(Root.DECIMAL, precision=spark.precision, scale=spark.scale)
        case st.CharType():
            return DataType(Root.CHAR, length=spark.length)
        case st.VarcharType():
            return DataType(Root.VARCHAR, length=spark.length)
        case st.ArrayType():
            element = _paimon_type(spark.elementType, f"{column}.element")
            return DataType(Root.ARRAY, element=element.with_nullable(spark.containsNull))
        case st.MapType():
            key = _paimon_type(spark.keyType, f"{column}.key").with_nullable(False)
            value = _paimon_type(spark.valueType, f"{column}.value").with_nullable(spark.valueContainsNull)
            return DataType(Root.MAP, key=key, element=value)
        case st.StructType():
            return DataType(Root.ROW, fields=paimon_fields(spark))
        case st.UserDefinedType():
            return _paimon_type(spark.sqlType(), column)
    names = (spark.typeName(), spark.simpleString())
    hints = (text for name, text in _WHAT_INSTEAD.items() if any(one.startswith(name) for one in names))
    hint = next(hints, "cast it to STRING, or leave it out")
    raise SchemaError(f"column '{column}' has the Spark type {spark.simpleString()}, which a table cannot hold: {hint}")


def can_show(have: st.DataType, asked: st.DataType) -> bool:
    """True if values of one Spark type can be handed over as another that says less about NULLs and comments."""
    match have, asked:
        case st.ArrayType(), st.ArrayType():
            return asked.containsNull >= have.containsNull and can_show(have.elementType, asked.elementType)
        case st.MapType(), st.MapType():
            values = asked.valueContainsNull >= have.valueContainsNull and can_show(have.valueType, asked.valueType)
            return values and can_show(have.keyType, asked.keyType)
        case st.StructType(), st.StructType():
            return have.names == asked.names and all(
                a.nullable >= h.nullable and can_show(h.dataType, a.dataType)
                for h, a in zip(have.fields, asked.fields, strict=True)
            )
    return have == asked


def nullable(schema: st.StructType) -> st.StructType:
    """The schema with NULL allowed everywhere: whichever part of a table Spark reads itself, it says the same."""
    return st.StructType([st.StructField(f.name, nullable_type(f.dataType), True, f.metadata) for f in schema.fields])


def nullable_type(spark: st.DataType) -> st.DataType:
    match spark:
        case st.StructType():
            return nullable(spark)
        case st.ArrayType():
            return st.ArrayType(nullable_type(spark.elementType), True)
        case st.MapType():
            return st.MapType(nullable_type(spark.keyType), nullable_type(spark.valueType), True)
    return spark
