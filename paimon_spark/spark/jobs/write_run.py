"""A write by the road with a shuffle, from the opened job to its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.spark.jobs.compact_job import SparkRunner
from paimon_spark.spark.jobs.postpone_job import place_staged_with_spark
from paimon_spark.spark.write.bucket_routing import write_by_bucket
from paimon_spark.spark.write.commit_write import abort_job, commit_job
from paimon_spark.spark.write.local_write import Computed
from paimon_spark.spark.write.write_job import WriteJob, WriteResult
from paimon_spark.store.compact.compaction import CompactResult
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.stream_sink.once import commit_new, finish_written
from paimon_spark.store.stream_sink.rules import batch_rules
from paimon_spark.store.stream_sink.written import find_written
from paimon_spark.store.upkeep.finish_write import finish_write


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
    if job.batch is not None:
        return _run_once(spark, df, job, before_commit, watermark, here)
    messages = place_staged_with_spark(spark, job, write_by_bucket(df, job, here))
    try:
        before_commit()
    except BaseException:
        abort_job(job, messages)
        raise
    result = commit_job(job, messages)
    if result is None:
        return WriteResult(0, 0, 0, round((time.monotonic() - began) * 1000), None)
    compaction = finish_write(job.table, messages, SparkRunner(spark))
    millis = round((time.monotonic() - began) * 1000)
    return WriteResult(result.rows, result.files, result.bytes, millis, result.snapshot_id, compaction)


def _run_once(
    spark: SparkSession,
    df: DataFrame,
    job: WriteJob,
    before_commit: Callable[[], object],
    watermark: Callable[[], int | None] | None,
    here: Computed | None,
) -> WriteResult:
    """As run_write, for a job with a name and a number: nothing is computed when the table has it."""
    began = time.monotonic()
    assert job.batch is not None, "the job has a name and a number"
    table, batch, rules = job.table, job.batch, batch_rules(job.table, job.batch)

    def finish(committed: Sequence[CommitMessage]) -> CompactResult | None:
        return finish_write(table, committed, SparkRunner(spark), rules)

    written = find_written(table, batch)
    if written is not None:
        done = finish_written(table, batch, written, (), finish)
        millis = round((time.monotonic() - began) * 1000)
        return WriteResult(0, 0, 0, millis, done.snapshot_id, done.compaction, repeated=True)
    messages = place_staged_with_spark(spark, job, write_by_bucket(df, job, here))
    try:
        before_commit()
        if watermark is not None and messages:  # Spark observes nothing where it has found out that there is no row
            job = replace(job, watermark=watermark())
    except BaseException:
        abort_job(job, messages)
        raise
    done = commit_new(table, batch, messages, lambda: commit_job(job, messages), finish)
    millis = round((time.monotonic() - began) * 1000)
    if done.result is None:
        return WriteResult(0, 0, 0, millis, None)
    result = done.result
    return WriteResult(
        result.rows, result.files, result.bytes, millis, result.snapshot_id, done.compaction, result.found
    )
