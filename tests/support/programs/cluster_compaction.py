"""Run by test_compact_job: compacts a table on a cluster of two workers and prints who did what."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from paimon_spark.procedures.rewrites import Compact
from paimon_spark.spark.jobs.spark_engine import SparkEngine
from paimon_spark.tables.open import open_table
from support.tables.compacted_tables import NotedFileIO


def main(location: str, notes: str) -> None:
    """Prints a line of JSON: the process of the driver, those that read and wrote data files, what was compacted."""
    noted = NotedFileIO(notes=notes)
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    # Both workers must be there before the job starts, or one may do all of it.
    builder = builder.config("spark.scheduler.minRegisteredResourcesRatio", "1")
    spark = builder.config("spark.scheduler.maxRegisteredResourcesWaitingTime", "60s").getOrCreate()
    try:
        metrics = Compact().run(
            replace(open_table(location), file_io=noted), SparkEngine(spark, lambda *_: spark.range(0))
        )
    finally:
        work = Path(pyspark.__file__).parent / "work" / spark.sparkContext.applicationId
        spark.stop()
        shutil.rmtree(work, ignore_errors=True)  # the workers of such a cluster leave it in the installation
    print(
        json.dumps(
            {
                "driver": os.getpid(),
                "read": sorted(noted.processes("read")),
                "wrote": sorted(noted.processes("write")),
                "buckets": metrics.buckets,
                "snapshots": metrics.snapshot_ids,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
