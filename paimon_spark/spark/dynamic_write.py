"""The road of PaimonTable to tables with dynamic buckets: two shuffles, by key to its assigner, then by bucket.

Rows are sorted by their hash before buckets are assigned: so a task that Spark runs a second time gives every key the
bucket it gave it the first time.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.functions import arrow_udf

from paimon_spark.arrow.bucketing import Buckets
from paimon_spark.spark.shuffle_write import MESSAGES, OWNER, PLACE, SHUFFLE_PARTITIONS, column_of
from paimon_spark.spark.write_job import WriteJob, align_rows, current_task, job_rows
from paimon_spark.spec import options as o
from paimon_spark.spec.types import DataField
from paimon_spark.store.hash_assigner import Channels, HashAssigner, channels_of, halves, key_numbers, plan_channels
from paimon_spark.store.messages import CommitMessage
from paimon_spark.store.row_rules import row_rules
from paimon_spark.store.table import Table
from paimon_spark.store.write import TableWrite

NUMBER = "number"
CHANNEL = "channel"


def write_dynamic(df: DataFrame, job: WriteJob) -> list[CommitMessage]:
    """Writes the rows and returns what is to be committed; the job runs here, the commit does not.

    Raises:
        OptionError: an option of dynamic buckets makes no sense.
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    numbered = df.toDF(*(f"c{i}" for i in range(len(df.columns))))  # mapInArrow trips over dots and backquotes in names
    owned = by_owner(_assigned(numbered, df.columns, job))
    return collect_messages(owned.mapInArrow(_task(job, df.columns), f"{MESSAGES} binary"))


def by_owner(df: DataFrame) -> DataFrame:
    """Rows with OWNER and PLACE: one owner's in one Spark partition, in order of their places."""
    return df.repartition(OWNER).sortWithinPartitions(OWNER, PLACE)


def collect_messages(tasks: DataFrame) -> list[CommitMessage]:
    """Runs the tasks."""
    return [message for row in tasks.collect() for message in pickle.loads(row[MESSAGES])]


def owner_numbers(partition_hashes: npt.NDArray[np.int32], buckets: Buckets) -> npt.NDArray[np.int64]:
    """The hash of the partition in the upper, the bucket in the lower half."""
    numbers: npt.NDArray[np.int64] = partition_hashes.astype(np.int64) << 32 | buckets
    return numbers


def owned_buckets(batch: pa.RecordBatch) -> Buckets:
    """The bucket of each row, out of OWNER."""
    buckets: Buckets = batch.column(OWNER).to_numpy().astype(np.int32)  # the lower half
    return buckets


def _assigned(df: DataFrame, names: Sequence[str], job: WriteJob) -> DataFrame:
    """The rows with OWNER and PLACE, in any order.

    Args:
        df: its columns have names that Spark does not trip over.
        names: those of the columns in the DataFrame that is written.
    """
    table = job.table
    channels = plan_channels(table, int(df.sparkSession.conf.get(SHUFFLE_PARTITIONS) or 1))
    partition = [column_of(df, names, field) for field in table.schema.partition_fields]
    keys = [column_of(df, names, field) for field in _key_columns(table)]
    # Without functionType, which the stub wants: Spark warns of it, the annotations of the functions say the same.
    number = arrow_udf(_number_of(table), "bigint")  # type: ignore[call-overload]  # see above
    channel = arrow_udf(_channel_of(channels), "int")  # type: ignore[call-overload]  # see above
    owner = arrow_udf(_owner_of(job, channels), "bigint")  # type: ignore[call-overload]  # see above
    placed = df.withColumn(PLACE, sf.monotonically_increasing_id()).withColumn(NUMBER, number(*keys))
    placed = placed.withColumn(CHANNEL, channel(sf.col(NUMBER)))
    if table.schema.partition_keys:
        shuffled = placed.repartition(CHANNEL)
    else:
        shuffled = placed.repartitionById(channels.count, sf.col(CHANNEL))
    # A sort before a function that looks at each row alone would be left out by Spark: this one looks at the order.
    ordered = shuffled.sortWithinPartitions(CHANNEL, NUMBER)
    assigned = ordered.withColumn(OWNER, owner.asNondeterministic()(sf.col(NUMBER), sf.col(CHANNEL), *partition))
    return assigned.drop(NUMBER, CHANNEL)


def _task(job: WriteJob, names: Sequence[str]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with placed_rows(job) as write:
            for batch in batches:
                rows, kinds = job_rows(job, batch.select(range(len(names))).rename_columns(names))
                write.write(rows, kinds, owned_buckets(batch))
            messages = write.finish()
        yield from message_rows(messages)

    return task


@contextmanager
def placed_rows(job: WriteJob) -> Iterator[TableWrite]:
    """The write of one task, which has all rows of its buckets; on any error its files are deleted again."""
    write = TableWrite(job.table, job.commit_user, current_task(), job.plan)
    try:
        yield write
    except BaseException:
        write.abort()
        raise


def message_rows(messages: Sequence[CommitMessage]) -> Iterator[pa.RecordBatch]:
    """What a task hands to the driver."""
    if messages:
        yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(list(messages))], pa.binary())], names=[MESSAGES])


def _key_columns(table: Table) -> tuple[DataField, ...]:
    return (*table.schema.partition_fields, *table.schema.key_fields)


def _number_of(table: Table) -> Callable[..., pa.Array]:
    keys = _key_columns(table)
    # Defaults are filled in here as they will be when the row is written: its place depends on them.
    rules = row_rules(table.location, replace(table.schema, fields=keys), o.Options())

    def number(*columns: pa.Array) -> pa.Array:
        given = pa.RecordBatch.from_arrays(list(columns), names=[field.name for field in keys])
        rows, _ = rules.prepare(align_rows(given, keys), None)
        return pa.array(key_numbers(table, rows))

    return number


def _channel_of(channels: Channels) -> Callable[..., pa.Array]:
    def channel(numbers: pa.Array) -> pa.Array:
        return pa.array(channels_of(numbers.to_numpy(), channels))

    return channel


def _owner_of(job: WriteJob, channels: Channels) -> Callable[..., Iterator[pa.Array]]:
    table, fields = job.table, job.table.schema.partition_fields
    rules = row_rules(table.location, replace(table.schema, fields=fields), o.Options())

    def owner(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        assigner = HashAssigner(table, job.plan.dynamic, channels)
        for numbers, channel, *columns in batches:
            longs = numbers.to_numpy()
            partitions = pa.RecordBatch.from_struct_array(pa.nulls(len(longs), pa.struct([])))
            if fields:
                given = pa.RecordBatch.from_arrays(columns, names=[field.name for field in fields])
                partitions, _ = rules.prepare(align_rows(given, fields), None)
            yield pa.array(owner_numbers(halves(longs)[0], assigner.assign(longs, channel.to_numpy(), partitions)))

    return owner
