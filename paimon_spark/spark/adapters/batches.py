"""The Arrow form in which Spark and a data source exchange rows.

Spark compares the schema of the first batch it is given with its own: microseconds, zone UTC, plain strings,
nullability at every depth. ``arrow.conform`` brings a batch there; TIME, which Spark sees as INT, comes back by
``with_times``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt
from pyspark.sql import types as st

from paimon_spark.arrow.alignment import match_columns
from paimon_spark.arrow.conform import conform_batch, list_of, map_of, struct_of
from paimon_spark.arrow.types import VARIANT
from paimon_spark.errors import DataError
from paimon_spark.format.types import DataField, DataType, Root, holds

MILLIS_PER_DAY = 86_400_000
_ANYTHING = DataType(Root.BOOLEAN)  # stands for a field the table does not have
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


def contains_time(data_type: DataType) -> bool:
    """True if a type is TIME or holds one, at any depth."""
    return holds(data_type, lambda part: part.root is Root.TIME)


def with_times(batch: pa.RecordBatch, fields: Iterable[DataField]) -> pa.RecordBatch:
    """Rows to be written, with TIME where they hold the milliseconds of the day that Spark shows a TIME as.

    Args:
        batch: columns in any order.
        fields: the columns of the table.

    Raises:
        DataError: a number is no time of the day.
    """
    known = tuple(fields)
    timed = [field for field in known if contains_time(field.type)]
    if not timed:
        return batch
    found, arrays = match_columns(batch.schema.names, known), list(batch.columns)
    for field in timed:
        position = found.get(field.name)
        if position is not None:
            arrays[position] = _with_times(arrays[position], field.type, field.name)
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _with_times(array: pa.Array, data_type: DataType, column: str) -> pa.Array:
    """The array with TIME for INT wherever the data type says so; what does not look like it is left as it is."""
    have, root = array.type, data_type.root
    if not contains_time(data_type):
        return array
    if root is Root.TIME and pt.is_int32(have):
        return _times(array, column)
    if root is Root.ARRAY and pt.is_list(have):
        values = _with_times(array.values, data_type.inner, column)
        return list_of(array, values, pa.list_(have.value_field.with_type(values.type)))
    if root is Root.MAP and pt.is_map(have):
        keys = _with_times(array.keys, data_type.key_type, column)
        items = _with_times(array.items, data_type.inner, column)
        to = pa.map_(have.key_field.with_type(keys.type), have.item_field.with_type(items.type))
        return map_of(array, keys, items, to)
    if root is Root.ROW and pt.is_struct(have):
        found = match_columns([f.name for f in have], data_type.fields)
        inner = {found[field.name]: field.type for field in data_type.fields if field.name in found}
        children = [_with_times(array.field(i), inner.get(i, _ANYTHING), column) for i in range(have.num_fields)]
        return struct_of(array, children, [f.with_type(c.type) for f, c in zip(have, children, strict=True)])
    return array


def _times(array: pa.Array, column: str) -> pa.Array:
    bounds = pc.min_max(array).as_py()
    low, high = bounds["min"], bounds["max"]
    if low is not None and (low < 0 or high >= MILLIS_PER_DAY):
        wrong = low if low < 0 else high
        raise DataError(
            f"column '{column}' is TIME, which Spark sees as the milliseconds of the day: {wrong} is not among them"
        )
    return array.view(pa.time32("ms"))


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
