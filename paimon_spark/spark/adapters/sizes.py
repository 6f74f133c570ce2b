"""How large rows are that nobody has read: an estimate like that of Spark for some columns of Parquet files."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import types as st

from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.store.read.splits import ReadUnit

_BYTES: dict[type[st.DataType], int] = {
    st.BooleanType: 1,
    st.ByteType: 1,
    st.ShortType: 2,
    st.IntegerType: 4,
    st.FloatType: 4,
    st.DateType: 4,
    st.LongType: 8,
    st.DoubleType: 8,
    st.TimestampType: 8,
    st.TimestampNTZType: 8,
    st.BinaryType: 100,
}
_TEXT, _SHORT_DECIMAL, _LONG_DECIMAL, _SHORT_DIGITS = 20, 8, 16, 18


def size_of_splits(splits: Sequence[ReadUnit], columns: Sequence[DataField], table: Sequence[DataField]) -> int:
    """About how many bytes some columns of splits have: their share of the files, before rows are merged or left out.

    Args:
        splits: of a plan.
        columns: those that are read.
        table: all columns of the table.
    """
    share = sum(map(_size, columns)) / max(sum(map(_size, table)), 1)
    return int(sum(split.size for split in splits) * min(share, 1.0))


def _size(field: DataField) -> int:
    return _type_size(spark_type(field.type))


def _type_size(spark: st.DataType) -> int:
    match spark:
        case st.StructType():
            return sum(_type_size(field.dataType) for field in spark.fields)
        case st.ArrayType():
            return _type_size(spark.elementType)
        case st.MapType():
            return _type_size(spark.keyType) + _type_size(spark.valueType)
        case st.DecimalType():
            return _SHORT_DECIMAL if spark.precision <= _SHORT_DIGITS else _LONG_DECIMAL
    return _BYTES.get(type(spark), _TEXT)
