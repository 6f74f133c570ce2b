"""Decimals that tasks hand to Spark are the same, also those that go as integers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Context, Decimal
from functools import partial

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from pyspark.sql import SparkSession
from pyspark.sql.types import DecimalType, StringType, StructField, StructType
from support.long_runs import examples

from conftest import Lake
from paimon_spark.spark.adapters.tasks import rows_of_tasks
from paimon_spark.spark.spark_catalog.jvm_objects import JvmObjects
from paimon_spark.spark.spark_catalog.spark_internals import rows_with_decimals

EXACT = Context(prec=38)


@some.composite
def columns(draw: some.DrawFn) -> tuple[DecimalType, list[Decimal | None]]:
    precision = draw(some.sampled_from([1, 2, 9, 10, 15, 17, 18, 19, 38]))
    scale = draw(some.integers(0, precision))
    most = 10**precision - 1
    digits = some.one_of(some.none(), some.integers(-most, most), some.sampled_from([0, -1, most, -most]))
    values = draw(some.lists(digits, min_size=9, max_size=9))
    return DecimalType(precision, scale), [None if v is None else Decimal(v).scaleb(-scale, EXACT) for v in values]


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=some.lists(columns(), min_size=1, max_size=4), start=some.integers(0, 9))
def test_decimals_are_those_of_the_rows(
    spark: SparkSession, drawn: list[tuple[DecimalType, list[Decimal | None]]], start: int
) -> None:
    names = ["d", "D", "a.`b", "_1"]  # two that differ in their case alone, and those that Spark would parse
    kinds = [(name, kind) for name, (kind, _) in zip(names, drawn, strict=False)]
    schema = StructType([StructField("t", StringType()), *(StructField(name, kind) for name, kind in kinds)])
    values = [values for _, values in drawn]
    arrays = [pa.array(v, pa.decimal128(kind.precision, kind.scale)) for kind, v in drawn]

    def work(piece: int) -> Iterator[pa.RecordBatch]:
        text = pa.array(["x"] * 9)
        yield pa.RecordBatch.from_arrays([text, *arrays], names=schema.names).slice(start)

    found = rows_of_tasks(spark, [0], work, schema, 0, partial(rows_with_decimals, JvmObjects(spark)))
    assert found.schema == schema
    expected = [("x", *row) for row in zip(*(column[start:] for column in values), strict=True)]
    assert [tuple(row) for row in found.collect()] == expected


def test_few_digits_go_as_integers(lake: Lake) -> None:
    lake.spark.conf.set("spark.paimon.read.local", "false")
    lake.sql("CREATE TABLE t (id INT, few DECIMAL(18,2), many DECIMAL(19,2)) TBLPROPERTIES ('primary-key' = 'id')")
    for _ in range(2):
        lake.sql("INSERT INTO t VALUES (1, -1.25, 1.25), (2, NULL, NULL), (3, 9999999999999999.99, 0)")
    frame = lake.sql("SELECT * FROM t")
    assert re.findall(r"MakeDecimal\((\w+)", frame._jdf.queryExecution().executedPlan().toString()) == ["few"]
    few, many = [Decimal("-1.25"), None, Decimal("9999999999999999.99")], [Decimal("1.25"), None, Decimal("0.00")]
    assert lake.rows(frame) == list(zip(range(1, 4), few, many, strict=True))
    assert lake.rows("SELECT id FROM t WHERE few < 0 OR few + many > 9") == [(1,), (3,)]
