"""Types of columns in the words of Spark's SQL, with the lengths that they are declared with."""

from __future__ import annotations

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import MAX_LENGTH, DataType, Root
from paimon_spark.spark.adapters.types import spark_type


def simple_type(data_type: DataType) -> str:
    """``decimal(10,2)``, ``varchar(5)``, ``struct<a:char(3)>``: as DESCRIBE shows a type."""
    match data_type.root:
        case Root.CHAR | Root.VARCHAR if not _is_string(data_type):
            return f"{data_type.root.lower()}({data_type.length})"
        case Root.ARRAY:
            return f"array<{simple_type(data_type.inner)}>"
        case Root.MAP:
            return f"map<{simple_type(data_type.key_type)},{simple_type(data_type.inner)}>"
        case Root.MULTISET:
            return f"map<{simple_type(data_type.inner)},int>"
        case Root.ROW:
            return f"struct<{','.join(f'{field.name}:{simple_type(field.type)}' for field in data_type.fields)}>"
    try:
        return spark_type(data_type).simpleString()
    except UnsupportedFeature:
        return type_sql(data_type.with_nullable(True)).lower()


def sql_type(data_type: DataType) -> str:
    """``DECIMAL(10,2)``, ``VARCHAR(5)``, ``STRUCT<a: INT NOT NULL>``: as CREATE TABLE has a type."""
    match data_type.root:
        case Root.ARRAY:
            return f"ARRAY<{sql_type(data_type.inner)}>"
        case Root.MAP:
            return f"MAP<{sql_type(data_type.key_type)}, {sql_type(data_type.inner)}>"
        case Root.ROW:
            inner = (
                f"{quoted_if_needed(field.name)}: {sql_type(field.type)}{'' if field.type.nullable else ' NOT NULL'}"
                for field in data_type.fields
            )
            return f"STRUCT<{', '.join(inner)}>"
    return simple_type(data_type).upper()


def _is_string(data_type: DataType) -> bool:
    return data_type.root is Root.VARCHAR and (data_type.length is None or data_type.length >= MAX_LENGTH)
