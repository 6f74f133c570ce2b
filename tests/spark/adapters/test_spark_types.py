"""Spark types and Paimon types, both ways."""

from __future__ import annotations

import pytest
from pyspark.sql import types as st

from paimon_spark.errors import SchemaError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.spark.adapters.types import (
    can_show,
    paimon_field,
    paimon_fields,
    shown_schema,
    spark_field,
    spark_schema,
    spark_type,
)

STRING = DataType(Root.VARCHAR, length=MAX_LENGTH)
BOTH_WAYS = [
    (DataType(Root.BOOLEAN), st.BooleanType()),
    (DataType(Root.TINYINT), st.ByteType()),
    (DataType(Root.SMALLINT), st.ShortType()),
    (DataType(Root.INT), st.IntegerType()),
    (DataType(Root.BIGINT), st.LongType()),
    (DataType(Root.FLOAT), st.FloatType()),
    (DataType(Root.DOUBLE), st.DoubleType()),
    (DataType(Root.DECIMAL, precision=38, scale=0), st.DecimalType(38, 0)),
    (DataType(Root.DECIMAL, precision=10, scale=10), st.DecimalType(10, 10)),
    (STRING, st.StringType()),
    (DataType(Root.VARBINARY, length=MAX_LENGTH), st.BinaryType()),
    (DataType(Root.DATE), st.DateType()),
    (DataType(Root.TIMESTAMP, precision=6), st.TimestampNTZType()),
    (DataType(Root.TIMESTAMP_LTZ, precision=6), st.TimestampType()),
    (DataType(Root.VARIANT), st.VariantType()),
    (DataType(Root.ARRAY, element=DataType(Root.INT, False)), st.ArrayType(st.IntegerType(), False)),
    (DataType(Root.MAP, key=STRING.with_nullable(False), element=STRING), st.MapType(st.StringType(), st.StringType())),
    (
        DataType(Root.ROW, fields=(DataField(0, "Größe", DataType(Root.INT, False)), DataField(0, "b", STRING))),
        st.StructType([st.StructField("Größe", st.IntegerType(), False), st.StructField("b", st.StringType())]),
    ),
]
ONLY_READ = [
    (DataType(Root.CHAR, length=3), st.StringType()),
    (DataType(Root.VARCHAR, length=3), st.StringType()),
    (DataType(Root.BINARY, length=3), st.BinaryType()),
    (DataType(Root.TIME, precision=3), st.IntegerType()),
    (DataType(Root.TIMESTAMP, precision=9), st.TimestampNTZType()),
    (DataType(Root.TIMESTAMP_LTZ, precision=0), st.TimestampType()),
    (DataType(Root.MULTISET, element=STRING), st.MapType(st.StringType(), st.IntegerType(), False)),
]


@pytest.mark.parametrize(("paimon", "spark"), BOTH_WAYS + ONLY_READ)
def test_a_paimon_type_is_read_as_its_spark_type(paimon: DataType, spark: st.DataType) -> None:
    assert spark_type(paimon) == spark


@pytest.mark.parametrize(("paimon", "spark"), BOTH_WAYS)
@pytest.mark.parametrize("nullable", [True, False])
def test_a_column_of_a_dataframe_becomes_its_paimon_type(paimon: DataType, spark: st.DataType, nullable: bool) -> None:
    made = paimon_field(st.StructField("c", spark, nullable))
    assert made == DataField(0, "c", paimon.with_nullable(nullable))


@pytest.mark.parametrize("root", [Root.GEOMETRY, Root.GEOGRAPHY])
def test_types_spark_cannot_read_are_refused_by_name(root: Root) -> None:
    nested = DataType(Root.ARRAY, element=DataType(root, element=DataType(Root.FLOAT)))
    with pytest.raises(UnsupportedFeature, match=root.value):
        spark_type(nested)


