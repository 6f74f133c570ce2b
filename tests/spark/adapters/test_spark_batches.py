"""Batches in the Arrow form Spark expects."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_schema

from paimon_spark.arrow.alignment import with_times
from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import DataError
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.char_columns import as_stored
from paimon_spark.spark.adapters.types import spark_schema

INT = DataType(Root.INT)
NANOS = DataType(Root.TIMESTAMP, precision=9)
TIME = DataType(Root.TIME, precision=3)
STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)


def shown(field_type: DataType, array: pa.Array) -> pa.Array:
    fields = (DataField(0, "c", field_type),)
    batch = pa.RecordBatch.from_arrays([array], schema=arrow_schema(fields))
    schema = spark_arrow_schema(spark_schema(fields))
    result = conform_batch(batch, schema)
    result.validate(full=True)
    assert result.schema.equals(schema, check_metadata=True)
    return result.column(0)


def test_the_arrow_schema_is_the_one_spark_computes_itself() -> None:
    row = DataType(Root.ROW, fields=(DataField(0, "x", TIME), DataField(1, "y", DataType(Root.DATE, False))))
    types = [
        *(DataType(root) for root in (Root.BOOLEAN, Root.TINYINT, Root.SMALLINT, Root.INT, Root.BIGINT, Root.FLOAT)),
        *(DataType(root, False) for root in (Root.DOUBLE, Root.CHAR, Root.VARCHAR, Root.BINARY, Root.DATE, Root.TIME)),
        DataType(Root.DECIMAL, precision=20, scale=3),
        *(DataType(root, precision=p) for root in (Root.TIMESTAMP, Root.TIMESTAMP_LTZ) for p in (0, 3, 6, 9)),
        DataType(Root.MULTISET, element=STRING),
        DataType(Root.ARRAY, element=row.with_nullable(False)),
        DataType(Root.MAP, key=INT, element=DataType(Root.ARRAY, element=row)),
    ]
    schema = spark_schema(DataField(i, f"c{i}", t) for i, t in enumerate(types))
    expected = to_arrow_schema(as_stored(schema), timezone="UTC")  # batches do not tell of CHAR
    assert spark_arrow_schema(schema).equals(expected, check_metadata=True)


def test_nanoseconds_are_rounded_down_also_before_1970_and_at_the_ends() -> None:
    values = [0, 999, 1000, -1, -999, -1000, -1001, None, 2**63 - 1, -(2**63)]
    array = pa.array(values, pa.int64()).cast(pa.timestamp("ns"))
    expected = [None if v is None else v // 1000 for v in values]
    assert shown(NANOS, array).cast(pa.int64()).to_pylist() == expected
    assert shown(NANOS, array.slice(3, 5)).cast(pa.int64()).to_pylist() == expected[3:8]


def test_milliseconds_beyond_the_range_of_spark_are_an_error() -> None:
    array = pa.array([2**62], pa.int64()).cast(pa.timestamp("ms"))
    with pytest.raises(DataError, match="outside the range"):
        shown(DataType(Root.TIMESTAMP, precision=3), array)


def test_time_is_shown_as_milliseconds_of_the_day() -> None:
    array = pa.array([0, 86_399_999, None], pa.int32()).cast(pa.time32("ms"))
    assert shown(TIME, array).to_pylist() == [0, 86_399_999, None]


def test_columns_that_fit_are_not_copied() -> None:
    array = pa.array(["a", None, "é"])
    assert shown(STRING, array).buffers()[2].address == array.buffers()[2].address


NESTED = DataType(
    Root.ROW,
    fields=(
        DataField(0, "l", DataType(Root.ARRAY, element=NANOS)),
        DataField(1, "m", DataType(Root.MAP, key=STRING, element=TIME)),
        DataField(2, "d", DataType(Root.DECIMAL, precision=5, scale=2)),
    ),
)


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_nested_values_keep_their_nulls_and_places_in_a_slice(offset: int) -> None:
    plain = pa.struct(
        [("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int32())), ("d", pa.decimal128(5, 2))]
    )
    rows = [
        {"l": [1999, None, -1], "m": [("a", 1), ("b", None)], "d": Decimal("1.50")},
        None,
        {"l": None, "m": None, "d": None},
        {"l": [], "m": [], "d": Decimal("-0.01")},
        {"l": [5000], "m": [("", 0)], "d": None},
    ]
    expected = [
        r and {**r, "l": None if r["l"] is None else [v if v is None else v // 1000 for v in r["l"]]} for r in rows
    ]
    stored = pa.array(rows, plain).cast(arrow_schema((DataField(0, "c", NESTED),)).field(0).type)
    got = shown(NESTED, stored.slice(offset))
    flat = pa.struct([("l", pa.list_(pa.int64())), *list(plain)[1:]])
    assert got.cast(flat).to_pylist() == expected[offset:]


def test_a_batch_without_columns_keeps_its_rows() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([])))
    assert conform_batch(batch, spark_arrow_schema(st.StructType())).num_rows == 3


def test_milliseconds_come_back_as_times_at_any_depth() -> None:
    row = DataType(Root.ROW, fields=(DataField(0, "T", TIME), DataField(1, "i", INT)))
    deep = DataType(Root.MAP, key=TIME, element=DataType(Root.ARRAY, element=row))
    fields = (DataField(0, "Deep", deep), DataField(1, "t", TIME), DataField(2, "i", INT))
    clock = pa.time32("ms")
    stored = pa.map_(clock, pa.list_(pa.struct([("T", clock), ("i", pa.int32())])))
    given = pa.map_(pa.int32(), pa.list_(pa.struct([("T", pa.int32()), ("i", pa.int32())])))
    values = [[(86_399_999, [{"T": 0, "i": -1}, {"T": None, "i": None}, None])], None, [], [(5, None)]]
    batch = pa.RecordBatch.from_arrays(
        [pa.array(values, given), pa.array([1, None, 0, 2], pa.int32()), pa.array([-1, 2, 3, 4], pa.int32())],
        names=["deep", "T", "i"],
    )
    got = with_times(batch.slice(0, 4), fields)
    assert [f.type for f in got.schema] == [stored, clock, pa.int32()]
    assert got.column(0).cast(given).to_pylist() == values
    assert with_times(batch.slice(2), fields).column(0).cast(given).to_pylist() == values[2:]
    assert got.column(1).cast(pa.int32()).to_pylist() == [1, None, 0, 2]


def test_a_time_is_distinguished_from_a_column_that_differs_by_letter_case() -> None:
    fields = (DataField(0, "t", TIME), DataField(1, "T", INT))
    batch = pa.RecordBatch.from_arrays([pa.array([-7], pa.int32()), pa.array([5], pa.int32())], names=["T", "t"])
    assert [field.type for field in with_times(batch, fields).schema] == [pa.int32(), pa.time32("ms")]


@pytest.mark.parametrize("wrong", [-1, 86_400_000])
def test_a_number_that_is_no_time_of_the_day_is_refused(wrong: int) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([[0, wrong]], pa.list_(pa.int32()))], names=["a"])
    with pytest.raises(DataError, match=f"'a' is TIME.*{wrong} is not among them"):
        with_times(batch, (DataField(0, "a", DataType(Root.ARRAY, element=TIME)),))


def test_tables_without_times_cost_nothing() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1])], names=["a"])
    assert with_times(batch, (DataField(0, "a", INT),)) is batch


def test_a_type_no_column_can_hold_is_refused_with_its_column() -> None:
    with pytest.raises(DataError, match=r"'c'.*interval"):
        spark_arrow_schema(st.StructType().add("c", st.DayTimeIntervalType()))
