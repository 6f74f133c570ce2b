"""Rows of Spark for the program: every type that it cannot print as it is becomes text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from paimon_spark.cli.values import json_rows
from paimon_spark.spark.console.statement_thread import arrow_rows, unique_names

QUERY = """
SELECT interval '1' day AS d, interval '1' year AS y, array(interval '2' day) AS ds, parse_json('{"a": [1]}') AS v,
    NULL AS n, 1 AS x, 'b' AS x, 3 AS x_2, map('k', named_struct('a', 1.50BD)) AS m, X'00ff' AS raw,
    DATE '0001-01-01' AS `a.b`
"""


def test_types_and_names(spark: SparkSession) -> None:
    [row] = json_rows(arrow_rows(spark.sql(QUERY), None).to_batches())
    assert row == {
        "d": "INTERVAL '1' DAY",
        "y": "INTERVAL '1' YEAR",
        "ds": "[INTERVAL '2' DAY]",
        "v": '{"a":[1]}',
        "n": None,
        "x": 1,
        "x_3": "b",
        "x_2": 3,
        "m": [["k", {"a": "1.50"}]],
        "raw": "AP8=",
        "a.b": "0001-01-01",
    }


def test_limits_and_statements_without_rows(spark: SparkSession) -> None:
    assert arrow_rows(spark.range(10), 3).num_rows == 3
    assert arrow_rows(spark.createDataFrame([], ""), 3).num_columns == 0
    assert arrow_rows(spark.sql("SELECT 1 AS a WHERE false"), None).column_names == ["a"]


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "b", ""]), max_size=7))
def test_names_become_unique(names: list[str]) -> None:
    found = unique_names(names)
    assert len(set(found)) == len(found) == len(names)
    firsts = {name: names.index(name) for name in names}
    assert all(found[at] == name for name, at in firsts.items())


@pytest.mark.parametrize("names", [["a", "b"], []])
def test_unique_names_stay(names: list[str]) -> None:
    assert unique_names(names) == names
