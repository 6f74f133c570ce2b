"""What may be stored in a column: Spark's rules of store assignment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

import paimon_spark
from paimon_spark.errors import SqlError
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.store_assignment import can_store, has_names_of
from paimon_spark.spark.statements.inserted_columns import InsertTarget, insert_frame

INT, LONG, STRING, DATE = t.IntegerType(), t.LongType(), t.StringType(), t.DateType()
TIME, LOCAL = t.TimestampType(), t.TimestampNTZType()

ANSI = [  # have, want, by ANSI, by STRICT
    (INT, INT, True, True),
    (t.NullType(), INT, True, True),
    (INT, LONG, True, True),
    (LONG, INT, True, False),
    (INT, t.DoubleType(), True, True),
    (t.DoubleType(), INT, True, False),
    (t.DecimalType(10, 2), INT, True, False),
    (INT, t.DecimalType(10, 0), True, True),
    (INT, t.DecimalType(9, 0), True, False),
    (t.DecimalType(5, 2), t.DecimalType(6, 2), True, True),
    (t.DecimalType(5, 2), t.DecimalType(5, 3), True, False),
    (INT, STRING, True, True),
    (STRING, INT, True, False),
    (STRING, t.BooleanType(), True, False),
    (t.BooleanType(), INT, True, False),
    (INT, t.BooleanType(), True, False),
    (DATE, TIME, True, True),
    (TIME, DATE, True, False),
    (TIME, LOCAL, True, False),
    (DATE, INT, False, False),
    (INT, DATE, False, False),
    (t.BinaryType(), STRING, True, False),
    (STRING, t.BinaryType(), True, False),
    (t.ArrayType(INT), t.ArrayType(LONG), True, True),
    (t.ArrayType(INT, True), t.ArrayType(LONG, False), True, False),
    (t.ArrayType(STRING), t.ArrayType(LONG), True, False),
    (t.MapType(INT, INT), t.MapType(LONG, STRING), True, True),
    (t.StructType([t.StructField("a", INT)]), t.StructType([t.StructField("b", LONG)]), True, True),
    (t.StructType([t.StructField("a", INT)]), t.StructType([]), False, False),
    (INT, t.ArrayType(INT), False, False),
    (t.ArrayType(INT), STRING, True, False),
    (INT, t.BinaryType(), False, False),
    (t.BinaryType(), INT, False, False),
    (t.BooleanType(), DATE, False, False),
    (TIME, LONG, True, False),
    (LOCAL, LONG, False, False),
    (LONG, TIME, True, False),
    (LONG, LOCAL, False, False),
    (t.DayTimeIntervalType(0, 0), INT, True, False),
    (t.DayTimeIntervalType(0, 1), INT, True, False),
    (t.DayTimeIntervalType(0, 0), t.DoubleType(), False, False),
]


@pytest.mark.parametrize(("have", "want", "ansi", "strict"), ANSI)
def test_store_assignment(have: t.DataType, want: t.DataType, ansi: bool, strict: bool) -> None:
    assert (can_store(have, want), can_store(have, want, is_strict=True)) == (ansi, strict)


def fields(*names: str) -> t.StructType:
    return t.StructType([t.StructField(name, INT) for name in names])


def test_fields_by_name_have_the_order_of_the_table() -> None:
    """Spark casts a struct by the positions of its fields: two that have changed places would change their values."""
    assert has_names_of(fields("A", "b"), fields("a", "b"))
    assert not has_names_of(fields("b", "a"), fields("a", "b"))
    assert not has_names_of(fields("a"), fields("a", "b"))
    assert not has_names_of(t.ArrayType(fields("b", "a")), t.ArrayType(fields("a", "b")))
    assert not has_names_of(t.MapType(STRING, fields("b", "a")), t.MapType(STRING, fields("a", "b")))
    assert has_names_of(t.NullType(), fields("a"))


def test_where_letter_case_counts_names_are_exact() -> None:
    exact = Naming(is_exact=True)
    assert not has_names_of(t.ArrayType(fields("A")), t.ArrayType(fields("a")), exact)


@pytest.mark.spark
def test_insert_by_name_heeds_letter_case_as_the_session_does(quick_spark: SparkSession) -> None:
    columns = [DataField(0, "n", DataType(Root.INT)), DataField(1, "N", DataType(Root.INT))]
    rows = quick_spark.createDataFrame([(1,)], "n int").toDF("N")
    exact = InsertTarget("t", columns[:1], by_name=True, naming=Naming(is_exact=True))
    with pytest.raises(SqlError, match="N is no column of the table"):
        insert_frame(quick_spark, rows, exact)
    assert insert_frame(quick_spark, rows, InsertTarget("t", columns[:1], by_name=True)).columns == ["n"]
    assert insert_frame(quick_spark, rows, InsertTarget("t", columns, by_name=True)).columns == ["N"]


@pytest.mark.spark
def test_defaults_go_where_the_names_of_the_values_say(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Columns that PARTITION names without values come last, unless the query has the names of the table."""
    cat = paimon_spark.catalog(quick_spark, str(tmp_path))
    cat.sql("CREATE DATABASE d")
    cat.sql("USE d")
    cat.sql("CREATE TABLE p (id INT, v STRING DEFAULT 'v', dt STRING DEFAULT 'x', h INT) PARTITIONED BY (dt, h)")
    cat.sql("INSERT INTO p PARTITION (dt) VALUES (1, DEFAULT, 2, '3'), (2, 'w', 4, DEFAULT)")
    cat.sql("INSERT INTO p PARTITION (dt) VALUES (3, 'w', DEFAULT, 5) AS r(ID, v, dt, h)")
    cat.sql("INSERT INTO p PARTITION (dt, h = 6) VALUES (4, DEFAULT, 7)")
    key = "spark.paimon.write.hive-style-dynamic-partition.enabled"
    quick_spark.conf.set(key, "false")
    try:
        cat.sql("INSERT INTO p PARTITION (dt) VALUES (5, DEFAULT, 8, 9)")
    finally:
        quick_spark.conf.unset(key)
    rows = cat.sql("SELECT * FROM p ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [
        (1, "v", "3", 2),
        (2, "w", "x", 4),
        (3, "w", "x", 5),
        (4, "v", "7", 6),
        (5, "v", "8", 9),
    ]
