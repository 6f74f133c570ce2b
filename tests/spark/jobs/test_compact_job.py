"""Compaction on Spark: tasks run in the workers, the driver reads no data file; writers of both roads compact."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from support.long_runs import LONG
from support.oracles.checker import check_table
from support.paths import ROOT
from support.tables.compacted_tables import NotedFileIO, append, levels, new_table, rows_of

from paimon_spark import PaimonTable, open_table
from paimon_spark.errors import CompactionFailed, OptionError
from paimon_spark.procedures.rewrites import Compact
from paimon_spark.spark.jobs.compact_job import SparkRunner
from paimon_spark.spark.jobs.spark_engine import SparkEngine
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.metadata.table import Table

pytestmark = pytest.mark.spark

VECTORS = {"deletion-vectors.enabled": "true"}


def rows(spark: SparkSession, number: int, first: int = 0) -> DataFrame:
    query = "cast(id as int) as k", f"cast({number} as bigint) as a", "concat('text ', id) as b"
    return spark.range(first, first + 20).selectExpr(*query)


def two_runs(path: Path, options: Mapping[str, str]) -> Table:
    table = new_table(path, options)
    for number in range(2):
        append(table, [(k, number, f"text {k}") for k in range(20)])
    return table


ROWS = [(k, 1, f"text {k}") for k in range(20)]


def test_the_driver_reads_no_data_file(spark: SparkSession, tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", {"bucket": "3"})
    noted = NotedFileIO(notes=str(tmp_path / "notes"))
    metrics = Compact().run(replace(table, file_io=noted), SparkEngine(spark, lambda *_: spark.range(0)))
    assert (metrics.buckets, metrics.files_before, metrics.files_after, metrics.snapshot_ids) == (3, 6, 3, (3,))
    assert os.getpid() not in noted.processes("read") | noted.processes("write")
    assert noted.processes("write")
    assert rows_of(table) == ROWS
    check_table(table.location)


@pytest.mark.skipif(not LONG, reason="a cluster takes a minute to start: PAIMON_LONG=1")
def test_on_a_cluster_of_two_workers(tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", {"bucket": "6"})
    paths = [str(ROOT), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
    settings = {"PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable}
    script = [
        sys.executable,
        str(ROOT / "tests/support/programs/cluster_compaction.py"),
        table.location,
        str(tmp_path / "notes"),
    ]
    run = subprocess.run(
        script, env={**os.environ, **settings}, capture_output=True, text=True, timeout=600, check=True
    )
    found = json.loads(run.stdout.splitlines()[-1])
    assert (found["buckets"], found["snapshots"]) == (6, [3])
    assert found["driver"] not in found["read"] + found["wrote"]
    assert len(found["wrote"]) == 2, "each executor has one core and so one process: both took tasks"
    assert rows_of(table) == ROWS


def test_optimize(spark: SparkSession, tmp_path: Path) -> None:
    create = PaimonTable.create(spark).location(str(tmp_path / "t")).addColumns(rows(spark, 0).schema)
    create.addColumn("dt", "string", nullable=False).primaryKey("dt", "k").partitionedBy("dt")
    table = create.property("bucket", "1").property("write-only", "true").execute()
    for number in range(2):
        for day in ("a", "b"):
            table.append(rows(spark, number).selectExpr("*", f"'{day}' as dt"))
    with pytest.raises(OptionError, match="k is no partition column"):
        table.optimize().compact(where="k = 1")
    assert table.optimize().compact(full=False).snapshot_ids == ()
    first = table.optimize().where("dt = 'a'").executeCompaction()
    assert (first.buckets, first.files_before, first.files_after) == (1, 2, 1)
    second = table.optimize().compact()
    assert (second.buckets, second.rows_before, second.rows_after) == (1, 40, 20)
    assert table.optimize().compact().buckets == 0
    kinds = [row.commit_kind for row in table.history().select("commit_kind").collect()]
    assert kinds == ["COMPACT", "COMPACT", *["APPEND"] * 4]
    assert table.toDF().where("a = 1").count() == 40
    check_table(str(tmp_path / "t"))


def test_a_call_does_not_wait_as_writers_of_a_gentle_table_do(spark: SparkSession, tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", {"bucket": "1", **VECTORS, "lookup-compact": "gentle"})
    assert rows_of(table) == []
    PaimonTable.forPath(spark, table.location).optimize().compact(full=False)
    assert rows_of(table) == ROWS


def test_only_the_latest_snapshot_is_compacted(spark: SparkSession, tmp_path: Path) -> None:
    two_runs(tmp_path / "t", {})
    table = PaimonTable.forPath(spark, str(tmp_path / "t"), {"scan.snapshot-id": "1"})
    with pytest.raises(OptionError, match=r"'scan.snapshot-id' chooses what a read sees"):
        table.optimize().compact()


@pytest.mark.parametrize(
    "options", [VECTORS, {"merge-engine": "first-row"}, {"changelog-producer": "lookup"}], ids=["dv", "first", "lookup"]
)
def test_rows_are_visible_after_df_write(spark: SparkSession, tmp_path: Path, options: Mapping[str, str]) -> None:
    table = new_table(tmp_path / "t", {"bucket": "2", **options})
    for number in range(3):
        rows(spark, number, 10 * number).write.format("paimon").mode("append").save(table.location)
        assert 0 not in levels(table)
    expected = [(k, min(k // 10, 2), f"text {k}") for k in range(40)]
    if "merge-engine" in options:
        expected = [(k, max(0, k // 10 - 1), f"text {k}") for k in range(40)]
    assert rows_of(table) == expected
    assert spark.read.format("paimon").load(table.location).count() == 40
    check_table(table.location)


def test_append_compacts_its_buckets(spark: SparkSession, tmp_path: Path) -> None:
    new_table(tmp_path / "t", {"bucket": "2", "num-sorted-run.compaction-trigger": "2"})
    table = PaimonTable.forPath(spark, str(tmp_path / "t"))
    first = table.append(rows(spark, 0)).compaction
    assert first is not None
    assert first.snapshot_ids == ()
    second = table.append(rows(spark, 1)).compaction
    assert second is not None
    assert (second.buckets, second.snapshot_ids) == (2, (3,))
    assert table.append(rows(spark, 2), {"write-only": "true"}).compaction is None
    assert levels(open_table(str(tmp_path / "t"))) == [0, 0, 2, 2]
    full = table.overwrite(rows(spark, 3), options={"full-compaction.delta-commits": "1"}).compaction
    assert full is not None
    assert levels(open_table(str(tmp_path / "t"))) == [2, 2]


def test_a_task_that_fails_does_not_fail_the_others(spark: SparkSession, tmp_path: Path) -> None:
    table = two_runs(tmp_path / "t", {"bucket": "2"})
    broken = next(Path(table.location, "bucket-1").iterdir())
    broken.write_bytes(b"nothing")
    with pytest.raises(CompactionFailed, match=r"1 buckets failed, 1 are compacted.*bucket 1: CorruptFile"):
        PaimonTable.forPath(spark, table.location).optimize().compact()
    assert levels(table) == [0, 0, 5]


def test_a_job_that_spark_fails(spark: SparkSession, tmp_path: Path) -> None:
    """A worker that dies, say: the error is ours and names the table."""
    table = two_runs(tmp_path / "t", {"bucket": "1"})
    plan = plan_compaction(table)

    class Unpicklable(str):
        def __reduce__(self) -> tuple[object, ...]:
            return os._exit, (7,)

    deadly = replace(table, branch=Unpicklable("main"))
    with pytest.raises(CompactionFailed, match=rf"compacting {table.location}: Spark failed the job of 1 tasks"):
        SparkRunner(spark).run(deadly, plan.tasks)
    assert rows_of(table) == ROWS
