"""A write by this process, without Spark: from the rows that somebody has to the snapshot, and what follows it.

Rows go to files as they come, within the write buffer. Those of a cross-partition table are held until the last one is
there, because keys of the table must be looked up first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from paimon_spark.arrow.alignment import align_rows
from paimon_spark.arrow.row_hash import hash_rows
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.remembered import remembering
from paimon_spark.store.metadata.table import BucketMode
from paimon_spark.store.open import open_data_table
from paimon_spark.store.read.splits import Split
from paimon_spark.store.scan.stored_keys import key_columns, key_reader, plan_keys, with_all_columns
from paimon_spark.store.scan.time_travel import at_id
from paimon_spark.store.write.cross_partition import NEW, CrossPartitionAssigner, KeyRows, check_cross_partition_job
from paimon_spark.store.write.row_rules import row_rules
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.writes.arrow_input import record_batches, valid_batches
from paimon_spark.writes.commit_write import place_job
from paimon_spark.writes.end_write import commit_and_finish, find_committed, one_process
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.options import Once, write_options_of
from paimon_spark.writes.row_columns import ArrowColumns
from paimon_spark.writes.task_rows import job_rows, write_rows
from paimon_spark.writes.write_job import WriteJob, WriteResult, nothing_committed, texts_as_they_are

_OLD_PLACE = -1


@remembering()
def write_here(
    location: str,
    rows: Any,
    options: Mapping[str, str],
    overwrite: bool,
    once: Once | None = None,
    time_zone: TimeZone | None = None,
) -> WriteResult:
    """Writes rows to a table and commits them.

    Args:
        location: of the table.
        rows: as for record_batches.
        options: of the write, of the table for this write, and of the storage.
        overwrite: whether rows are replaced: all, those of `overwrite-where`, or the partitions of the rows.
        once: the name and number under which it happens once; None: as the options say.
        time_zone: unless the options name one, that in which values go from an instant to a local time or back, and
            conditions are read; None: a value or a condition that needs one is refused.

    Raises:
        TableNotFound: there is no table; a write makes none.
        DataError: the rows do not fit the table; nothing was written.
        CommitStateUnknown: nobody can tell whether the rows are in the table; nothing was deleted.
        PaimonError: options, rows and table do not fit together, or the commit failed.
    """
    began = time.monotonic()
    read = write_options_of(location, options)
    write = replace(read, creates=False, once=once or read.once, time_zone=read.time_zone or time_zone)
    reader = record_batches(rows)
    lost = partial(open_data_table, location, write.table)  # says what is there instead of the table
    job = open_job(write, ArrowColumns(reader.schema), overwrite, lost, finds_keys=True)
    runner = one_process()
    done, repeated = find_committed(job.table, job.batch, runner), True
    if done is None:
        repeated = False
        done = commit_and_finish(job, place_job(job, write_batches(job, valid_batches(reader))), runner)
    return WriteResult.of(done, began, repeated)


def write_batches(job: WriteJob, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
    if job.table.bucket_mode is BucketMode.KEY_DYNAMIC:
        return _write_cross_partition(job, batches)
    return write_rows(job, 0, batches, lambda _: job.table.time_zone)


def _write_cross_partition(job: WriteJob, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
    """Writes rows whose keys may be in other partitions of the table, where they are looked up.

    Raises:
        UnsupportedFeature: the job could leave a key in two partitions.
        DataError: the table holds a key twice, or the rows do not fit.
    """
    table = job.table
    check_cross_partition_job(table, job.overwrites, whole=job.replaced is None)
    with nothing_committed():
        given = _new_rows(job, batches)
        assigner = CrossPartitionAssigner(table, job.plan.dynamic, 0, 1)
        found = assigner.assign(_with_old_keys(job, given))
        rows = align_rows(found.rows, texts_as_they_are(table.schema.fields))
        write = TableWrite(table, job.commit_user, 0, job.plan)
        try:
            write.write(rows, found.kinds, found.buckets)
            return write.finish()
        except BaseException:
            write.abort()
            raise


def _new_rows(job: WriteJob, batches: Iterable[pa.RecordBatch]) -> KeyRows:
    """The rows of the job as rows of the table: defaults filled in, ignored kinds left out."""
    table = job.table
    rules = row_rules(table.location, table.schema, table.settings)
    rows, kinds = [], []
    for batch in batches:
        prepared, of_batch = rules.prepare(*job_rows(job, batch, lambda _: table.time_zone))
        rows.append(prepared)
        kinds.append(np.zeros(prepared.num_rows, np.int8) if of_batch is None else of_batch)
    schema = arrow_schema(table.schema.fields)
    joined = pa.concat_batches(rows) if rows else pa.RecordBatch.from_pylist([], schema=schema)
    count = joined.num_rows
    of_all = np.concatenate(kinds) if kinds else np.zeros(0, np.int8)
    return KeyRows(joined, of_all, np.full(count, NEW, np.int32), np.arange(count, dtype=np.int64))


def _with_old_keys(job: WriteJob, new: KeyRows) -> KeyRows:
    """The rows behind the keys that the table has, as far as a new row may have the same key."""
    if job.overwrites or not job.plan.since or not new.rows.num_rows:
        return new
    table = job.table
    keys = tuple(table.schema.by_name[name] for name in table.schema.primary_keys)
    reader = key_reader(table, key_columns(table))
    wanted = np.unique(hash_rows(new.rows, keys))
    rows, buckets = [], []
    for split in plan_keys(table, at_id(job.plan.since, table.settings, table.snapshots)):
        assert isinstance(split, Split), "keys of a table with dynamic buckets are in splits"
        for batch in reader.read(split):
            alike = batch.filter(pa.array(np.isin(hash_rows(batch, keys), wanted)))
            if alike.num_rows:
                rows.append(with_all_columns(table, alike))
                buckets.append(np.full(alike.num_rows, split.bucket, np.int32))
    if not rows:
        return new
    old = pa.concat_batches(rows)
    return KeyRows(
        pa.concat_batches([old, with_all_columns(table, new.rows)]),
        np.concatenate([np.zeros(old.num_rows, np.int8), new.kinds]),
        np.concatenate([*buckets, new.buckets]),
        np.concatenate([np.full(old.num_rows, _OLD_PLACE, np.int64), new.places]),
    )
