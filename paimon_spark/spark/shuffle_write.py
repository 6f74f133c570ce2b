"""The road of PaimonTable: rows are shuffled so that one task owns a bucket and writes few, large files.

Two columns are added for the way: who owns the row (partition hash and bucket) and its place in the DataFrame. Only the
partition and bucket key columns go through Python for that; the shuffle brings each owner's rows together, Spark sorts
them by their place, spilling where it must, and the writer sees one bucket after the other, later rows last.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from paimon_spark.arrow.bucketing import assign_buckets
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.errors import DataError
from paimon_spark.spark.write_job import WriteJob, align_rows, write_rows
from paimon_spark.spec import options as o
from paimon_spark.spec.types import DataField
from paimon_spark.store.bucket_filter import bucket_fields
from paimon_spark.store.messages import CommitMessage
from paimon_spark.store.table import BucketMode, Table

OWNER = "__paimon_owner"
PLACE = "__paimon_place"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
MESSAGES = "messages"
ONLY_OWNER = 0  # the task id of all: no other task writes to the same bucket, so none is newer


def write_shuffled(df: DataFrame, job: WriteJob) -> list[CommitMessage]:
    """Writes the rows and returns what is to be committed; the job runs here, the commit does not.

    Tables without buckets need no shuffle: any task may write any row.

    Raises:
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    if job.table.bucket_mode is BucketMode.BUCKET_UNAWARE:
        tasks = df.mapInArrow(_task(job, extra_columns=0), f"{MESSAGES} binary")
    else:
        tasks = _owned(df, job.table).mapInArrow(_task(job, extra_columns=2), f"{MESSAGES} binary")
    return [message for row in tasks.collect() for message in pickle.loads(row[MESSAGES])]


def _owned(df: DataFrame, table: Table) -> DataFrame:
    """The DataFrame with OWNER and PLACE, one owner's rows in one Spark partition and in the DataFrame's order."""
    taken = {OWNER, PLACE} & set(df.columns)
    if taken:
        raise DataError(f"the DataFrame has a column {', '.join(sorted(taken))}, a name this write needs: rename it")
    keys = owner_fields(table)
    inputs = [_column(df, field) for field in keys]
    # Without functionType, which the stub wants: Spark warns of it, the annotations of the function say the same.
    owner = arrow_udf(_owner_of(table, keys), "bigint")  # type: ignore[call-overload]  # see above
    placed = df.withColumn(PLACE, sf.monotonically_increasing_id()).withColumn(OWNER, owner(*inputs))
    if table.schema.partition_keys:
        # How many buckets will be touched is not known: Spark sizes the partitions by what the shuffle holds.
        shuffled = placed.repartition(OWNER)
    else:
        tasks = min(table.options.value(o.BUCKET), int(df.sparkSession.conf.get(SHUFFLE_PARTITIONS) or 1))
        shuffled = placed.repartitionById(tasks, (sf.col(OWNER) % tasks).cast("int"))
    return shuffled.sortWithinPartitions(OWNER, PLACE)


def owner_fields(table: Table) -> tuple[DataField, ...]:
    """The columns that decide which (partition, bucket) a row belongs to: the partition's, then the bucket key's."""
    return (*table.schema.partition_fields, *bucket_fields(table.schema, table.options))


def _column(df: DataFrame, field: DataField) -> Column:
    """The DataFrame's column of that name, in any letter case as align_rows finds it."""
    alike = [name for name in df.columns if name == field.name] or [
        name for name in df.columns if name.lower() == field.name.lower()
    ]
    return sf.col("`" + alike[0].replace("`", "``") + "`")


def _owner_of(table: Table, keys: tuple[DataField, ...]) -> Callable[..., pa.Array]:
    """A function over the key columns of a batch: the partition's hash in the upper, the bucket in the lower half."""
    partition = table.schema.partition_fields
    key = keys[len(partition) :]
    buckets, function = table.options.value(o.BUCKET), table.options.value(o.BUCKET_FUNCTION)

    def owner(*columns: pa.Array) -> pa.Array:
        given = pa.RecordBatch.from_arrays(list(columns), names=[field.name for field in keys])
        batch = align_rows(given, keys)
        owners = assign_buckets(batch, key, buckets, function).astype(np.int64)
        if partition:
            owners |= hash_rows(batch, partition).astype(np.int64) << 32
        return pa.array(owners)

    return owner


def _task(job: WriteJob, extra_columns: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (batch.select(range(batch.num_columns - extra_columns)) for batch in batches)
        messages = write_rows(job, ONLY_OWNER, rows)
        if messages:
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(messages)], pa.binary())], names=[MESSAGES])

    return task
