"""Joins of tables with the same buckets run without an exchange, and have the rows that a join with one has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame

from conftest import Lake, Rows

ENABLED = "spark.sql.sources.v2.bucketing.enabled"
SHUFFLES = "spark.sql.sources.v2.bucketing.shuffle.enabled"
JOIN = "SELECT a.k, a.v, b.v FROM a JOIN b ON a.k = b.k"


@pytest.fixture(autouse=True)
def _joins_by_merging(lake: Lake) -> Iterator[None]:
    given = {"spark.paimon.read.local": "false", "spark.sql.autoBroadcastJoinThreshold": "-1", ENABLED: "true"}
    for key, value in given.items():
        lake.spark.conf.set(key, value)
    yield
    for key in (*given, SHUFFLES):
        lake.spark.conf.unset(key)


def exchanges(frame: DataFrame) -> int:
    """How many exchanges a query has had."""
    frame.collect()
    return sum("ShuffleExchange" in kind for kind in _kinds(frame._jdf.queryExecution().executedPlan()))


def _kinds(node: Any) -> Iterator[str]:
    kind = node.getClass().getSimpleName()
    yield kind
    if kind == "AdaptiveSparkPlanExec":
        yield from _kinds(node.executedPlan())
    elif kind.endswith("QueryStageExec"):
        yield from _kinds(node.plan())
    else:
        children = node.children()
        for number in range(children.size()):
            yield from _kinds(children.apply(number))


def without(lake: Lake, query: str) -> Rows:
    """The rows where nothing is reported."""
    lake.spark.conf.unset(ENABLED)
    try:
        return lake.rows(query)
    finally:
        lake.spark.conf.set(ENABLED, "true")


def check(lake: Lake, query: str, count: int) -> None:
    """The query has so many exchanges, and the rows of the query with all of them."""
    frame = lake.sql(query)
    assert exchanges(frame) == count, query
    expected = without(lake, query)
    assert expected
    assert lake.rows(frame) == expected, query


def test_buckets_are_joined_without_exchange(lake: Lake) -> None:
    lake.sql("CREATE TABLE a (k INT, v INT) TBLPROPERTIES ('primary-key' = 'k', 'bucket' = '3')")
    lake.sql("INSERT INTO a SELECT int(id), 1 FROM range(60)")
    lake.sql("INSERT INTO a SELECT int(id), 2 FROM range(30)")  # rows of two files are merged
    keys = "TBLPROPERTIES ('bucket-key' = 'K', 'bucket' = '3')"
    lake.sql(f"CREATE TABLE b (K INT, v INT, dt STRING) PARTITIONED BY (dt) {keys}")
    lake.sql("INSERT INTO b SELECT int(id * 2), 3, 'x' FROM range(60)")
    lake.sql("INSERT INTO b SELECT int(id), 4, 'y' FROM range(9)")
    lake.sql("INSERT INTO b VALUES (NULL, 5, 'y'), (NULL, 6, 'x')")
    check(lake, JOIN, 0)
    check(lake, "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND b.v > 3", 0)
    check(lake, "SELECT * FROM b LEFT ANTI JOIN a ON a.k = b.k", 0)
    check(lake, "SELECT * FROM a FULL JOIN b ON a.k = b.k", 0)
    check(lake, "SELECT k, count(*), sum(v) FROM b GROUP BY k", 0)
    check(lake, "SELECT a.k, c.v FROM a JOIN b ON a.k = b.k JOIN b c ON c.k = a.k WHERE b.dt = 'x'", 0)
    with pytest.raises(Exception, match="`bucket` does not implement a ScalarFunction"):
        lake.sql("SELECT lake.bucket(3, k) FROM a")
    lake.spark.conf.set(SHUFFLES, "true")  # Spark may then shuffle one side into the buckets of the other
    check(lake, JOIN.replace("JOIN b", "JOIN (SELECT DISTINCT * FROM b WHERE v > 0) b"), 3)
    check(lake, JOIN, 2)


@pytest.mark.parametrize(
    ("kind", "values", "count"),
    [
        ("STRING", "'a', 'b', 'ü', 'b ', ''", 0),
        ("VARCHAR(4)", "'a', 'b', 'ü', 'b ', ''", 0),
        ("BIGINT", "1, -1, 9223372036854775807, 0, 7", 0),
        ("DECIMAL(10,2)", "1.25, -1, 0, 3.50, 99999999.99", 0),
        ("DECIMAL(30,2)", "1.25, -1, 0, 3.50, 99999999.99", 0),
        ("DATE", "DATE'2020-01-01', DATE'1960-01-01', DATE'0001-01-01'", 0),
        ("BOOLEAN", "true, false", 0),
        ("TIMESTAMP", "TIMESTAMP'2020-01-01 00:00:00', TIMESTAMP'1960-01-01 00:00:00'", 2),
        ("DOUBLE", "double('NaN'), -0.0D, 0.0D, 1.5D", 2),
        ("CHAR(3)", "'a', 'b', 'abc'", 2),
    ],
)
def test_types_of_keys(lake: Lake, kind: str, values: str, count: int) -> None:
    for name, value in (("a", 1), ("b", 2)):
        lake.sql(f"CREATE TABLE {name} (k {kind}, v INT) TBLPROPERTIES ('bucket-key' = 'k', 'bucket' = '3')")
        lake.sql(f"INSERT INTO {name} SELECT cast(k AS {kind}), {value} FROM (SELECT explode(array({values})) k)")
        lake.sql(f"INSERT INTO {name} VALUES (NULL, {value + 2})")
    check(lake, JOIN, count)


@pytest.mark.parametrize(
    ("of_a", "of_b", "count"),
    [
        ("'bucket-key' = 'k', 'bucket' = '3'", "'bucket-key' = 'k', 'bucket' = '4'", 2),
        ("'bucket-key' = 'k', 'bucket' = '3'", "'bucket-key' = 'k,v', 'bucket' = '3'", 2),
        ("'bucket-key' = 'v', 'bucket' = '3'", "'bucket-key' = 'v', 'bucket' = '3'", 2),
        ("'primary-key' = 'k'", "'primary-key' = 'k'", 2),
        ("'bucket-key' = 'k', 'bucket' = '3', 'bucket-function.type' = 'mod'", "'bucket-key' = 'k', 'bucket' = '3'", 2),
    ],
    ids=["other number", "two columns", "another column", "dynamic", "another function"],
)
def test_other_buckets_are_joined_with_an_exchange(lake: Lake, of_a: str, of_b: str, count: int) -> None:
    for name, properties in (("a", of_a), ("b", of_b)):
        lake.sql(f"CREATE TABLE {name} (k INT, v INT) TBLPROPERTIES ({properties})")
        lake.sql(f"INSERT INTO {name} SELECT int(id), int(id % 5) FROM range(20)")
    check(lake, JOIN, count)


def test_buckets_of_two_numbers_are_not_reported(lake: Lake) -> None:
    for name in ("a", "b"):
        keys = "TBLPROPERTIES ('bucket-key' = 'k', 'bucket' = '3')"
        lake.sql(f"CREATE TABLE {name} (k INT, v INT, dt STRING) PARTITIONED BY (dt) {keys}")
        lake.sql(f"INSERT INTO {name} SELECT int(id), 1, 'x' FROM range(20)")
    check(lake, JOIN, 0)
    for name in ("a", "b"):
        lake.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('bucket' = '4')")
        lake.sql(f"INSERT OVERWRITE {name} PARTITION (dt = 'y') SELECT int(id), 2 FROM range(20)")
    check(lake, JOIN, 2)
    check(lake, f"{JOIN} WHERE a.dt = 'y' AND b.dt = 'y'", 0)
    check(lake, f"{JOIN} WHERE a.dt = 'x' AND b.dt = 'x'", 0)
    check(lake, f"{JOIN} WHERE a.dt = 'x' AND b.dt = 'y'", 2)
