"""A write by the road with a shuffle, from the opened job to its result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.spark.adapters.store_assignment import stored_times
from paimon_spark.spark.jobs.bucket_routed_write import place_staged_with_spark
from paimon_spark.spark.jobs.compact_job import SparkRunner
from paimon_spark.spark.write.bucket_routing import Computed, write_by_bucket
from paimon_spark.writes.commit_write import abort_job
from paimon_spark.writes.end_write import commit_and_finish, find_committed
from paimon_spark.writes.write_job import WriteJob, WriteResult


def run_write(
    spark: SparkSession,
    df: DataFrame,
    job: WriteJob,
    before_commit: Callable[[], object] = lambda: None,
    watermark: Callable[[], int | None] | None = None,
    here: Computed | None = None,
) -> WriteResult:
    """Writes the rows, commits them, and does what follows a commit.

    Args:
        df: the rows, with the columns of the job.
        before_commit: is called when all files are written; if it fails, they are deleted and nothing is committed.
        watermark: tells that of the snapshot, in epoch milliseconds, when all files of a job with a name and a number
            are written; None: as the job says.
        here: as for write_by_bucket.

    Raises:
        PaimonError: the rows do not fit, or the commit failed.
        Spark's exception for a job that fails otherwise.
    """
    began = time.monotonic()
    runner = SparkRunner(spark)
    done, repeated = find_committed(job.table, job.batch, runner), True
    if done is None:
        messages, repeated = (
            place_staged_with_spark(spark, job, write_by_bucket(stored_times(df, job.row_fields()), job, here)),
            False,
        )
        try:
            before_commit()
            if watermark is not None and messages:  # Spark observes nothing where it has found out that there is no row
                job = replace(job, watermark=watermark())
        except BaseException:
            abort_job(job, messages)
            raise
        done = commit_and_finish(job, messages, runner)
    return WriteResult.of(done, began, repeated)
