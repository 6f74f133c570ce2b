"""Rows as somebody has them, and as a statement returns them, as a Spark DataFrame."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from paimon_spark.errors import DataError
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.store.read.arrow_rows import ArrowRows

MOST_ROWS = 20_000
"""What this process may read or write itself."""


@dataclass(frozen=True)
class FewRows:
    """A Spark DataFrame that has few rows for sure, such as those of VALUES; they fit into memory."""

    frame: DataFrame


Rows: TypeAlias = DataFrame | FewRows | pa.Table | Any
"""A DataFrame of Spark or pandas, a pyarrow Table, or what ``held_rows`` makes one of; pandas is not imported."""


def as_dataframe(spark: SparkSession, rows: Rows) -> DataFrame:
    """The rows as ``spark.createDataFrame`` makes them of pandas and Arrow."""
    if isinstance(rows, FewRows):
        return rows.frame
    if isinstance(rows, pa.Table):
        return arrow_dataframe(spark, rows)
    if not isinstance(rows, DataFrame) and not len(rows):  # PySpark looks at values to know the types
        return arrow_dataframe(spark, pa.Table.from_pandas(rows, preserve_index=False))
    return check_frame(rows) if isinstance(rows, DataFrame) else spark.createDataFrame(rows)


def arrow_dataframe(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """A table of Arrow as a DataFrame, also one whose columns have no chunk, as one of no batches has none.

    PySpark fails on the nested columns of such a table.

    Args:
        schema: of the DataFrame; None: as PySpark sees the columns.
    """
    held = rows if rows.num_rows else rows.schema.empty_table()  # it has one chunk in each column
    return spark.createDataFrame(held) if schema is None else spark.createDataFrame(held, schema)


def held_rows(rows: Rows) -> Rows:
    """The rows, those of another library as a pyarrow Table: a scan, a reader of Arrow, a DataFrame of Polars.

    Raises:
        DataError: nobody reads them; the message says how to make a DataFrame of them.
    """
    pandas = sys.modules.get("pandas")  # whoever has a pandas DataFrame has imported it
    if isinstance(rows, DataFrame | FewRows) or (pandas and isinstance(rows, pandas.DataFrame)):
        return rows
    if not hasattr(rows, "__arrow_c_stream__"):
        raise DataError(
            f"writing rows given as {type(rows).__name__}: expected a Spark DataFrame, a pandas DataFrame or a pyarrow "
            "Table, or what has Arrow's stream, such as a scan or a DataFrame of Polars; "
            "spark.createDataFrame(rows, schema) makes a Spark DataFrame of others"
        )
    table = rows.to_arrow() if isinstance(rows, ArrowRows) else pa.table(rows)
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}  # PySpark takes no views
    return table.cast(pa.schema([field.with_type(plain.get(field.type, field.type)) for field in table.schema]))


def are_few(rows: Rows) -> bool:
    """True if this process has the rows, or may hold them all, as far as is known without computing them."""
    if isinstance(rows, DataFrame):
        return rows.isLocal()
    return isinstance(rows, FewRows) or len(rows) <= MOST_ROWS


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
