"""The road of PaimonTable to cross-partition tables: rows meet the table's keys, then go to their buckets.

Keys of the table are read by Spark tasks and shuffled together with the rows, by the hash of the key; no state is kept
between jobs. Sorted by hash and place, all that is known of a key lies together.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.arrow.alignment import align_rows
from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.format.row_kind import Kinds
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.tasks import (
    MESSAGE_ROWS,
    Task,
    collect_messages,
    in_worker,
    one_a_task,
    with_given_names,
    with_plain_names,
)
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.spark.write.dynamic_write import PlacedRows, by_owner, owned_buckets, owner_numbers, write_task
from paimon_spark.spark.write.shuffled_columns import OWNER, PLACE
from paimon_spark.spark.write.task_session import zone_of_rows
from paimon_spark.store.buckets.bucket_assigner import bucket_rules
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split, group_splits
from paimon_spark.store.scan.stored_keys import key_columns, key_reader, plan_keys, with_all_columns
from paimon_spark.store.scan.time_travel import at_id
from paimon_spark.store.write.cross_partition import NEW, CrossPartitionAssigner, KeyRows, check_cross_partition_job
from paimon_spark.store.write.row_rules import row_rules
from paimon_spark.writes.task_rows import job_rows
from paimon_spark.writes.write_job import WriteJob, texts_as_they_are

HASH, BUCKET, KIND = "hash", "bucket", "kind"
OLD_PLACE = -1


def write_cross_partition(df: DataFrame, job: WriteJob) -> list[CommitMessage]:
    """Writes the rows and returns what is to be committed; the job runs here, the commit does not.

    Raises:
        UnsupportedFeature: the job could leave a key in two partitions.
        OptionError: an option of dynamic buckets makes no sense.
        DataError: the table holds a key twice.
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    table = job.table
    check_cross_partition_job(table, job.overwrites, whole=job.replaced is None)
    shares = _shares(table)
    schema = _travel_schema(table)
    placed = with_plain_names(df).withColumn(PLACE, sf.monotonically_increasing_id())
    rows = placed.mapInArrow(in_worker(_rows_task(job, df.columns)), schema)
    keys = _table_keys(df.sparkSession, job)
    if keys is not None:
        rows = rows.unionAll(keys)
    met = rows.repartitionById(shares, sf.pmod(sf.col(HASH), sf.lit(shares))).sortWithinPartitions(HASH, PLACE)
    assigned = met.mapInArrow(in_worker(_assign_task(job, shares)), _travel_schema(table, owned=True))
    return collect_messages(by_owner(assigned).mapInArrow(in_worker(_write_task(job)), MESSAGE_ROWS))


def _shares(table: Table) -> int:
    wished = table.settings.dynamic_buckets.assigner_parallelism
    start = bucket_rules(table.settings, partitioned=False).start
    return start if wished is None else max(1, min(start, wished))


def _travel_schema(table: Table, owned: bool = False) -> st.StructType:
    """Columns of the table under short names, then what the road needs."""
    columns = [st.StructField(f"v{i}", spark_type(f.type)) for i, f in enumerate(table.schema.fields)]
    added = [(KIND, st.ByteType()), (PLACE, st.LongType())]
    added += [(OWNER, st.LongType())] if owned else [(HASH, st.IntegerType()), (BUCKET, st.IntegerType())]
    return st.StructType([*columns, *(st.StructField(name, data_type) for name, data_type in added)])


def _table_keys(spark: SparkSession, job: WriteJob) -> DataFrame | None:
    """The keys of the planned snapshot, with their partitions and buckets; None: there are none."""
    if job.overwrites or not job.plan.since:
        return None
    table = job.table
    planned = at_id(job.plan.since, table.settings, table.snapshots)
    target, cost = table.settings.scan.split_target_size, table.settings.scan.open_file_cost
    groups = group_splits(plan_keys(table, planned), target, cost)
    if not groups:
        return None
    return one_a_task(spark, groups).mapInArrow(in_worker(_keys_task(table)), _travel_schema(table))


