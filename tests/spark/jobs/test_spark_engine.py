"""Work in pieces: each a Spark task of its own."""

from __future__ import annotations

import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from paimon_spark.spark.jobs.engine_work import run_pieces

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("count", [0, 1, 8, 20])
def test_each_piece_has_a_task(spark: SparkSession, count: int) -> None:
    def place(piece: int) -> tuple[int, int]:
        context = TaskContext.get()
        assert context is not None
        return piece, context.partitionId()

    done = run_pieces(spark, range(count), place, "count")
    assert sorted(piece for piece, _ in done) == list(range(count))
    assert len({task for _, task in done}) == count
