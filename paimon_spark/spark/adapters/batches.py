"""The Arrow form in which Spark and a data source exchange rows.

Spark compares the schema of the first batch it is given with its own: microseconds, zone UTC, plain strings,
nullability at every depth. ``arrow.conform`` brings a batch there; TIME, which Spark sees as INT, comes back by
``arrow.alignment``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import types as st

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.types import VARIANT
from paimon_spark.errors import DataError
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import paimon_fields
from paimon_spark.writes.row_columns import all_nullable

_PLAIN: dict[type[st.DataType], pa.DataType] = {
    st.BooleanType: pa.bool_(),
    st.ByteType: pa.int8(),
    st.ShortType: pa.int16(),
    st.IntegerType: pa.int32(),
    st.LongType: pa.int64(),
    st.FloatType: pa.float32(),
    st.DoubleType: pa.float64(),
    st.StringType: pa.string(),
    st.BinaryType: pa.binary(),
    st.DateType: pa.date32(),
    st.TimestampType: pa.timestamp("us", tz="UTC"),
    st.TimestampNTZType: pa.timestamp("us"),
    st.NullType: pa.null(),
    st.VariantType: VARIANT,
}
Unit = TypeVar("Unit")
MIN_BATCH_ROWS = 10_000
MAX_BATCH_ROWS = 65_536


def spark_arrow_type(spark: st.DataType) -> pa.DataType:
    """The Arrow type in which Spark hands over and takes values of a type.

    Raises:
        DataError: a type that no column of a table can hold.
    """
    plain = _PLAIN.get(type(spark))
    if plain is not None:
        return plain
    match spark:
        case st.DecimalType():
            return pa.decimal128(spark.precision, spark.scale)
        case st.ArrayType():
            return pa.list_(pa.field("element", spark_arrow_type(spark.elementType), nullable=spark.containsNull))
        case st.MapType():
            value = pa.field("value", spark_arrow_type(spark.valueType), nullable=spark.valueContainsNull)
            return pa.map_(pa.field("key", spark_arrow_type(spark.keyType), nullable=False), value)
        case st.StructType():
            return pa.struct(list(spark_arrow_schema(spark)))
        case st.CharType() | st.VarcharType():
            return pa.string()
        case st.UserDefinedType():
            return spark_arrow_type(spark.sqlType())
    name = spark.simpleString()
    advice = "cast it to STRING, or to a number"
    if name.startswith("time("):
        advice = "a column TIME takes the milliseconds of the day, as INT"
    raise DataError(f"no column of a table can hold the Spark type {name}: {advice}")


def spark_arrow_schema(schema: st.StructType) -> pa.Schema:
    """The Arrow schema Spark expects of batches for a Spark schema.

    Raises:
        DataError: a type that no column of a table can hold; the message names the column.
    """
    fields = []
    for field in schema.fields:
        try:
            fields.append(pa.field(field.name, spark_arrow_type(field.dataType), nullable=field.nullable))
        except DataError as error:
            raise DataError(f"column '{field.name}': {error}") from None
    return pa.schema(fields)


@dataclass(frozen=True)
class FrameColumns:
    """See RowColumns; those of a DataFrame."""

    schema: st.StructType

    @property
    def names(self) -> Sequence[str]:
        return self.schema.names

    @property
    def texts(self) -> Sequence[str]:
        return [field.name for field in self.schema.fields if isinstance(field.dataType, st.StringType)]

    @property
    def untyped(self) -> Sequence[str]:
        return [field.name for field in self.schema.fields if isinstance(field.dataType, st.NullType)]

    def without(self, names: Sequence[str]) -> FrameColumns:
        return FrameColumns(st.StructType([field for field in self.schema.fields if field.name not in names]))

    def words(self) -> str:
        return ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in self.schema.fields)

    def arrow_schema(self) -> pa.Schema:
        return spark_arrow_schema(self.schema)

    def fields(self) -> list[DataField]:
        return [replace(field, type=all_nullable(field.type)) for field in paimon_fields(self.schema)]


def conformed(
    read: Callable[[Unit], Iterator[pa.RecordBatch]], units: Iterable[Unit], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """What a task gives to Spark: the rows of units, in batches of a schema."""
    return rebatch(conform_batch(batch, schema) for unit in units for batch in read(unit))


def rebatch(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combines rows into batches that are neither tiny nor huge: Spark pays a message and memory for each batch."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        for start in range(0, batch.num_rows, MAX_BATCH_ROWS):
            held.append(batch.slice(start, MAX_BATCH_ROWS))
            rows += held[-1].num_rows
            if rows >= MIN_BATCH_ROWS:
                yield _joined(held)
                held, rows = [], 0
    if held:
        yield _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
