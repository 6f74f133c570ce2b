"""Which shuffles the rows of a DataFrame go through, by the bucket mode of the table (features 2.2)."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame

from paimon_spark.spark.adapters.char_columns import takes_as_strings
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.write.cross_partition_write import write_cross_partition
from paimon_spark.spark.write.dynamic_write import write_dynamic
from paimon_spark.spark.write.local_write import Computed, write_here, writes_here
from paimon_spark.spark.write.shuffle_write import write_shuffled
from paimon_spark.spark.write.write_job import Texts, WriteJob
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode


@job_errors()
def write_by_bucket(df: DataFrame, job: WriteJob, here: Computed | None = None) -> list[CommitMessage]:
    """Writes the rows, those of a bucket in one task, and returns what is to be committed.

    Args:
        here: how this process gets the rows, which it then writes itself if it can; None: they may be too many.

    Raises:
        PaimonError: the table, its options or the job do not fit together, or a task raised it.
        Spark's exception for a job that fails otherwise.
    """
    if takes_as_strings(df.sparkSession):
        job = replace(job, texts=Texts.FREE)
    if here is not None and writes_here(df.sparkSession, job):
        written = write_here(df, job, here)
        if written is not None:
            return written
    match job.table.bucket_mode:
        case BucketMode.HASH_DYNAMIC:
            return write_dynamic(df, job)
        case BucketMode.KEY_DYNAMIC:
            return write_cross_partition(df, job)
        case _:
            return write_shuffled(df, job)
