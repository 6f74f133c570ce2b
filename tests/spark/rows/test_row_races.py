"""Statements that run at the same time: no update is lost.

The default is a short race; ``PAIMON_LONG=1`` runs until 400 increments are acknowledged, ``PAIMON_INCREMENTS`` says
another number.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.long_runs import tries

from paimon_spark import PaimonTable
from paimon_spark.errors import CommitConflict, RetriesExhausted

pytestmark = pytest.mark.spark
JOBS = 4
INCREMENTS = tries("PAIMON_INCREMENTS", ci=8, long=400)
KEYED, VECTORS = {"primary-key": "id", "bucket": "1"}, {"deletion-vectors.enabled": "true"}
COLUMNS = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.mark.parametrize("options", [KEYED, {}, VECTORS, COLUMNS], ids=["keyed", "append", "vectors", "columns"])
def test_increments_of_a_counter_are_not_lost(
    quick_spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    path = str(tmp_path / "t")
    counters = quick_spark.createDataFrame([(i, 0) for i in range(3)], "id int, n bigint").coalesce(1)
    counters.write.format("paimon").mode("append").options(**options, **{"commit.max-retries": "100"}).save(path)

    def increment(number: int) -> int:
        table = PaimonTable.forPath(quick_spark, path)
        try:
            return table.update(f"id = {number % 3}", {"n": "n + 1"}).rows_updated
        except (CommitConflict, RetriesExhausted):
            return 0

    with ThreadPoolExecutor(JOBS) as pool:
        acknowledged = sum(pool.map(increment, range(INCREMENTS)))
    table = PaimonTable.forPath(quick_spark, path)
    assert acknowledged == INCREMENTS
    assert table.toDF().selectExpr("sum(n)").collect()[0][0] == acknowledged
    assert not table.check().problems


def test_changes_of_columns_beside_compactions_and_deletions(quick_spark: SparkSession, tmp_path: Path) -> None:
    """Of a table with data evolution: no change of a row is lost, and no deleted row comes back."""
    path, count = str(tmp_path / "t"), INCREMENTS
    options = {**COLUMNS, **VECTORS, "commit.max-retries": "100", "compaction.min.file-num": "2"}
    for part in range(3):
        ids = range(10 * part, 10 * part + 10)
        rows = quick_spark.createDataFrame([(i, 0, 0) for i in ids], "id int, a bigint, b bigint").coalesce(1)
        rows.write.format("paimon").mode("append").options(**options).save(path)

    def change(number: int) -> tuple[str, int]:
        table = PaimonTable.forPath(quick_spark, path)
        match number % 4:
            case 0:
                return "a", table.update(f"id = {number // 4 % 3 * 10}", {"a": "a + 1"}).rows_updated
            case 1:
                return "b", table.update(f"id >= 10 * {number % 3} and id % 10 = 0", {"b": "b + 1"}).rows_updated
            case 2:
                return "gone", table.delete(f"id = {number // 4 % 9 + 1}").rows_deleted
        table.optimize().executeCompaction()
        return "nothing", 0

    with ThreadPoolExecutor(JOBS) as pool:
        done = list(pool.map(change, range(2 * count)))
    totals = {what: sum(number for name, number in done if name == what) for what in ("a", "b", "gone")}
    table = PaimonTable.forPath(quick_spark, path)
    assert tuple(table.toDF().selectExpr("sum(a)", "sum(b)", "30 - count(*)").collect()[0]) == tuple(totals.values())
    assert totals["a"] == len([name for name, _ in done if name == "a"])
    assert not table.check().problems
