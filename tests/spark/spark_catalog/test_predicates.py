"""Conditions as Spark hands them over keep each value as it is."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from conftest import Lake
from paimon_spark.arrow.predicates import predicate as p
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.source.filters import NotPushed
from paimon_spark.spark.spark_catalog.driver_calls import parsed
from paimon_spark.spark.spark_catalog.jvm_objects import JvmObjects
from paimon_spark.spark.spark_catalog.predicates import convert

ODD_NAME = ['a "b"', "`c\\d`\n", "\u00fc\U0001f600"]
TEXT = DataType(Root.VARCHAR, length=100)
VALUES: list[tuple[str, str, DataType, Any]] = [
    ("int", "-2147483648", DataType(Root.INT), -(2**31)),
    ("bigint", "9223372036854775807", DataType(Root.BIGINT), 2**63 - 1),
    ("tinyint", "-128", DataType(Root.TINYINT), -128),
    ("double", "1e-310", DataType(Root.DOUBLE), 1e-310),
    ("double", "'-0.0'", DataType(Root.DOUBLE), -0.0),
    ("double", "'NaN'", DataType(Root.DOUBLE), math.nan),
    ("double", "'-Infinity'", DataType(Root.DOUBLE), -math.inf),
    ("float", "0.1", DataType(Root.FLOAT), 0.1),
    ("boolean", "true", DataType(Root.BOOLEAN), True),
    (
        "decimal(38,2)",
        "999999999999999999999999999999999999.99",
        DataType(Root.DECIMAL, precision=38, scale=2),
        Decimal("999999999999999999999999999999999999.99"),
    ),
    ("decimal(20,10)", "-0.0000000001", DataType(Root.DECIMAL, precision=20, scale=10), Decimal("-0.0000000001")),
    ("date", "'0001-01-01'", DataType(Root.DATE), -719162),
    ("timestamp_ntz", "'1969-12-31 23:59:59.999999'", DataType(Root.TIMESTAMP, precision=6), -1000),
    ("binary", "X''", DataType(Root.VARBINARY, length=9), b""),
    ("binary", "X'00FF80'", DataType(Root.VARBINARY, length=9), b"\x00\xff\x80"),
    ("string", "''", TEXT, ""),
    ("string", "'a\\\\\"\\n\\t\u00fc\u2028\U0001f600'", TEXT, 'a\\"\n\t\u00fc\u2028\U0001f600'),
]


@pytest.mark.parametrize(("name", "text", "data_type", "expected"), VALUES)
def test_values_are_those_of_spark(lake: Lake, name: str, text: str, data_type: DataType, expected: Any) -> None:
    jvm = lake.spark._jvm
    assert jvm is not None
    literal = lake.spark.sql(f"SELECT CAST({text} AS {name}) AS v")._jdf.queryExecution().optimizedPlan()
    value = literal.expressions().head().child()
    expressions = jvm.org.apache.spark.sql.connector.expressions
    column = expressions.FieldReference(jvm.PythonUtils.toSeq(ODD_NAME[:1]))
    children = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName(expressions.Expression._fqn), 2)
    children[0], children[1] = column, expressions.LiteralValue(value.value(), value.dataType())
    given = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName(expressions.filter.Predicate._fqn), 1)
    given[0] = expressions.filter.Predicate(">=", children)
    (node,) = parsed(JvmObjects(lake.spark), given)
    found = convert(node, {ODD_NAME[0]: DataField(0, ODD_NAME[0], data_type)})
    assert isinstance(found, p.Compare)
    assert (found.column, found.op) == ((ODD_NAME[0],), p.Op.GE)
    assert repr(found.value) == repr(expected)
    other = DataType(Root.BOOLEAN) if data_type.root is not Root.BOOLEAN else TEXT
    with pytest.raises(NotPushed):
        convert(node, {ODD_NAME[0]: DataField(0, ODD_NAME[0], other)})


def test_names_and_nested_parts_are_kept(lake: Lake) -> None:
    jvm = lake.spark._jvm
    assert jvm is not None
    expressions = jvm.org.apache.spark.sql.connector.expressions
    children = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName(expressions.Expression._fqn), 1)
    children[0] = expressions.FieldReference(jvm.PythonUtils.toSeq(ODD_NAME))
    given = jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName(expressions.filter.Predicate._fqn), 2)
    given[0], given[1] = expressions.filter.Predicate("IS_NULL", children), expressions.filter.AlwaysTrue()
    for objects in (JvmObjects(lake.spark), JvmObjects(lake.spark)):  # a JVM outlives a SparkContext
        assert parsed(objects, given) == [
            {"is": "IS_NULL", "of": [{"column": ODD_NAME}]},
            {"is": "ALWAYS_TRUE", "of": []},
        ]
        assert objects.compiled("PaimonDriverCalls", "") is objects.compiled("PaimonDriverCalls", "")
