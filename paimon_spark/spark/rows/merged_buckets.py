"""DELETE of a table with keys whose merge engine removes no rows: touched buckets are merged and written again."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from paimon_spark.arrow.alignment import align_rows
from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.format.bucket import Place
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.result import Outcome
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.char_columns import stored_column
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
from paimon_spark.spark.rows.assignments import Expression, as_column
from paimon_spark.spark.rows.checks import check_digits
from paimon_spark.spark.rows.expressions import may_vary
from paimon_spark.spark.rows.pruning import Pruning, named_metadata_fields
from paimon_spark.spark.rows.target import Target
from paimon_spark.spark.write.task_session import current_task
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.read.row_places import check_places
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.live_files import live_entries
from paimon_spark.store.rows.merged_buckets import BucketRewrite, by_place, replaced_buckets, tells_changes
from paimon_spark.writes.commit_write import abort_job
from paimon_spark.writes.open_write import job_for
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.write_job import WriteJob, nothing_committed, texts_as_they_are

_NUMBER = "_paimon_bucket"
_GOES = "_paimon_goes"


def delete_from_buckets(target: Target, condition: Expression | None, alias: str, pruning: Pruning) -> Outcome:
    """Writes the buckets that hold matching rows again, without these rows.

    The changelog, if the table has one, tells of the deleted rows. A condition that may vary is computed once, for all
    rows of the table.

    Raises:
        CommitConflict: rows wait on level 0 that were not read.
        UnsupportedFeature: a column has digits that Spark cuts: the rows that stay would lose them.
    """
    table = target.table
    check_digits(table, table.schema.names, "the rows that stay in a bucket would lose them")
    began = time.monotonic()
    once = may_vary(target.spark, condition)
    candidates = target.read.splits() if once else target.read.splits(pruning.predicate)
    places = sorted({_place(target, split) for split in candidates})
    job = job_for(table, WriteOptions(table.location), FrameColumns(target.shown(table.schema.fields)), overwrite=False)
    if not candidates:
        return Outcome(job, (), 0, 0, 0, 0)
    more = named_metadata_fields(table.schema, [condition])
    marked = _marked(_rows(target, candidates, places, more), condition, alias).drop(*(f.name for f in more))
    if once:
        marked = marked.localCheckpoint(True, StorageLevel.MEMORY_AND_DISK)
    found = marked.where(sf.col(_GOES)).groupBy(_NUMBER).agg(sf.count("*").alias("n")).collect()
    millis = round((time.monotonic() - began) * 1000)
    deleted = sum(row["n"] for row in found)
    read = sum(split.file_count for split in candidates)
    if not found:
        return Outcome(job, (), 0, 0, 0, read, millis)
    assert target.read.snapshot is not None, "rows of a table without a snapshot"
    touched = {places[row[_NUMBER]] for row in found}
    whole = [split for split in target.read.splits() if _place(target, split) in touched]
    entries = by_place(table, live_entries(table, target.read.snapshot, {split.partition for split in whole}))
    live = {place: entries[place] for place in touched}
    target.read.check_all_read(live)
    if once:
        rows = marked.where(sf.col(_NUMBER).isin([row[_NUMBER] for row in found]))
    else:
        places = sorted(touched)
        rows = _marked(_rows(target, whole, places, more), condition, alias).drop(*(f.name for f in more))
    rows = rows if tells_changes(table) else rows.where(~sf.col(_GOES))
    rows = rows.select(*(stored_column(field).alias(field.name) for field in table.schema.fields), _NUMBER, _GOES)
    keys = [quoted(field.name) for field in table.schema.key_fields]
    brought = by_number(rows, _NUMBER, len(touched)).sortWithinPartitions(_NUMBER, *keys)
    task = _rewriting(job, places, brought.columns)
    written = collect_messages(with_plain_names(brought).mapInArrow(in_worker(task), MESSAGE_ROWS))
    try:
        messages = replaced_buckets(table, target.read.snapshot, live, written)
    except BaseException:
        abort_job(job, written)
        raise
    return Outcome(job, tuple(messages), 0, deleted, 0, read, millis)


def _marked(rows: DataFrame, condition: Expression | None, alias: str) -> DataFrame:
    """The rows with whether they go."""
    goes = sf.lit(True) if condition is None else sf.coalesce(as_column(condition), sf.lit(False))
    return rows.alias(alias).withColumn(_GOES, goes)


def _rewriting(job: WriteJob, places: Sequence[Place], names: Sequence[str]) -> Task:
    """A task that writes the rows of buckets.

    Args:
        names: of the columns that it gets.
    """
    wanted = texts_as_they_are(job.table.schema.fields)
    buckets = np.array([bucket for _, bucket in places], np.int32)

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with nothing_committed():
            write = BucketRewrite(job.table, job.commit_user, current_task(), job.plan)
            try:
                for batch in (with_given_names(given, names) for given in batches):
                    goes = batch.column(_GOES)
                    for part, take in ((batch.filter(pc.invert(goes)), write.keep), (batch.filter(goes), write.remove)):
                        rows = align_rows(part.drop_columns([_NUMBER, _GOES]), wanted)
                        take(rows, buckets[part.column(_NUMBER).to_numpy()])
                messages = write.finish()
            except BaseException:
                write.abort()
                raise
        yield from message_rows(messages)

    return task


def _place(target: Target, split: Split) -> Place:
    return place_of(target.table, split.partition, split.bucket)


def _rows(target: Target, splits: Sequence[Split], places: Sequence[Place], more: Sequence[DataField]) -> DataFrame:
    """The merged rows of splits, of which there are some, with metadata columns and the number of their bucket."""
    fields = (*target.table.schema.fields, *more)
    check_places(target.table, fields, AlwaysTrue(), splits)
    scan = target.scan(fields)
    numbers: Mapping[Place, int] = {place: number for number, place in enumerate(places)}
    of_place: dict[int, list[Split]] = {}
    for split in splits:
        of_place.setdefault(numbers[_place(target, split)], []).append(split)
    frames = [scan.merged(part).withColumn(_NUMBER, sf.lit(number)) for number, part in of_place.items()]
    return target.as_read(functools.reduce(DataFrame.unionAll, frames), fields, splits, [_NUMBER])
