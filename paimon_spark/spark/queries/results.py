"""The rows that a statement returns, as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema


def rows_frame(spark: SparkSession, schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> DataFrame:
    """Rows as a DataFrame that holds them itself: Spark plans and reads nothing for it.

    Args:
        schema: the columns.
        rows: a value for each column.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=schema)
    if not table.num_rows:  # Spark Connect takes no schema from a table without rows
        return spark.createDataFrame(table, from_arrow_schema(schema, prefer_timestamp_ntz=True))
    return spark.createDataFrame(table)


def texts(*names: str) -> pa.Schema:
    """Columns of strings, which may be NULL."""
    return pa.schema([pa.field(name, pa.string()) for name in names])