def _rows_task(job: WriteJob, names: Sequence[str]) -> Task:
    """Rows as Spark hands them over become rows of the table: defaults filled in, ignored kinds left out."""
    table, schema = job.table, spark_arrow_schema(_travel_schema(job.table))
    rules = row_rules(table.location, table.schema, table.settings)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            given, kinds = job_rows(job, with_given_names(batch, names), zone_of_rows)
            kept = rules.kept(given, kinds)
            places = batch.column(PLACE) if kept is None else batch.column(PLACE).filter(pa.array(kept))
            rows, kinds = rules.prepare(given, kinds)
            found = KeyRows(rows, _all(kinds, rows), np.full(rows.num_rows, NEW, np.int32), places.to_numpy())
            yield _travelling(found, _hashes(table, rows), schema)

    return task


def _keys_task(table: Table) -> Task:
    schema = spark_arrow_schema(_travel_schema(table))
    reader = key_reader(table, key_columns(table))

    def rows_of(split: Split) -> Iterator[pa.RecordBatch]:
        for batch in reader.read(split):
            count, rows = batch.num_rows, with_all_columns(table, batch)
            buckets = np.full(count, split.bucket, np.int32)
            found = KeyRows(rows, np.zeros(count, np.int8), buckets, np.full(count, OLD_PLACE))
            yield _travelling(found, _hashes(table, rows), schema)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for group in batch.column(0).to_pylist():  # one
                for split in pickle.loads(group):
                    yield from rows_of(split)

    return task


def _assign_task(job: WriteJob, shares: int) -> Task:
    table = job.table
    given = spark_arrow_schema(_travel_schema(table, owned=True))

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assigner: CrossPartitionAssigner | None = None
        for batch in _whole_keys(batches):
            if assigner is None:
                share = int(batch.column(HASH)[0].as_py()) % shares
                assigner = CrossPartitionAssigner(table, job.plan.dynamic, share, shares)
            found = assigner.assign(_key_rows(table, batch))
            owners = hash_rows(found.rows, table.schema.partition_fields)
            numbers = owner_numbers(owners, found.buckets)
            columns = [*found.rows.columns, pa.array(found.kinds), pa.array(found.places), pa.array(numbers)]
            yield conform_batch(pa.RecordBatch.from_arrays(columns, names=given.names), given)

    return task


def _whole_keys(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches cut where the hash changes, so that none ends within a key."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        hashes = batch.column(HASH).to_numpy()
        changes = np.flatnonzero(hashes[1:] != hashes[:-1])
        if held and held[-1].column(HASH)[-1] != batch.column(HASH)[0]:
            yield pa.concat_batches(held)
            held = []
        if not len(changes):
            held.append(batch)
            continue
        end = int(changes[-1]) + 1
        yield pa.concat_batches([*held, batch.slice(0, end)])
        held = [batch.slice(end)]
    if held:
        yield pa.concat_batches(held)


def _key_rows(table: Table, batch: pa.RecordBatch) -> KeyRows:
    return KeyRows(
        _table_rows(table, batch),
        batch.column(KIND).to_numpy(),
        batch.column(BUCKET).to_numpy(),
        batch.column(PLACE).to_numpy(),
    )


def _write_task(job: WriteJob) -> Task:
    def placed(batches: Iterator[pa.RecordBatch]) -> Iterator[PlacedRows]:
        for batch in batches:
            yield _table_rows(job.table, batch), batch.column(KIND).to_numpy(), owned_buckets(batch)

    return write_task(job, placed)


def _travelling(found: KeyRows, hashes: np.ndarray, schema: pa.Schema) -> pa.RecordBatch:
    added = [pa.array(found.kinds), pa.array(found.places), pa.array(hashes), pa.array(found.buckets)]
    return conform_batch(pa.RecordBatch.from_arrays([*found.rows.columns, *added], names=schema.names), schema)


def _table_rows(table: Table, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The table's columns of travelling rows, in its types."""
    fields = texts_as_they_are(table.schema.fields)  # they were brought to their columns before
    return align_rows(with_given_names(batch, [f.name for f in fields]), fields)


def _hashes(table: Table, rows: pa.RecordBatch) -> np.ndarray:
    """Of the whole primary key, which may hold some partition columns."""
    return hash_rows(rows, tuple(table.schema.by_name[name] for name in table.schema.primary_keys))


def _all(kinds: Kinds | None, rows: pa.RecordBatch) -> Kinds:
    return np.zeros(rows.num_rows, np.int8) if kinds is None else kinds
