"""Writes of new keys to dynamic buckets against writes to a fixed number of buckets, with and without Spark."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import bench_spark
import data
import numpy as np
import pyarrow as pa
import tables
from measure import Results, fastest
from pyspark.sql import DataFrame

from paimon_spark import PaimonTable
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.tables.open import open_table

FIXED, DYNAMIC = {"bucket": "4"}, {"bucket": "-1"}
GOAL = 1.5


def fresh(path: Path) -> str:
    shutil.rmtree(path, ignore_errors=True)
    return str(path)


def one_thread(batches: list[pa.RecordBatch], path: Path, options: Mapping[str, str]) -> None:
    """What a task of df.write does, into a new table."""
    create_table(fresh(path), new_schema(batches[0].schema, ("id",), (), {"write-only": "true", **options}))
    tables.write(open_table(str(path)), batches, "bench")


def append(source: DataFrame, path: Path, options: Mapping[str, str]) -> None:
    """The road with shuffles, into a new table."""
    create = PaimonTable.create(source.sparkSession).location(fresh(path)).addColumns(source.schema).primaryKey("id")
    for key, value in {"write-only": "true", **options}.items():
        create = create.property(key, value)
    create.execute().append(source)


def run(results: Results, root: Path, scale: float) -> None:
    count = int(5e6 * scale)
    batches = list(data.rows("int64 dense", np.random.default_rng(3).permutation(count), 0))
    best = fastest(
        {
            "fixed": lambda: one_thread(batches, root / "fixed", FIXED),
            "dynamic": lambda: one_thread(batches, root / "dynamic", DYNAMIC),
        },
        3,
    )
    note = f"{count:,} new keys; fixed {best['fixed']:.2f} s, dynamic {best['dynamic']:.2f} s"
    results.lower("dynamic buckets, df.write task: time / fixed", best["dynamic"] / best["fixed"], "x", GOAL, note)
    spark = bench_spark.session()
    source = spark.read.parquet(*tables.data_files(tables.append_table(root / "bench.db", count)))
    best = fastest(
        {
            "fixed": lambda: append(source, root / "fixed", FIXED),
            "dynamic": lambda: append(source, root / "dynamic", DYNAMIC),
        },
        3,
    )
    note = f"{count:,} new keys; fixed {best['fixed']:.2f} s, dynamic {best['dynamic']:.2f} s"
    results.lower("dynamic buckets, append(): time / fixed", best["dynamic"] / best["fixed"], "x", GOAL, note)
    spark.stop()
