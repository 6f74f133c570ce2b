"""Rows that tasks make of pieces: each piece once, in a task of its own, and Spark knows about how large they are."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from paimon_spark.errors import PaimonError
from paimon_spark.format.manifest import EMPTY_STATS, DataFileMeta
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.adapters.sizes import size_of_splits
from paimon_spark.spark.adapters.tasks import Work, rows_of_tasks
from paimon_spark.store.read.splits import Split

SCHEMA = StructType([StructField("piece", IntegerType()), StructField("task", LongType())])
THRESHOLD = 10 * 2**20  # spark.sql.autoBroadcastJoinThreshold


def numbered() -> Work[int]:
    def work(piece: int) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        rows = {"piece": pa.array([piece] * 2, pa.int32()), "task": pa.array([context.partitionId()] * 2, pa.int64())}
        yield pa.RecordBatch.from_pydict(rows)

    return work


@pytest.mark.parametrize("size", [0, 1, 1_000_003, 2**40])
@pytest.mark.parametrize("pieces", [1, 3, 7])
def test_each_piece_is_read_once_in_a_task_of_its_own(spark: SparkSession, pieces: int, size: int) -> None:
    rows = rows_of_tasks(spark, range(pieces), numbered(), SCHEMA, size).collect()
    assert sorted(map(tuple, rows)) == [(piece, piece) for piece in range(pieces) for _ in range(2)]


@pytest.mark.parametrize(("size", "is_sent"), [(0, True), (THRESHOLD - 1000, True), (THRESHOLD + 1000, False)])
def test_spark_sends_what_is_small_to_all_tasks(
    spark: SparkSession, size: int, is_sent: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    small = rows_of_tasks(spark, range(3), numbered(), SCHEMA, size)
    large = rows_of_tasks(spark, range(3), numbered(), SCHEMA, 2**40).withColumnRenamed("task", "other")
    large.join(small, "piece").explain()
    assert ("BroadcastHashJoin" in capsys.readouterr().out) is is_sent


def test_the_size_of_columns_is_their_share_of_the_files() -> None:
    types = (Root.BIGINT, Root.INT, Root.VARCHAR, Root.BOOLEAN, Root.DATE)
    fields = [DataField(number, f"c{number}", DataType(root)) for number, root in enumerate(types)]
    nested = DataType(Root.ROW, fields=(DataField(8, "x", DataType(Root.DOUBLE)), DataField(9, "y", fields[2].type)))
    fields.append(DataField(5, "nested", DataType(Root.ARRAY, element=nested)))
    file = DataFileMeta("data-u-0.parquet", 6500, 1, b"", b"", EMPTY_STATS, EMPTY_STATS, 0, 0, 0, 0)
    splits = [Split(b"", number, "", (file,)) for number in range(2)]
    assert size_of_splits(splits, fields, fields) == 13_000
    assert [size_of_splits(splits, (field,), fields) for field in fields] == [1600, 800, 4000, 200, 800, 5600]
    assert size_of_splits(splits, (), fields) == size_of_splits([], fields, fields) == 0


def test_an_error_is_shown_in_one_sentence(spark: SparkSession) -> None:
    def work(piece: int) -> Iterator[pa.RecordBatch]:
        raise PaimonError(f"piece {piece} is damaged")

    with pytest.raises(Exception, match="piece 1 is damaged") as error:
        rows_of_tasks(spark, [1], work, SCHEMA, 1).collect()
    assert "in work" not in str(error.value)
