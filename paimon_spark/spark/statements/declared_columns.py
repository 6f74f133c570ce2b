"""The columns that a statement declares, whose types Spark reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pyspark.errors import ParseException
from pyspark.sql import types as st

from paimon_spark.errors import SqlError
from paimon_spark.format.types import DataField, DataType
from paimon_spark.spark.adapters.types import COMMENT, paimon_field
from paimon_spark.sql.statements import ColumnDefinition
from paimon_spark.sql.text.default_texts import stored_default


def declared_columns(columns: Sequence[ColumnDefinition]) -> tuple[DataField, ...]:
    """The columns of CREATE TABLE, without ids; Spark reads all types in one question.

    Raises:
        SqlError: Spark does not have a type, or a default value is an expression.
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
        _with_default(column, paimon_field(st.StructField(column.name, spark, column.nullable, _metadata(column))))
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
    return {} if column.comment is None else {COMMENT: column.comment}


def _with_default(column: ColumnDefinition, field: DataField) -> DataField:
    if column.default is None:
        return field
    return replace(field, default_value=stored_default(column.name, column.default, field.type))
