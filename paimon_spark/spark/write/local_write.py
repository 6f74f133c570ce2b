"""Writes of few rows that this process may hold: it writes their files itself.

A job of Spark that runs Python takes longer to start than such a write takes, the first one of a session seconds.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from paimon_spark.spark.adapters.dataframes import MOST_ROWS
from paimon_spark.spark.adapters.session_options import is_switched_on
from paimon_spark.spark.adapters.tasks import with_plain_names
from paimon_spark.spark.write.task_rows import write_rows
from paimon_spark.spark.write.write_job import WriteJob
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode

SETTING = "spark.paimon.write.local"
_ASSIGNED = (BucketMode.HASH_DYNAMIC, BucketMode.KEY_DYNAMIC)


def writes_here(spark: SparkSession, job: WriteJob) -> bool:
    """Whether this process may write few rows of a job: the session allows it, and no index of keys has to be read.

    Raises:
        OptionError: the setting `spark.paimon.write.local` is neither true nor false.
    """
    return job.table.bucket_mode not in _ASSIGNED and is_switched_on(spark, SETTING)


def write_here(df: DataFrame, job: WriteJob) -> list[CommitMessage] | None:
    """Writes the rows and returns what is to be committed; None: there are more than MOST_ROWS, nothing is written.

    Args:
        df: its rows are computed once, and must fit into memory.

    Raises:
        DataError: a row does not fit the table.
        StorageError: a file could not be written.
        Spark's exception where it cannot compute the rows.
    """
    rows = rows_here(df)
    return None if rows.num_rows > MOST_ROWS else write_rows(job, 0, rows.to_batches())


def rows_here(df: DataFrame) -> pa.Table:
    """The rows of a DataFrame in this process, computed once; they must fit into memory."""
    return with_plain_names(df).toArrow().rename_columns(df.columns)
