"""Reads, writes and compacts on executors of one core each, in one Spark session.

It prints a line of JSON: seconds by work.

``python executors_session.py EXECUTORS FOLDER TABLE FILES``. TABLE is a key table that is not compacted; the session
makes copies of it in FOLDER. FILES is a folder of Parquet files whose rows it writes to a new table of as many buckets.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

import paimon_spark

BUCKETS = 8
ROUNDS = 3
WORKS = ("read", "write", "compact")


def session(executors: int) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local-cluster[{executors},1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.sql.shuffle.partitions", str(BUCKETS)).config("spark.executor.memory", "1g")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def main(executors: str, folder: str, table: str, files: str) -> None:
    spark, copy, written = session(int(executors)), f"{folder}/copy", f"{folder}/written"
    source = spark.read.parquet(*sorted(str(path) for path in Path(files).rglob("*.parquet")))

    def made_anew() -> None:
        for path in (copy, written):
            shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(table, copy)

    def write() -> None:
        create = paimon_spark.PaimonTable.create(spark).location(written).addColumns(source.schema).primaryKey("id")
        create.property("bucket", str(BUCKETS)).property("write-only", "true").execute().append(source)

    works: dict[str, Callable[[], object]] = {
        "read": lambda: spark.read.format("paimon").load(copy).write.format("noop").mode("overwrite").save(),
        "write": write,
        "compact": lambda: paimon_spark.PaimonTable.forPath(spark, copy).optimize().compact(),
    }
    best = dict.fromkeys(WORKS, float("inf"))
    for _ in range(ROUNDS):
        made_anew()
        for what in WORKS:
            began = time.perf_counter()
            works[what]()
            best[what] = min(best[what], time.perf_counter() - began)
    spark.stop()
    print(json.dumps(best), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
