"""Record batches in exactly the Arrow form Spark expects of a data source.

Spark compares the schema of the first batch with its own: microseconds, zone UTC, plain strings, nullability at every
depth. Only columns whose form differs from the table's are rebuilt; their nested buffers are reused.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pt
from pyspark.sql import types as st

from paimon_spark.errors import DataError, UnsupportedFeature

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
}


def spark_arrow_type(spark: st.DataType) -> pa.DataType:
    """The Arrow type in which Spark hands over and takes values of a type.

    Raises:
        UnsupportedFeature: a type no Paimon column is shown as.
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
    raise UnsupportedFeature(f"the Spark type {spark.simpleString()} cannot be read from a table")


def spark_arrow_schema(schema: st.StructType) -> pa.Schema:
    """The Arrow schema Spark expects of batches for a Spark schema."""
    return pa.schema([pa.field(f.name, spark_arrow_type(f.dataType), nullable=f.nullable) for f in schema.fields])


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with its columns, taken by position, in the names and types of the schema.

    Timestamps finer than microseconds are rounded down, TIME becomes its milliseconds.

    Raises:
        DataError: a timestamp lies outside what Spark can hold.
    """
    arrays = [_conform(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * batch.num_rows, pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _conform(array: pa.Array, to: pa.DataType) -> pa.Array:
    have = array.type
    if have.equals(to, check_metadata=True):
        return array
    if pt.is_timestamp(to) and pt.is_timestamp(have):
        return _as_micros(array, to)
    if pt.is_time32(have):
        return array.view(to)
    if pt.is_struct(to):
        children = [_conform(array.field(i), to.field(i).type) for i in range(to.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(children, fields=list(to), mask=mask)
    if pt.is_map(to):
        entries = [_conform(array.keys, to.key_type), _conform(array.items, to.item_type)]
        pairs = pa.StructArray.from_arrays(entries, fields=[to.key_field, to.item_field])
        return _same_lists(array, to, pairs)
    if pt.is_list(to):
        return _same_lists(array, to, _conform(array.values, to.value_type))
    return array.cast(to)


def _same_lists(array: pa.Array, to: pa.DataType, values: pa.Array) -> pa.Array:
    """Lists (or maps) with the same offsets and nulls over other values."""
    return pa.Array.from_buffers(to, len(array), array.buffers()[:2], array.null_count, array.offset, [values])


def _as_micros(array: pa.Array, to: pa.DataType) -> pa.Array:
    if array.type.unit == "ns":
        nanos = array.view(pa.int64())
        micros = pc.divide(nanos, 1000)  # rounds towards zero, which before 1970 is up
        late = pc.less(nanos, pc.multiply(micros, 1000))
        return pc.subtract(micros, late.cast(pa.int64())).view(to)
    try:
        return array.cast(to)
    except pa.ArrowInvalid as error:
        raise DataError(f"a timestamp is outside of what Spark can hold: {error}; filter such rows out") from error
