"""A star join: small tables that are not compacted go to all tasks, and the fact table is not shuffled."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from paimon_spark import PaimonTable

pytestmark = pytest.mark.spark

DIMENSIONS = ("shop", "item", "day", "kind")
FACTS = 20_000


def dimension(spark: SparkSession, path: Path, name: str, rows: int) -> PaimonTable:
    """A table with a key, written twice, of which the rows must be merged."""
    frame = spark.range(rows).selectExpr(f"id AS {name}_id", f"concat('{name} ', id) AS {name}_name")
    table = (
        PaimonTable.create(spark).location(str(path / name)).addColumns(frame.schema).primaryKey(f"{name}_id")
        .property("bucket", "1").property("write-only", "true").execute()
    )  # fmt: skip
    table.append(frame)
    table.append(frame.limit(rows // 2))
    return table


def star(facts: DataFrame, others: list[DataFrame]) -> DataFrame:
    for name, other in zip(DIMENSIONS, others, strict=True):
        facts = facts.join(other, f"{name}_id")
    return facts.selectExpr("sum(n) AS total", "count(shop_name) AS facts")


def plan_of(frame: DataFrame, capsys: pytest.CaptureFixture[str]) -> str:
    frame.explain()
    return capsys.readouterr().out


def test_the_fact_table_is_not_shuffled(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = ", ".join(f"(id * {7 + at}) % 40 AS {name}_id" for at, name in enumerate(DIMENSIONS))
    rows = spark.range(FACTS).selectExpr("id AS n", *keys.split(", "))
    facts = PaimonTable.create(spark).location(str(tmp_path / "facts")).addColumns(rows.schema).execute()
    facts.append(rows)
    small = [dimension(spark, tmp_path, name, 40) for name in DIMENSIONS]
    known = star(facts.toDF(), [table.toDF() for table in small])
    unknown = star(facts.toDF(native=False), [table.toDF(native=False) for table in small])
    plan, plain = plan_of(known, capsys), plan_of(unknown, capsys)
    assert (plan.count("BroadcastHashJoin"), plan.count("hashpartitioning")) == (4, 0)
    assert (plain.count("SortMergeJoin"), plain.count("hashpartitioning")) == (4, 8)
    seconds = []
    for frame in (known, unknown):
        began = time.perf_counter()
        assert frame.first() == (sum(range(FACTS)), FACTS)
        seconds.append(time.perf_counter() - began)
    with capsys.disabled():
        print(f"\nstar join: {seconds[0]:.2f} s, without sizes {seconds[1]:.2f} s")
