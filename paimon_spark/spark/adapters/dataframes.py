"""Rows as somebody has them, and as a statement returns them, as a Spark DataFrame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.types as pt
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import StructType

from paimon_spark.arrow.hidden_nulls import has_required_field, without_hidden_nulls
from paimon_spark.errors import DataError
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.store.read.arrow_rows import ArrowRows
from paimon_spark.writes.arrow_input import is_pandas, pandas_table, record_batches

MOST_ROWS = 20_000
"""What this process may read or write itself."""
_MOST_DIGITS = 38
_OBSERVED = "CollectMetrics"
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}


@dataclass(frozen=True)
class FewRows:
    """A Spark DataFrame that has few rows for sure, such as those of VALUES; they fit into memory."""

    frame: DataFrame


Rows: TypeAlias = DataFrame | FewRows | pa.Table | Any
"""A DataFrame of Spark or pandas, a pyarrow Table, or what ``held_rows`` makes one of; pandas is not imported."""


def as_dataframe(spark: SparkSession, rows: Rows) -> DataFrame:
    """The rows as ``spark.createDataFrame`` makes them of pandas and Arrow; a timestamp without zone is TIMESTAMP_NTZ.

    Raises:
        DataError: Spark has no type that holds the values of a column; the message names it.
    """
    if isinstance(rows, FewRows):
        return rows.frame
    if isinstance(rows, DataFrame):
        return check_frame(rows)
    if isinstance(rows, pa.Table):
        return arrow_dataframe(spark, spark_table(rows))
    table = pandas_table(rows)
    return spark.createDataFrame(rows) if table is None else arrow_dataframe(spark, spark_table(table))


def arrow_dataframe(spark: SparkSession, rows: pa.Table, schema: StructType | None = None) -> DataFrame:
    """A table of Arrow as a DataFrame, also one whose columns have no chunk, or some without rows.

    PySpark fails on the nested columns of the former, and reads no further than to the first batch without rows.

    Args:
        schema: of the DataFrame; None: that of the columns, a timestamp without zone as TIMESTAMP_NTZ. Spark Connect
            takes none from a table without rows.
    """
    if not rows.num_rows:
        held = rows.schema.empty_table()  # it has one chunk in each column
    elif any(not len(chunk) for column in rows.columns for chunk in column.chunks):
        held = pa.Table.from_batches([batch for batch in rows.to_batches() if batch.num_rows], rows.schema)
    else:
        held = rows
    held = _castable(held)
    return spark.createDataFrame(held, schema or from_arrow_schema(rows.schema, prefer_timestamp_ntz=True))


def _castable(rows: pa.Table) -> pa.Table:
    """The rows as Arrow casts them, which PySpark does: a NULL of VARIANT has no nulls in it."""
    for number, field in enumerate(rows.schema):
        if has_required_field(field.type):
            chunks = [without_hidden_nulls(chunk) for chunk in rows.column(number).chunks]
            rows = rows.set_column(number, field, pa.chunked_array(chunks, field.type))
    return rows


def spark_table(rows: pa.Table) -> pa.Table:
    """The rows in types that Spark takes: each type that it lacks as the next larger one, with all values as they are.

    Raises:
        DataError: there is no such type, a value has digits that Spark cuts, or a text is no UTF-8; the message names
            the column.
    """
    columns, fields = [], []
    for field, column in zip(rows.schema, rows.columns, strict=True):
        nested = pt.is_nested(field.type)
        try:
            column.validate(full=True)
        except pa.ArrowMemoryError:
            raise
        except pa.ArrowException as error:
            way_out = "cast it to date32" if pt.is_date64(field.type) else "make its buffers anew"
            raise DataError(
                f"writing column '{field.name}': its values are no {field.type} of Arrow: {error}; {way_out} first"
            ) from None
        try:
            wanted = _taken(field.type)
            from_arrow_type(wanted)
            # PySpark misreads nested values that begin within their buffers
            chunks = [
                pa.concat_arrays([part]) if nested and part.offset else part for part in column.chunks if len(part)
            ]
            taken = pa.chunked_array(chunks, field.type)
            columns.append(taken if wanted == field.type else taken.cast(wanted))
        except PySparkTypeError:
            other = "INT, the milliseconds of the day" if pt.is_time(field.type) else "another type"
            raise DataError(
                f"writing column '{field.name}': it is {field.type} of Arrow, which Spark does not take; cast it to "
                f"{other} first"
            ) from None
        except pa.ArrowMemoryError:
            raise
        except pa.ArrowException as error:
            raise DataError(
                f"writing column '{field.name}': it is {field.type} of Arrow, which Spark takes as {wanted}: {error}; "
                f"cast it to {wanted} first, by a function that says what becomes of such values"
            ) from None
        fields.append(field.with_type(wanted))
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)) if columns else rows


def _taken(have: pa.DataType) -> pa.DataType:
    """The type of Spark for a type of Arrow, as Arrow has it; the same type where there is no other.

    Raises:
        PySparkTypeError: it is a decimal of more digits than Spark has.
    """
    if pt.is_dictionary(have):
        return _taken(have.value_type)
    if pt.is_list(have) or pt.is_large_list(have) or pt.is_fixed_size_list(have):
        return pa.list_(have.value_field.with_type(_taken(have.value_type)))
    if pt.is_map(have):
        keys, items = have.key_field, have.item_field
        return pa.map_(keys.with_type(_taken(keys.type)), items.with_type(_taken(items.type)))
    if pt.is_struct(have):
        return pa.struct([field.with_type(_taken(field.type)) for field in have])
    if pt.is_timestamp(have):
        return pa.timestamp("us", have.tz)
    if pt.is_decimal(have):
        if have.precision > _MOST_DIGITS:
            raise PySparkTypeError(f"a decimal of {have.precision} digits")
        return pa.decimal128(have.precision, have.scale)
    return _WIDER.get(have, have)


def held_rows(rows: Rows) -> Rows:
    """The rows, those of another library as a pyarrow Table; see ``record_batches``.

    Raises:
        DataError: nobody reads them; the message says how to make a DataFrame of them.
    """
    if isinstance(rows, DataFrame | FewRows) or is_pandas(rows):
        return rows
    return rows.to_arrow() if isinstance(rows, ArrowRows) else record_batches(rows).read_all()


def are_few(rows: Rows) -> bool:
    """True if this process has the rows, or may hold them all, as far as is known without computing them."""
    if isinstance(rows, DataFrame):
        return rows.isLocal()
    return isinstance(rows, FewRows) or len(rows) <= MOST_ROWS


def is_connect(of: DataFrame | SparkSession) -> bool:
    """True for a DataFrame or a session of Spark Connect."""
    return type(of).__module__.startswith("pyspark.sql.connect")


def estimated_bytes(df: DataFrame) -> float:
    """About how many bytes the rows are, as Spark estimates it; infinite where nobody tells it, as on Spark Connect.

    So it is where rows are observed (``DataFrame.observe``): their first query counts, and it may be given up.
    """
    if is_connect(df):
        return math.inf
    query = df._jdf.queryExecution()
    size = int(query.optimizedPlan().stats().sizeInBytes())
    return math.inf if _OBSERVED in query.analyzed().toString() else size


def rows_frame(spark: SparkSession, schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> DataFrame:
    """Rows as a DataFrame that holds them itself: Spark plans and reads nothing for it.

    Args:
        schema: the columns.
        rows: a value for each column.
    """
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return arrow_dataframe(spark, pa.Table.from_arrays(arrays, schema=schema))


def texts(*names: str) -> pa.Schema:
    """Columns of strings, which may be NULL."""
    return pa.schema([pa.field(name, pa.string()) for name in names])
