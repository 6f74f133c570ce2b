"""Statements that run at the same time: no update is lost, and what isolation does not prevent is told.

The default is a short race; ``PAIMON_LONG=1`` runs until 400 increments are acknowledged.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.long_runs import LONG

from paimon_spark import PaimonTable
from paimon_spark.errors import CommitConflict, RetriesExhausted

pytestmark = pytest.mark.spark
JOBS = 4
INCREMENTS = 400 if LONG else 8


@pytest.mark.parametrize(
    "options",
    [{"primary-key": "id", "bucket": "1"}, {}, {"deletion-vectors.enabled": "true"}] if LONG
    else [{"primary-key": "id", "bucket": "1"}, {}],
    ids=lambda options: ",".join(options) or "append",
)  # fmt: skip
def test_increments_of_a_counter_are_not_lost(spark: SparkSession, tmp_path: Path, options: dict[str, str]) -> None:
    path = str(tmp_path / "t")
    counters = spark.createDataFrame([(i, 0) for i in range(3)], "id int, n bigint").coalesce(1)
    counters.write.format("paimon").mode("append").options(**options, **{"commit.max-retries": "100"}).save(path)

    def increment(number: int) -> int:
        table = PaimonTable.forPath(spark, path)
        try:
            return table.update(f"id = {number % 3}", {"n": "n + 1"}).rows_updated
        except (CommitConflict, RetriesExhausted):
            return 0

    with ThreadPoolExecutor(JOBS) as pool:
        acknowledged = sum(pool.map(increment, range(INCREMENTS)))
    table = PaimonTable.forPath(spark, path)
    assert acknowledged == INCREMENTS
    assert table.toDF().selectExpr("sum(n)").collect()[0][0] == acknowledged
    assert not table.check().problems
