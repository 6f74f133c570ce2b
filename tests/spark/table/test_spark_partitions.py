"""Partitions expire and are marked done by the methods of PaimonTable and after writes, on both roads."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from paimon_spark import PaimonTable
from paimon_spark.errors import OptionError, UnsupportedFeature

pytestmark = pytest.mark.spark

OLD, FAR = "20200101", "99990101"
END_OF_INPUT = {"partition.end-input-to-done": "true"}
LIFETIME = {"partition.expiration-time": "7 d", "partition.timestamp-formatter": "yyyyMMdd"}


def frame(spark: SparkSession, *days: str) -> DataFrame:
    return spark.createDataFrame([(i, day) for i, day in enumerate(days)], "id long, dt string")


def table_of(spark: SparkSession, path: Path, **options: str) -> PaimonTable:
    builder = PaimonTable.create(spark).location(str(path)).addColumns(frame(spark, OLD).schema).partitionedBy("dt")
    for key, value in {"primary-key": "id,dt", "bucket": "1", **options}.items():
        builder.property(key, value)
    return builder.execute()


def days(table: PaimonTable) -> list[str]:
    return sorted(row.dt for row in table.toDF(["dt"]).distinct().collect())


def marked(path: Path) -> set[str]:
    return {str(found.parent.relative_to(path)) for found in path.rglob("_SUCCESS")}


def test_old_partitions_expire_by_a_call(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(spark, tmp_path / "t")
    table.append(frame(spark, OLD, "20200102", FAR, "x"))
    planned = table.expire_partitions(timedelta(days=7), "yyyyMMdd", dry_run=True)
    assert (planned.partitions, planned.snapshot_ids) == (("dt=20200101", "dt=20200102"), ())
    assert len(days(table)) == 4
    done = table.expire_partitions("7 d", "yyyyMMdd", max_expires=1)
    assert (done.partitions, done.without_time, done.snapshot_ids) == (("dt=20200101",), ("dt=x",), (2,))
    assert days(table) == ["20200102", FAR, "x"]
    assert table.expire_partitions("7 d", expire_strategy="update-time").partitions == ()
    with pytest.raises(OptionError, match="give expiration_time"):
        table.expire_partitions()


@pytest.mark.parametrize("road", ["append", "df.write"])
def test_old_partitions_expire_after_a_write(spark: SparkSession, tmp_path: Path, road: str) -> None:
    table = table_of(spark, tmp_path / "t", **LIFETIME, **{"end-input.check-partition-expire": "true"})
    rows = frame(spark, OLD, FAR)
    if road == "append":
        table.append(rows)
    else:
        rows.write.format("paimon").mode("append").save(str(tmp_path / "t"))
    assert days(table) == [FAR]


@pytest.mark.parametrize("road", ["append", "df.write"])
def test_written_partitions_are_marked(spark: SparkSession, tmp_path: Path, road: str) -> None:
    table = table_of(spark, tmp_path / "t")
    rows = frame(spark, OLD, FAR)
    if road == "append":
        table.append(rows, END_OF_INPUT)
    else:
        rows.write.format("paimon").mode("append").options(**END_OF_INPUT).save(str(tmp_path / "t"))
    assert marked(tmp_path / "t") == {f"dt={OLD}", f"dt={FAR}"}
    table.append(frame(spark, "other"))
    assert len(marked(tmp_path / "t")) == 2


def test_partitions_are_marked_by_a_call(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(spark, tmp_path / "t")
    done = table.mark_partition_done(f"dt={OLD};dt=a/b")
    assert done.partitions == (f"dt={OLD}", "dt=a%2Fb")
    assert marked(tmp_path / "t") == set(done.partitions)
    assert table.mark_partition_done([{"dt": FAR}]).actions == ("success-file",)


def test_a_write_that_could_not_mark_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(spark, tmp_path / "t", **{"partition.mark-done-action": "done-partition"})
    with pytest.raises(UnsupportedFeature, match="needs a metastore"):
        table.append(frame(spark, OLD), END_OF_INPUT)
    assert table.append(frame(spark, OLD)).snapshot_id == 1
