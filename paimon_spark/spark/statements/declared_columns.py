"""The columns that a statement declares, whose types Spark reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pyspark.errors import ParseException
from pyspark.sql import types as st

from paimon_spark.errors import SqlError
from paimon_spark.format.types import DataField, DataType
from paimon_spark.spark.adapters.types import COMMENT, CURRENT_DEFAULT, paimon_field
from paimon_spark.sql.statements import ColumnDefinition


def declared_columns(columns: Sequence[ColumnDefinition]) -> tuple[DataField, ...]:
    """The columns of CREATE TABLE, without ids; Spark reads all types in one question.

    Raises:
        SqlError: Spark does not have a type.
        SchemaError: a type cannot be stored.
    """
    if not columns:
        return ()
    ddl = ", ".join(f"c{number} {column.type}" for number, column in enumerate(columns))
    try:
        types = [field.dataType for field in cast(st.StructType, st.StructType.fromDDL(ddl)).fields]
    except ParseException:
        types = [_spark_type(column.name, column.type) for column in columns]
    return tuple(
        paimon_field(st.StructField(column.name, spark, column.nullable, _metadata(column)))
        for column, spark in zip(columns, types, strict=True)
    )


def declared_type(column: str, text: str) -> DataType:
    """The type that a text of Spark's SQL means; it may hold NULL.

    Raises:
        SqlError: Spark does not have it.
        SchemaError: it cannot be stored.
    """
    return paimon_field(st.StructField(column, _spark_type(column, text))).type


def _spark_type(column: str, text: str) -> st.DataType:
    try:
        return st.DataType.fromDDL(text)
    except ParseException:
        raise SqlError(f"SQL: the column {column} has the type {text}, which Spark does not have") from None


def _metadata(column: ColumnDefinition) -> dict[str, str]:
    said = {COMMENT: column.comment, CURRENT_DEFAULT: column.default}
    return {key: value for key, value in said.items() if value is not None}
