"""The road of PaimonTable: rows are shuffled so that one task owns a bucket and writes few, large files.

Two columns are added for the way: who owns the row (partition hash and bucket) and its place in the DataFrame. Only the
partition and bucket key columns go through Python for that; the shuffle brings each owner's rows together, Spark sorts
them by their place, spilling where it must, and the writer sees one bucket after the other, later rows last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from paimon_spark.arrow.row_buckets import assign_buckets
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.format.bucket import NO_PARTITION, bucket_fields
from paimon_spark.format.types import DataField
from paimon_spark.merge.clustering.sort_keys import KEY, sort_keys
from paimon_spark.merge.clustering.strategy import Clustering, Strategy
from paimon_spark.spark.adapters.tasks import (
    MESSAGE_ROWS,
    Task,
    by_number,
    collect_messages,
    in_worker,
    message_rows,
    with_given_names,
    with_plain_names,
)
from paimon_spark.spark.write.shuffled_columns import OWNER, PLACE, SHUFFLE_PARTITIONS, column_of, stored_columns
from paimon_spark.spark.write.task_session import current_task, zone_of_rows
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.write.placement import numbered_buckets, settled_number, stages_all, writes_fixed_buckets
from paimon_spark.store.write.write_rules import write_clustering
from paimon_spark.writes.task_rows import write_rows
from paimon_spark.writes.write_job import WriteJob


def write_shuffled(df: DataFrame, job: WriteJob, owned: bool = False) -> list[CommitMessage]:
    """Writes the rows and returns what is to be committed; the job runs here, the commit does not.

    Tables without buckets need no shuffle: any task may write any row. If they have partitions, the option
    `partition.sink-strategy` = hash brings the rows of each to one task; with `clustering.columns`, each task gets a
    range of the rows in that order. Nor does what is staged: it is shuffled later.

    Args:
        owned: whether a Spark partition that has rows of a bucket has all of them, in their order: they stay there.

    Raises:
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    keys, clustering = owner_fields(job.table), write_clustering(job.table)
    plain = with_plain_names(df)
    if clustering is not None:
        rows = _sorted(plain, df.columns, job, clustering)
        return collect_messages(rows.mapInArrow(in_worker(_task(job, df.columns)), MESSAGE_ROWS))
    stays = owned or not keys or stages_all(job.table, job.plan)
    rows = plain if stays else _owned(plain, df.columns, job, keys)
    return collect_messages(rows.mapInArrow(in_worker(_task(job, df.columns)), MESSAGE_ROWS))


def owner_fields(table: Table) -> tuple[DataField, ...]:
    """The columns that decide which task writes a row: the partition's, then the bucket key's; none for any task."""
    waits = table.bucket_mode is BucketMode.POSTPONE_MODE and not writes_fixed_buckets(table)
    if table.bucket_mode is not BucketMode.BUCKET_UNAWARE and not waits:
        return (*table.schema.partition_fields, *bucket_fields(table.schema, table.settings))
    by_partition = table.settings.partitions.sink_strategy == "hash"
    return table.schema.partition_fields if by_partition else ()


def _owned(df: DataFrame, names: Sequence[str], job: WriteJob, keys: tuple[DataField, ...]) -> DataFrame:
    """The DataFrame with OWNER and PLACE, one owner's rows in one Spark partition and in the DataFrame's order."""
    table = job.table
    # Without functionType, which the stub wants: Spark warns of it, the annotations of the function say the same.
    owner = arrow_udf(in_worker(_owner_of(job, keys)), "bigint")  # type: ignore[call-overload]  # see above
    inputs = [column_of(df, names, field) for field in keys]
    placed = df.withColumn(PLACE, sf.monotonically_increasing_id()).withColumn(OWNER, owner(*inputs))
    if table.schema.partition_keys:
        # How many buckets will be touched is not known: Spark sizes the partitions by what the shuffle holds.
        shuffled = placed.repartition(OWNER)
    else:
        tasks = min(_buckets(job), int(df.sparkSession.conf.get(SHUFFLE_PARTITIONS) or 1))
        shuffled = by_number(placed, OWNER, tasks)
    return shuffled.sortWithinPartitions(OWNER, PLACE)


def _sorted(df: DataFrame, names: Sequence[str], job: WriteJob, clustering: Clustering) -> DataFrame:
    """The DataFrame sorted by partition and then in the order of the clustering, in ranges that Spark samples."""
    partition = [column_of(df, names, field) for field in job.table.schema.partition_fields]
    columns = [column_of(df, names, field) for field in clustering.fields]
    if clustering.strategy is not Strategy.ORDER:
        # Without functionType, which the stub wants: see _owned.
        place = arrow_udf(in_worker(_place_of(job, clustering)), "binary")  # type: ignore[call-overload]  # see above
        df = df.withColumn(PLACE, place(*columns))
        columns = [sf.col(PLACE)]
    return df.repartitionByRange(*partition, *columns).sortWithinPartitions(*partition, *columns)


def _place_of(job: WriteJob, clustering: Clustering) -> Callable[..., pa.Array]:
    """A function over the columns of a clustering: the place of each row on the curve."""
    stored = stored_columns(job, clustering.fields)

    def place(*columns: pa.Array) -> pa.Array:
        batch = stored(pa.RecordBatch.from_arrays(list(columns), names=clustering.names))
        return sort_keys(batch, clustering).column(KEY).cast(pa.binary())

    return place


def _buckets(job: WriteJob) -> int:
    """The number of buckets of a table without partitions."""
    if job.table.bucket_mode is BucketMode.POSTPONE_MODE:
        return settled_number(job.table, job.plan, NO_PARTITION) or 1
    return job.table.settings.bucket


def _owner_of(job: WriteJob, keys: tuple[DataField, ...]) -> Callable[..., pa.Array]:
    """A function over the key columns of a batch: the partition's hash in the upper, the bucket in the lower half."""
    table = job.table
    partition = table.schema.partition_fields
    bucket_key = keys[len(partition) :]
    buckets, function = table.settings.bucket, table.settings.bucket_function
    stored = stored_columns(job, keys)

    def owner(*columns: pa.Array) -> pa.Array:
        batch = stored(pa.RecordBatch.from_arrays(list(columns), names=[field.name for field in keys]))
        owners = np.zeros(batch.num_rows, np.int64)
        if table.bucket_mode is BucketMode.POSTPONE_MODE:
            owners |= numbered_buckets(table, job.plan, batch)
        elif bucket_key:
            owners |= assign_buckets(batch, bucket_key, buckets, function)
        if partition:
            owners |= hash_rows(batch, partition).astype(np.int64) << 32
        return pa.array(owners)

    return owner


def _task(job: WriteJob, names: Sequence[str]) -> Task:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (with_given_names(batch, names) for batch in batches)
        yield from message_rows(write_rows(job, current_task(), rows, zone_of_rows))

    return task
