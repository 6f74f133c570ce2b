"""Decimals that tasks hand to Spark are the same, also those that go as integers."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Context, Decimal

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from pyspark.sql import SparkSession
from pyspark.sql.types import DecimalType, StringType, StructField, StructType
from support.long_runs import examples

from paimon_spark.spark.adapters.tasks import rows_of_tasks

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

    found = rows_of_tasks(spark, [0], work, schema, 0)
    assert found.schema == schema
    expected = [("x", *row) for row in zip(*(column[start:] for column in values), strict=True)]
    assert [tuple(row) for row in found.collect()] == expected


def test_few_digits_go_as_integers(spark: SparkSession) -> None:
    schema = StructType([StructField("few", DecimalType(18, 2)), StructField("many", DecimalType(19, 2))])
    frame = rows_of_tasks(spark, [0], lambda piece: iter(()), schema, 0)
    plan = str(frame._jdf.queryExecution().analyzed().toString())
    assert "MakeDecimal(few" in plan
    assert "MakeDecimal(many" not in plan
    assert frame.collect() == []
