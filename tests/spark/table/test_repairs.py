"""Repairs, purges and copies through PaimonTable, as a user calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import Row, SparkSession
from support.oracles.checker import check_table

from paimon_spark import PaimonTable
from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import LocalFileIO
from paimon_spark.spark.jobs.engine_work import copy_with_spark
from paimon_spark.store.upkeep.copy_files import FileCopy

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> PaimonTable:
    """Twenty keys in two partitions, written twice."""
    builder = (
        PaimonTable.create(spark)
        .location(str(tmp_path / "t"))
        .addColumns(spark.range(0).selectExpr("id", "'' p").schema)
    )
    made = builder.property("primary-key", "id,p").property("bucket", "2").partitionedBy("p").execute()
    for number in range(2):
        made.append(spark.range(20).selectExpr("id", "cast(id % 2 as string) p").where(f"id >= {number}"))
    return made


def ids(table: PaimonTable) -> list[int]:
    return sorted(row["id"] for row in table.toDF(["id"]).collect())


@pytest.mark.parametrize("distributed", [True, False, None])
def test_a_copy(table: PaimonTable, spark: SparkSession, tmp_path: Path, distributed: bool | None) -> None:
    done = table.copy(str(tmp_path / "copy"), "p = '1'", distributed=distributed)
    made = PaimonTable.forPath(spark, done.location)
    assert (done.created, done.snapshot_id, done.partitions) == (True, 1, ("partition p=1",))
    assert ids(made) == list(range(1, 20, 2))
    check_table(done.location)


def test_a_task_that_fails_fails_the_copy(spark: SparkSession, tmp_path: Path) -> None:
    good = tmp_path / "good"
    good.write_bytes(b"12345")
    files = [FileCopy(str(good), str(tmp_path / "copy" / "good"), 5), FileCopy("/absent", str(tmp_path / "x"), 1)]
    with pytest.raises(CorruptFile, match="copying /absent: the file does not exist"):
        copy_with_spark(spark, distributed=True)(LocalFileIO(), LocalFileIO(), files)
    wrong = FileCopy(str(good), str(tmp_path / "y"), 6)
    with pytest.raises(CorruptFile, match="it has 5 bytes, and its metadata say 6"):
        copy_with_spark(spark, distributed=True)(LocalFileIO(), LocalFileIO(), [wrong])


def test_a_lost_file_a_lost_beginning_and_a_purge(table: PaimonTable, spark: SparkSession, tmp_path: Path) -> None:
    lost = next(Path(tmp_path, "t", "p=1").rglob("data-*"))
    lost.unlink()
    assert table.remove_unexisting_files().paths == (str(lost),)
    assert table.remove_unexisting_files(dry_run=False).snapshot_id == 3
    assert len(ids(table)) >= 10
    Path(tmp_path, "t", "snapshot", "snapshot-1").unlink()
    repaired = table.repair_earliest_snapshot()
    assert (repaired.previous_earliest_snapshot_id, repaired.current_earliest_snapshot_id) == (2, 2)
    table.create_tag("t")
    done = table.purge_files()
    assert (done.tags, done.snapshot_id, ids(table)) == (("t",), 4, [])
    assert table.history().select("snapshot_id").collect() == [Row(4)]
    table.append(spark.range(3).selectExpr("id", "'9' p"))
    assert ids(table) == [0, 1, 2]
    check_table(str(tmp_path / "t"))
