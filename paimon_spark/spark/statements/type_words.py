"""Types of columns in the words of Spark's SQL, with the lengths that they are declared with."""

from __future__ import annotations

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.quoting import quoted_if_needed
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import DataType, Root
from paimon_spark.spark.adapters.types import spark_type, type_words


def simple_type(data_type: DataType) -> str:
    """``decimal(10,2)``, ``varchar(5)``, ``struct<a:char(3)>``: as DESCRIBE shows a type."""
    return type_words(data_type, str, _plain)


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


def _plain(data_type: DataType) -> str:
    try:
        return spark_type(data_type).simpleString()
    except UnsupportedFeature:
        return type_sql(data_type.with_nullable(True)).lower()
