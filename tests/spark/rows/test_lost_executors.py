"""Statements whose rows Spark keeps between its jobs, and which lose them with the executor that had them.

The blocks are removed as Spark's master removes those of an executor that died. ``tests/release/cluster_faults.py``
kills real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from support.oracles.checker import check_table

from paimon_spark import PaimonTable, create_table, open_table
from paimon_spark.spark.rows.job import MOST_LOSSES

KINDS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "keys": (("k",), {"bucket": "1"}),
    "merged buckets": (("k",), {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"}),
    "rewritten files": ((), {}),
    "vectors": ((), {"deletion-vectors.enabled": "true"}),
}


def lose_blocks(spark: SparkSession) -> None:
    """What Spark keeps in executors is gone."""
    context = spark.sparkContext._jsc
    for number in list(context.getPersistentRDDs().keySet()):
        context.sc().unpersistRDD(int(number), True)


@pytest.fixture
def losses(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """A function that lets the rows of the next so many checkpoints be lost."""
    left = [0]
    kind = type(spark.range(1))
    original = kind.localCheckpoint

    def checkpoint(self: DataFrame, *args: Any, **more: Any) -> DataFrame:
        made = original(self, *args, **more)
        if left[0]:
            left[0] -= 1
            lose_blocks(spark)
        return made

    def lose(count: int) -> None:
        left[0] = count

    monkeypatch.setattr(kind, "localCheckpoint", checkpoint)
    return lose


def made(spark: SparkSession, path: Path, kind: str) -> PaimonTable:
    keys, options = KINDS[kind]
    made = create_table(f"{path}/t", {"k": "INT", "v": "STRING"}, keys, options=options)
    table = PaimonTable.forPath(spark, made.location)
    table.append(spark.range(6000).selectExpr("CAST(id AS INT) k", "'old' v"))
    return table


def counted(path: Path) -> dict[str, int]:
    values = open_table(f"{path}/t").scan("v").to_arrow()["v"].value_counts().to_pylist()
    return {row["values"]: row["counts"] for row in values}


@pytest.mark.parametrize(("kind", "lost"), [("keys", 1), ("rewritten files", MOST_LOSSES), ("vectors", 2)])
def test_a_merge_begins_anew(
    kind: str, lost: int, spark: SparkSession, losses: Callable[[int], None], tmp_path: Path
) -> None:
    table = made(spark, tmp_path, kind)
    source = spark.range(3000, 9000).selectExpr("CAST(id AS INT) k", "'new' v")
    losses(lost)
    merge = table.merge(source, "target.k = source.k")
    result = merge.whenMatchedUpdate(set={"v": "source.v"}).whenNotMatchedInsertAll().execute()
    assert (result.rows_updated, result.rows_inserted) == (3000, 3000)
    assert counted(tmp_path) == {"old": 3000, "new": 6000}
    check_table(f"{tmp_path}/t")


@pytest.mark.parametrize("kind", ["merged buckets", "rewritten files", "vectors"])
def test_a_delete_begins_anew(kind: str, spark: SparkSession, losses: Callable[[int], None], tmp_path: Path) -> None:
    table = made(spark, tmp_path, kind)
    losses(1)
    result = table.delete((sf.col("k") % 2 == 0) & (sf.rand() < 2))
    assert result.rows_deleted == 3000
    assert counted(tmp_path) == {"old": 3000}
    check_table(f"{tmp_path}/t")


def test_it_does_not_begin_anew_for_ever(spark: SparkSession, losses: Callable[[int], None], tmp_path: Path) -> None:
    table = made(spark, tmp_path, "rewritten files")
    before = sorted(path.name for path in tmp_path.rglob("*.parquet"))
    losses(100)
    with pytest.raises(Exception, match="CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"):
        table.delete((sf.col("k") % 2 == 0) & (sf.rand() < 2))
    losses(0)
    assert counted(tmp_path) == {"old": 6000}
    assert sorted(path.name for path in tmp_path.rglob("*.parquet")) == before
