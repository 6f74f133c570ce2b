"""A write to a format table: each task writes whole files under hidden names, and the driver gives them theirs."""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from paimon_spark.arrow.alignment import StoreRules
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.spark.adapters.errors import plainly
from paimon_spark.spark.adapters.store_assignment import stored_times
from paimon_spark.spark.adapters.tasks import MESSAGE_ROWS, with_given_names, with_plain_names
from paimon_spark.spark.write.task_session import zone_of_rows
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.file_tables.format_write import (
    FormatWriter,
    Replaced,
    StagedFile,
    check_in_patterns,
    check_writes,
    discard_job,
    publish,
)
from paimon_spark.store.write.absent_columns import omissible_columns
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.replaced_partitions import replaced_partitions
from paimon_spark.writes.task_rows import align_rows
from paimon_spark.writes.write_job import WriteResult


@dataclass(frozen=True)
class FormatJob:
    """What the tasks need to know. name: of the job, which no other one has; names: of the columns of the rows."""

    table: FormatTable
    name: str
    names: tuple[str, ...]
    omissible: frozenset[str]
    replaced: Replaced

    def write(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The files of the rows of a task."""
        writer = FormatWriter(self.table, self.name)
        fields = self.table.table.schema.fields
        try:
            for batch in batches:
                given = with_given_names(batch, self.names)
                rules = StoreRules(zone_of_rows(given.schema))
                rows = align_rows(given, fields, self.omissible, False, rules)
                check_in_patterns(self.table, rows, self.replaced)
                writer.write(rows)
            staged = writer.finish()
        except BaseException:
            writer.abort()
            raise
        if staged:
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(staged)], pa.binary())], names=["messages"])


def write_format_table(df: DataFrame, table: FormatTable, options: WriteOptions, overwrite: bool) -> WriteResult:
    """Adds rows to a format table, or replaces all, those of some partitions, or the partitions of the rows.

    Raises:
        UnsupportedFeature: an option asks for something that a table without snapshots does not have, or this release
            does not write files of the format.
        PaimonError: the rows do not fit. Nothing has changed then.
        Spark's exception for a job that fails otherwise.
    """
    began = time.monotonic()
    check_writes(table)
    _check_options(table, options, overwrite)
    schema = table.table.schema
    job = FormatJob(
        table,
        uuid.uuid4().hex,
        tuple(df.columns),
        omissible_columns(table.table, df.columns, options.missing_columns, replaces=overwrite),
        _replaced(table, options, overwrite),
    )
    rows = with_plain_names(stored_times(df, schema.fields))
    try:
        found = rows.mapInArrow(plainly(job.write), MESSAGE_ROWS).collect()
    except BaseException:
        discard_job(table, job.name)
        raise
    staged: list[StagedFile] = [file for row in found for file in pickle.loads(row[0])]
    publish(table, staged, job.replaced)
    count, size = sum(file.rows for file in staged), sum(file.size for file in staged)
    return WriteResult(count, len(staged), size, round((time.monotonic() - began) * 1000), None)


def _replaced(table: FormatTable, options: WriteOptions, overwrite: bool) -> Replaced:
    if not overwrite:
        return "nothing"
    if options.overwrite_where is not None:
        return replaced_partitions(table.table.schema, options.overwrite_where, options.time_zone)
    return "dynamic" if options.overwrite_dynamic and table.table.schema.partition_keys else "all"


def _check_options(table: FormatTable, options: WriteOptions, overwrite: bool) -> None:
    asked = {
        "a row kind": options.row_kind_column is not None,
        "a name and number of the write": options.once is not None,
        "changes of the columns": options.merging is not None or options.overwrite_schema,
    }
    found = [what for what, is_asked in asked.items() if is_asked]
    if found:
        raise UnsupportedFeature(
            f"writing to {table.location} with {found[0]}: it is a format table, which has no snapshots; leave it out"
        )
    if options.overwrite_where is not None and not overwrite:
        raise OptionError("'overwrite-where' says what an overwrite replaces: use it with mode('overwrite')")
