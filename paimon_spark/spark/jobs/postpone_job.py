"""Tables with postponed buckets on Spark: what tasks have staged, and what waits in the table, moves into buckets."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from paimon_spark.arrow.predicates.predicate import Predicate
from paimon_spark.spark.jobs.bucket_routed_write import rewrite_with_spark
from paimon_spark.spark.write.commit_write import abort_job
from paimon_spark.spark.write.write_job import WriteJob
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.postpone_compact import CompactPostponedResult, PostponeCompaction, compact_postponed
from paimon_spark.store.rescale.postpone_placement import (
    delete_created,
    settled_numbers,
    split_staged,
    staged_files,
    tell_of_few_buckets,
)
from paimon_spark.store.rescale.rewrite import postponed_rewrite
from paimon_spark.store.write.postpone_write import writes_fixed_buckets


def place_staged_with_spark(
    spark: SparkSession, job: WriteJob, messages: Sequence[CommitMessage]
) -> Sequence[CommitMessage]:
    """Moves the staged rows of a job into buckets, by Spark tasks, and deletes the staged files.

    On an error the files of all messages are deleted.

    Returns:
        The messages to commit: those without staged files, and those of the moved rows.
    """
    if not writes_fixed_buckets(job.table):
        return messages
    staged, placed = split_staged(messages)
    tell_of_few_buckets(job.table, placed)
    if not staged:
        return placed
    table, files = job.table, staged_files(job.table, staged)
    try:
        numbers = settled_numbers(table, job.plan, files)
        moved = rewrite_with_spark(spark, postponed_rewrite(table, job.commit_user, job.plan, files, numbers))
    except BaseException:
        abort_job(job, messages)
        raise
    delete_created(table, staged)
    return [*placed, *moved]


def compact_postponed_with_spark(
    spark: SparkSession, table: Table, where: str | Predicate | None = None
) -> CompactPostponedResult:
    """Moves all postponed rows of a table into buckets by Spark tasks, and commits them.

    Args:
        spark: the session that runs the tasks.
        table: the table, with the options of the call.
        where: a condition on partition columns; None: all partitions.

    Raises:
        OptionError, PredicateError: the condition does not fit, or an option postpone.* is not positive.
        UnsupportedFeature: the table does not postpone buckets, or cannot be written.
        CommitConflict: other jobs changed all partitions in every try.
        CommitStateUnknown: the store did not answer; no file is deleted.
    """

    def run(compaction: PostponeCompaction, user: str) -> list[CommitMessage]:
        files, numbers = compaction.files, compaction.numbers
        return rewrite_with_spark(spark, postponed_rewrite(table, user, compaction.plan, files, numbers))

    return compact_postponed(table, where, run)
