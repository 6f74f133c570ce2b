"""A write to a format table: tasks write whole files under hidden names, and the end of the job gives them theirs.

With Spark its tasks do the first; without it this process does (``write_format_here``).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from paimon_spark.arrow.alignment import StoreRules, align_rows
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.store.file_tables.format_table import FormatTable
from paimon_spark.store.file_tables.format_write import (
    FormatWriter,
    Replaced,
    StagedFile,
    check_compression,
    check_in_patterns,
    discard_job,
    publish,
)
from paimon_spark.store.open import find_any_table
from paimon_spark.store.write.absent_columns import omissible_columns
from paimon_spark.writes.arrow_input import record_batches, valid_batches
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.replaced_partitions import replaced_partitions
from paimon_spark.writes.write_job import WriteResult


@dataclass(frozen=True)
class FormatJob:
    """What the tasks need to know. name: of the job, which no other one has."""

    table: FormatTable
    name: str
    omissible: frozenset[str]
    replaced: Replaced

    def write(self, batches: Iterable[pa.RecordBatch], zone: TimeZone | None) -> list[StagedFile]:
        """The files of the rows of a task.

        Args:
            batches: columns in any order.
            zone: in which values go from an instant to a local time or back; None: it is not known.

        Raises:
            DataError: a row does not fit. No file is left.
        """
        writer = FormatWriter(self.table, self.name)
        fields = self.table.table.schema.fields
        try:
            for batch in batches:
                rows = align_rows(batch, fields, self.omissible, False, StoreRules(zone))
                check_in_patterns(self.table, rows, self.replaced)
                writer.write(rows)
            return writer.finish()
        except BaseException:
            writer.abort()
            raise

    def end(self, staged: Sequence[StagedFile], began: float) -> WriteResult:
        """Gives the files of all tasks their names. began: when the write did, by time.monotonic()."""
        publish(self.table, staged, self.replaced)
        count, size = sum(file.rows for file in staged), sum(file.size for file in staged)
        return WriteResult(count, len(staged), size, round((time.monotonic() - began) * 1000), None)

    def discard(self) -> None:
        """Deletes the files of a job that has failed. Raises nothing."""
        discard_job(self.table, self.name)


def find_format_table(options: WriteOptions) -> FormatTable | None:
    """The format table that a write is to; None: there is no table, or one of another kind.

    Raises:
        PaimonError: it cannot be opened.
    """
    found = find_any_table(options.path, options.table)
    return found if isinstance(found, FormatTable) else None


def open_format_job(table: FormatTable, names: Sequence[str], options: WriteOptions, overwrite: bool) -> FormatJob:
    """A write to a format table, with all that is checked before there is a row.

    Args:
        table: the table.
        names: of the columns of the rows.
        options: of the write.
        overwrite: whether rows are replaced: all, those of `overwrite-where`, or the partitions of the rows.

    Raises:
        UnsupportedFeature: an option asks for something that a table without snapshots does not have, or for a
            compression that files of the format do not have.
        PaimonError: columns, options and table do not fit.
    """
    check_compression(table)
    _check_options(table, options, overwrite)
    return FormatJob(
        table,
        uuid.uuid4().hex,
        omissible_columns(table.table, names, options.missing_columns, replaces=overwrite),
        _replaced(table, options, overwrite),
    )


def write_format_here(
    table: FormatTable, rows: Any, options: WriteOptions, overwrite: bool, zone: TimeZone | None
) -> WriteResult:
    """Writes rows to a format table by this process.

    Args:
        table, options, overwrite: as for open_format_job.
        rows: as for record_batches.
        zone: as for FormatJob.write.

    Raises:
        PaimonError: the rows do not fit. Nothing has changed then.
    """
    began = time.monotonic()
    reader = record_batches(rows)
    job = open_format_job(table, reader.schema.names, options, overwrite)
    align = partial(align_rows, fields=table.table.schema.fields, omissible=job.omissible)
    align(pa.RecordBatch.from_pylist([], schema=reader.schema))
    try:
        staged = job.write(valid_batches(reader), zone)
    except BaseException:
        job.discard()
        raise
    return job.end(staged, began)


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
