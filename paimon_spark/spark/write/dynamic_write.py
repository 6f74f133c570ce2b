"""The road of PaimonTable to tables with dynamic buckets: rows are shuffled by key to their assigner, then by bucket.

While there is no index, a bucket has keys of its own assigner only, so that task writes it and there is one shuffle
(Java does the same). Rows are sorted by their hash before buckets are assigned: a task that Spark runs a second time
gives every key the bucket it gave it the first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from paimon_spark.arrow.row_buckets import Buckets
from paimon_spark.format.row_kind import Kinds
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.tasks import (
    MESSAGE_ROWS,
    Task,
    collect_messages,
    in_worker,
    message_rows,
    with_given_names,
    with_plain_names,
)
from paimon_spark.spark.write.shuffled_columns import OWNER, PLACE, SHUFFLE_PARTITIONS, column_of, stored_columns
from paimon_spark.spark.write.task_session import current_task, zone_of_rows
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.hash_assigner import Channels, HashAssigner, halves, key_numbers, plan_channels
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.writes.task_rows import job_rows
from paimon_spark.writes.write_job import WriteJob, nothing_committed

NUMBER = "number"
PlacedRows: TypeAlias = tuple[pa.RecordBatch, Kinds | None, Buckets]


def write_dynamic(df: DataFrame, job: WriteJob) -> list[CommitMessage]:
    """Writes the rows and returns what is to be committed; the job runs here, the commit does not.

    Raises:
        OptionError: an option of dynamic buckets makes no sense.
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    channels = plan_channels(job.table, int(df.sparkSession.conf.get(SHUFFLE_PARTITIONS) or 1))
    rows = _by_channel(with_plain_names(df), df.columns, job, channels)
    if job.plan.dynamic.index_manifest is None:
        brought, task = rows.sortWithinPartitions(NUMBER, PLACE), _first_task(job, df.columns, channels)
    else:
        brought, task = by_owner(_owned(rows, df.columns, job, channels)), _task(job, df.columns)
    return collect_messages(brought.mapInArrow(in_worker(task), MESSAGE_ROWS))


def by_owner(df: DataFrame) -> DataFrame:
    """Rows with OWNER and PLACE: one owner's in one Spark partition, in order of their places."""
    return df.repartition(OWNER).sortWithinPartitions(OWNER, PLACE)


def owner_numbers(partition_hashes: npt.NDArray[np.int32], buckets: Buckets) -> npt.NDArray[np.int64]:
    """The hash of the partition in the upper, the bucket in the lower half."""
    numbers: npt.NDArray[np.int64] = partition_hashes.astype(np.int64) << 32 | buckets
    return numbers


def owned_buckets(batch: pa.RecordBatch) -> Buckets:
    """The bucket of each row, out of OWNER."""
    buckets: Buckets = batch.column(OWNER).to_numpy().astype(np.int32)  # the lower half
    return buckets


def _by_channel(df: DataFrame, names: Sequence[str], job: WriteJob, channels: Channels) -> DataFrame:
    """The rows with PLACE and NUMBER, those of a channel in one Spark partition.

    Args:
        df: its columns have names that Spark does not trip over.
        names: those of the columns in the DataFrame that is written.
    """
    table = job.table
    inputs = [column_of(df, names, field) for field in _key_columns(table)]
    # Without functionType, which the stub wants: Spark warns of it, the annotations of the functions say the same.
    number = arrow_udf(in_worker(_number_of(job)), "bigint")  # type: ignore[call-overload]  # see above
    placed = df.withColumn(PLACE, sf.monotonically_increasing_id()).withColumn(NUMBER, number(*inputs))
    partition = sf.shiftright(sf.col(NUMBER) + sf.lit(1 << 31), 32)  # channel_of, in Spark's words
    key = sf.col(NUMBER) - sf.shiftleft(partition, 32)
    channel = (sf.abs(partition % channels.count) + sf.abs(key % channels.assigners)) % channels.count
    if table.schema.partition_keys:
        return placed.repartition(channel)
    return placed.repartitionById(channels.count, channel.cast("int"))


