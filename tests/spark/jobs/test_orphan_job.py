"""Orphan files through PaimonTable: Spark tasks list and delete, with the same result as one process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.oracles.orphaned import NotingFileIO, put
from support.tables.expiring import live_on, new_table

from paimon_spark import PaimonTable
from paimon_spark.spark.jobs.engine_work import SparkWork
from paimon_spark.store.clean.orphans import remove_orphan_files
from paimon_spark.store.metadata.table import Table

pytestmark = pytest.mark.spark


def many_buckets(path: Path) -> tuple[Table, set[str]]:
    """A table with orphans in many directories, and their paths."""
    table = new_table(path, {})
    live_on(table, "wc")
    return table, {str(put(path / f"bucket-{number}" / f"data-{number}.parquet")) for number in range(1, 300)}


def test_tasks_list_and_delete(spark: SparkSession, tmp_path: Path) -> None:
    table, orphans = many_buckets(tmp_path / "t")
    io = NotingFileIO(notes=str(tmp_path / "notes"))
    noted = Table(table.location, io, table.schema, table.settings)
    work = SparkWork(spark, noted, least_directories=1, least_files=1)
    done = remove_orphan_files(noted, dry_run=False, work=work)
    assert set(done.paths) == orphans
    assert os.getpid() not in io.processes("list") | io.processes("delete")
    assert io.processes("delete")
    assert not any(Path(path).exists() for path in orphans)


def test_little_is_done_here(spark: SparkSession, tmp_path: Path) -> None:
    table, orphans = many_buckets(tmp_path / "t")
    io = NotingFileIO(notes=str(tmp_path / "notes"))
    noted = Table(table.location, io, table.schema, table.settings)
    done = remove_orphan_files(noted, dry_run=False, work=SparkWork(spark, noted))
    assert set(done.paths) == orphans
    assert io.processes("list") == io.processes("delete") == {os.getpid()}


def test_a_listing_that_fails_in_a_task(spark: SparkSession, tmp_path: Path) -> None:
    table, orphans = many_buckets(tmp_path / "t")
    io = NotingFileIO(notes=str(tmp_path / "notes"), broken="bucket-7")
    noted = Table(table.location, io, table.schema, table.settings)
    with pytest.raises(PermissionError, match="bucket-7"):
        remove_orphan_files(noted, dry_run=False, work=SparkWork(spark, noted, 1, 1))
    assert all(Path(path).exists() for path in orphans)


@pytest.mark.parametrize("distributed", [True, False, None])
def test_paimon_table(spark: SparkSession, tmp_path: Path, distributed: bool | None) -> None:
    plain, orphans = many_buckets(tmp_path / "t")
    table = PaimonTable.forPath(spark, plain.location)
    dry = table.remove_orphan_files(distributed=distributed)
    assert (set(dry.paths), dry.dry_run) == (orphans, True)
    none = table.remove_orphan_files("2001-01-01 00:00:00", distributed=distributed)
    assert (none.paths, none.younger_files, none.younger_bytes) == ((), len(orphans), dry.bytes)
    assert (dry.younger_files, dry.younger_bytes) == (0, 0)
    told: list[str] = []
    done = table.remove_orphan_files(
        dry_run=False, distributed=distributed, progress=lambda what, done, total: told.append(what)
    )
    assert done.paths == dry.paths
    assert {"directories", "manifests", "orphans"} == set(told)
    assert table.toDF().count() == 2
