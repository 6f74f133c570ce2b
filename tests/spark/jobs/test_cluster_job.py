"""Sorts on Spark: the driver reads no data file; ranges are shuffled; methods and CALL sort."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.oracles.checker import check_table
from support.tables.compacted_tables import NotedFileIO
from support.tables.compacting import rows_of
from support.tables.sorting import PLAIN, SmallParts, delete_rows, same, unordered

from paimon_spark import PaimonTable
from paimon_spark.errors import OptionError
from paimon_spark.spark.jobs.cluster_job import cluster_with_spark
from paimon_spark.store.clustering.sort_table import sort_table
from paimon_spark.store.clustering.work import ClusterWork, GroupResult

pytestmark = pytest.mark.spark


def test_ranges_are_shuffled_and_the_driver_reads_no_data_file(spark: SparkSession, tmp_path: Path) -> None:
    table, given = unordered(tmp_path / "t", options={**PLAIN, "deletion-vectors.enabled": "true"})
    delete_rows(table, lambda row: row[0] == 7)
    noted = NotedFileIO(notes=str(tmp_path / "notes"))
    kept = SmallParts()

    def run(work: ClusterWork) -> Sequence[GroupResult]:
        kept.work = replace(work, range_bytes=3000, group_bytes=9000)
        kept.results = sorted(cluster_with_spark(spark, kept.work), key=lambda result: result.group)
        return kept.results

    result = sort_table(replace(table, file_io=noted), "order", ["k", "v"], run=run)
    left = [row for row in given if row[0] != 7]
    assert (result.files_before, result.rows_after, len(kept.results) > 3) == (6, len(left), True)
    assert os.getpid() not in noted.processes("read") | noted.processes("write")
    keys = [(k is not None, k or 0, v is not None, v or "") for k, v, _ in kept.rows()]
    assert keys == sorted(keys)
    assert same(rows_of(table), left)
    check_table(table.location)


def test_methods_sort_the_chosen_partitions(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = spark.range(300).selectExpr("id % 2 as p", "(id * 7919) % 300 as a", "(id * 104729) % 300 as b")
    rows.write.format("paimon").mode("append").option("partition", "p").option("bucket", "-1").save(path)
    optimizer = PaimonTable.forPath(spark, path).optimize().where("p = 1")
    for execute, columns in ((optimizer.executeZOrderBy, "ab"), (optimizer.executeHilbertOrderBy, "ab")):
        result = execute(*columns)
        assert (result.buckets, result.rows_after) == (1, 150)
    assert optimizer.executeOrderBy("a").files_after == 1
    found = [row.a for row in spark.read.format("paimon").load(path).where("p = 1").collect()]
    assert found == sorted(found)
    with pytest.raises(OptionError, match="'order_by' names a, but no order is asked for"):
        optimizer.compact(order_by="a")
    with pytest.raises(OptionError, match="all files are rewritten"):
        optimizer.compact(full=False, order_strategy="order", order_by="a")


@pytest.mark.parametrize("strategy", ["order", "zorder"])
def test_writes_of_a_table_with_clustering_columns_are_sorted(
    spark: SparkSession, tmp_path: Path, strategy: str
) -> None:
    """Each task writes a range of the rows, in order; rows, partitions and new defaults are those of any write."""
    path = str(tmp_path / "t")
    options = {"clustering.columns": "a,b", "clustering.strategy": strategy, "bucket": "-1", "partition": "p"}
    rows = spark.range(400).selectExpr("id % 2 as p", "(id * 7919) % 400 as a", "(id * 104729) % 400 as b", "id")
    rows.where("false").write.format("paimon").mode("append").options(**options).save(path)
    assert PaimonTable.forPath(spark, path).append(rows.repartition(3)).rows == 400
    found = spark.read.format("paimon").load(path)
    assert same(list(found.collect()), list(rows.collect()))
    if strategy == "order":
        for p in (0, 1):
            files = [row.a for row in found.where(f"p = {p}").collect()]
            assert files == sorted(files)
