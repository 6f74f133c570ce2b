"""Decimals of up to 18 digits go to the JVM as integers, which Spark makes decimals of again.

Spark reads a decimal of Arrow by way of a BigDecimal. That takes several times as long as to read an integer and to set
the point in it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DecimalType, LongType, StructField, StructType

from paimon_spark.arrow.raw_values import from_numpy, with_nulls

_MOST_DIGITS = 18
_UTILS, _MAKE = "org.apache.spark.sql.classic.ExpressionUtils", "org.apache.spark.sql.catalyst.expressions.MakeDecimal"
_OF_CONTEXT = "_paimon_decimal_classes"
"""The attribute of a SparkContext for the classes of its JVM, each of which costs some round trips to be found."""


def short_decimals(spark: SparkSession, schema: StructType) -> frozenset[int]:
    """The places of the columns that go as integers; none on Spark Connect, or if this Spark lacks what it takes."""
    found = frozenset(
        number
        for number, field in enumerate(schema.fields)
        if isinstance(field.dataType, DecimalType) and field.dataType.precision <= _MOST_DIGITS
    )
    return found if found and _classes(spark) is not None else frozenset()


def with_integers(schema: StructType, decimals: Collection[int]) -> StructType:
    """The schema in which the rows go."""
    return StructType(
        [
            StructField(field.name, LongType(), field.nullable) if number in decimals else field
            for number, field in enumerate(schema.fields)
        ]
    )


def as_integers(batch: pa.RecordBatch, decimals: Collection[int]) -> pa.RecordBatch:
    """The batch with the digits of its decimals as integers of 64 bits."""
    for number in decimals:
        column = batch.column(number)
        words = np.frombuffer(column.buffers()[1] or b"", np.int64, 2 * len(column), 16 * column.offset)
        field = batch.schema.field(number).with_type(pa.int64())
        batch = batch.set_column(number, field, with_nulls(from_numpy(words[::2]), column))
    return batch


def with_decimals(frame: DataFrame, schema: StructType) -> DataFrame:
    """The rows that went as integers, in their own schema."""
    classes = _classes(frame.sparkSession)
    assert classes is not None
    utils, make = classes
    columns, output = [], frame._jdf.queryExecution().analyzed().output()  # names may differ in their case alone
    for number, field in enumerate(schema.fields):
        kind, found = field.dataType, output.apply(number)
        if isinstance(kind, DecimalType) and kind.precision <= _MOST_DIGITS:
            columns.append(Column(utils.column(make(found, kind.precision, kind.scale))).alias(field.name))
        else:
            columns.append(Column(utils.column(found)))
    return frame.select(columns)


def _classes(spark: SparkSession) -> tuple[Any, Any] | None:
    if not hasattr(spark, "_jsparkSession"):
        return None
    context = vars(spark.sparkContext)
    if _OF_CONTEXT not in context:
        jvm: Any = spark._jvm
        try:
            for name in (_UTILS, _MAKE):
                jvm.java.lang.Class.forName(name, False, jvm.java.lang.Thread.currentThread().getContextClassLoader())
            context[_OF_CONTEXT] = (_found(jvm, _UTILS), _found(jvm, _MAKE))
        except Py4JError:
            context[_OF_CONTEXT] = None
    found: tuple[Any, Any] | None = context[_OF_CONTEXT]
    return found


def _found(jvm: Any, name: str) -> Any:
    for part in name.split("."):
        jvm = getattr(jvm, part)
    return jvm