def _owned(df: DataFrame, names: Sequence[str], job: WriteJob, channels: Channels) -> DataFrame:
    """The rows with OWNER in place of NUMBER."""
    partition = [column_of(df.drop(PLACE, NUMBER), names, field) for field in job.table.schema.partition_fields]
    owner = arrow_udf(in_worker(_owner_of(job, channels)), "bigint")  # type: ignore[call-overload]  # see _by_channel
    # A sort before a function that looks at each row alone would be left out by Spark: this one looks at the order.
    assigned = df.sortWithinPartitions(NUMBER).withColumn(
        OWNER, owner.asNondeterministic()(sf.col(NUMBER), sf.col(PLACE), *partition)
    )
    return assigned.drop(NUMBER)


def _first_task(job: WriteJob, names: Sequence[str], channels: Channels) -> Task:
    """Assigns and writes: the buckets of a channel are all its own."""
    prepare = _partition_columns(job)

    def placed(batches: Iterator[pa.RecordBatch]) -> Iterator[PlacedRows]:
        assigner = HashAssigner(job.table, job.plan.dynamic, channels)
        for batch in batches:
            rows, kinds = job_rows(job, with_given_names(batch, names), zone_of_rows)
            yield rows, kinds, assigner.assign(batch.column(NUMBER).to_numpy(), prepare(rows))

    return write_task(job, placed)


def _task(job: WriteJob, names: Sequence[str]) -> Task:
    def placed(batches: Iterator[pa.RecordBatch]) -> Iterator[PlacedRows]:
        for batch in batches:
            yield *job_rows(job, with_given_names(batch, names), zone_of_rows), owned_buckets(batch)

    return write_task(job, placed)


def write_task(job: WriteJob, placed: Callable[[Iterator[pa.RecordBatch]], Iterator[PlacedRows]]) -> Task:
    """A task that writes all rows of its buckets; on any error its files are deleted again.

    Args:
        placed: the rows of the table out of what Spark hands over, with their kinds and buckets.
    """

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with nothing_committed():
            write = TableWrite(job.table, job.commit_user, current_task(), job.plan)
            try:
                for rows, kinds, buckets in placed(batches):
                    write.write(rows, kinds, buckets)
                messages = write.finish()
            except BaseException:
                write.abort()
                raise
        yield from message_rows(messages)

    return task


def _key_columns(table: Table) -> tuple[DataField, ...]:
    return (*table.schema.partition_fields, *table.schema.key_fields)


def _number_of(job: WriteJob) -> Callable[..., pa.Array]:
    table, keys = job.table, _key_columns(job.table)
    stored = stored_columns(job, keys)

    def number(*columns: pa.Array) -> pa.Array:
        given = pa.RecordBatch.from_arrays(list(columns), names=[field.name for field in keys])
        return pa.array(key_numbers(table, stored(given)))

    return number


def _owner_of(job: WriteJob, channels: Channels) -> Callable[..., Iterator[pa.Array]]:
    fields, prepare = job.table.schema.partition_fields, _partition_columns(job)

    def owner(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        assigner = HashAssigner(job.table, job.plan.dynamic, channels)
        for numbers, places, *columns in batches:  # places: functions of one column get no tuples
            longs = numbers.to_numpy()
            given = pa.RecordBatch.from_arrays([places, *columns], names=[PLACE, *(field.name for field in fields)])
            yield pa.array(owner_numbers(halves(longs)[0], assigner.assign(longs, prepare(given))))

    return owner


def _partition_columns(job: WriteJob) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function from rows to their partition columns, as they will be stored."""
    fields = job.table.schema.partition_fields
    stored = stored_columns(job, fields)

    def prepare(rows: pa.RecordBatch) -> pa.RecordBatch:
        return stored(rows.select([field.name for field in fields])) if fields else rows

    return prepare
