"""Decimals of up to 18 digits go to the JVM as integers, if something there makes decimals of them again.

Spark reads a decimal of Arrow by way of a BigDecimal. That takes several times as long as to read an integer and to set
the point in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import DecimalType, LongType, StructField, StructType

from paimon_spark.arrow.raw_values import from_numpy, with_nulls

FromIntegers: TypeAlias = Callable[[DataFrame, StructType], DataFrame]
"""Makes rows of a schema of those whose short decimals are integers."""
_MOST_DIGITS = 18


def short_decimals(schema: StructType) -> dict[int, DecimalType]:
    """The columns of few digits, by their places."""
    found = ((number, field.dataType) for number, field in enumerate(schema.fields))
    return {n: kind for n, kind in found if isinstance(kind, DecimalType) and kind.precision <= _MOST_DIGITS}


def with_integers(schema: StructType) -> StructType:
    """The schema in which the rows go."""
    decimals = short_decimals(schema)
    return StructType(
        [
            StructField(field.name, LongType(), field.nullable) if number in decimals else field
            for number, field in enumerate(schema.fields)
        ]
    )


def as_integers(batch: pa.RecordBatch, decimals: Collection[int]) -> pa.RecordBatch:
    """The batch with the digits of its decimals as integers of 64 bits.

    Args:
        decimals: the places of short ones.
    """
    for number in decimals:
        column = batch.column(number)
        words = np.frombuffer(column.buffers()[1] or b"", np.int64, 2 * len(column), 16 * column.offset)
        field = batch.schema.field(number).with_type(pa.int64())
        batch = batch.set_column(number, field, with_nulls(from_numpy(words[::2]), column))
    return batch