@pytest.mark.parametrize(
    ("spark", "message"),
    [
        (st.NullType(), "void.*cast it"),
        (st.DayTimeIntervalType(), "interval.*cast it"),
        (st.StringType("UTF8_LCASE"), "collation"),
    ],
)
def test_types_no_table_can_hold_are_refused_with_the_column(spark: st.DataType, message: str) -> None:
    schema = st.StructType([st.StructField("deep", st.ArrayType(spark))])
    with pytest.raises(SchemaError, match=rf"(?s)'deep\.element'.*{message}"):
        paimon_fields(schema)


def test_comment_default_and_declared_length_come_over() -> None:
    metadata = {"comment": "naïve", "CURRENT_DEFAULT": "'x'", "__CHAR_VARCHAR_TYPE_STRING": "char(7)"}
    made = paimon_field(st.StructField("c", st.StringType(), True, metadata))
    assert made == DataField(0, "c", DataType(Root.CHAR, length=7), "naïve", "'x'")


def test_a_column_shows_its_comment_and_its_varchar_length() -> None:
    field = DataField(7, "c", DataType(Root.VARCHAR, False, length=9), "why")
    shown = spark_field(field)
    assert shown == st.StructField(
        "c", st.StringType(), False, {"comment": "why", "__CHAR_VARCHAR_TYPE_STRING": "varchar(9)"}
    )
    assert paimon_field(shown) == DataField(0, "c", field.type, "why")


@pytest.mark.parametrize(
    ("data_type", "declared"),
    [
        ("CHAR(9)", "char(9)"),
        ("ARRAY<CHAR(2)>", "array<char(2)>"),
        ("MAP<CHAR(2) NOT NULL, VARCHAR(3)>", "map<char(2),varchar(3)>"),
        (
            "ROW<`string` CHAR(2), `a:b` ROW<x STRING, y VARCHAR(7)>, n DECIMAL(9, 2)>",
            "struct<`string`:char(2),`a:b`:struct<`x`:string,`y`:varchar(7)>,`n`:decimal(9,2)>",
        ),
    ],
)
def test_texts_of_a_length_are_declared_to_spark_at_every_depth(data_type: str, declared: str) -> None:
    field = DataField(0, "c", parse_type(data_type))
    shown = spark_field(field)
    assert shown.metadata == {"__CHAR_VARCHAR_TYPE_STRING": declared}
    assert type_sql(paimon_field(shown).type) == type_sql(field.type)


def test_a_schema_may_ask_for_less_certainty_about_nulls_but_not_for_more() -> None:
    strict = spark_schema((DataField(0, "a", DataType(Root.ARRAY, element=DataType(Root.INT, False))),))
    loose = st.StructType().add("a", st.ArrayType(st.IntegerType(), True))
    assert can_show(strict, loose)
    assert not can_show(loose, strict)
    assert not can_show(strict, st.StructType().add("b", st.ArrayType(st.IntegerType(), True)))
    assert not can_show(st.IntegerType(), st.LongType())


def test_what_is_in_a_struct_that_may_be_null_is_shown_as_what_may_be_null() -> None:
    def struct(nullable: bool) -> st.StructType:
        return st.StructType([st.StructField("x", st.IntegerType(), nullable)])

    def columns(inside: bool) -> st.StructType:
        """inside: whether what lies in structs that may be null may be null itself."""
        deep = st.StructType([st.StructField("z", struct(inside), inside)])
        return st.StructType([
            st.StructField("key", st.LongType(), False, {"comment": "c"}),
            st.StructField("null", struct(inside)),
            st.StructField("never null", struct(False), False),
            st.StructField("deep", deep),
            st.StructField("list", st.ArrayType(struct(inside), True), False),
            st.StructField("list without nulls", st.ArrayType(struct(False), False)),
            st.StructField("map", st.MapType(struct(False), struct(inside), True)),
            st.StructField("map without nulls", st.MapType(struct(False), struct(False), False)),
        ])  # fmt: skip

    stored, shown = columns(inside=False), columns(inside=True)
    assert shown_schema(stored) == shown
    assert shown_schema(shown) == shown
    assert shown_schema(stored)["key"].metadata == {"comment": "c"}
    assert can_show(stored, shown)
