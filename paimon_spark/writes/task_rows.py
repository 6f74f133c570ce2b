"""The rows of one task of a write: as they come, as the table has them, and into files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.alignment import align_rows
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import DataError
from paimon_spark.format.row_kind import KIND_TEXTS, Kinds
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.write.task_write import open_task_write
from paimon_spark.writes.write_job import WriteJob, nothing_committed

ZoneOf: TypeAlias = Callable[[pa.Schema], TimeZone | None]
"""The time zone in which rows of some columns go from an instant to a local time or back; None: it is not known."""


def write_rows(
    job: WriteJob, task_id: int, batches: Iterable[pa.RecordBatch], zone_of: ZoneOf = lambda _: None
) -> list[CommitMessage]:
    """Writes the rows of one task; on any error its files are deleted again.

    Args:
        task_id: from 0; among equal keys the row of the higher task is the newer one.
        batches: columns in any order.

    Raises:
        DataError: a row does not fit the table.
        StorageError: a file could not be written.
    """
    with nothing_committed():
        writer = open_task_write(job.table, job.commit_user, task_id, job.plan)
        try:
            for batch in batches:
                writer.write(*job_rows(job, batch, zone_of))
            return writer.finish()
        except BaseException:
            writer.abort()
            raise


def job_rows(job: WriteJob, batch: pa.RecordBatch, zone_of: ZoneOf) -> tuple[pa.RecordBatch, Kinds | None]:
    """Rows brought to the columns of the table, and their kinds if a column tells them.

    Raises:
        DataError: they do not fit.
    """
    if job.row_kind_column is None:
        return _aligned(job, batch, zone_of), None
    position = batch.schema.get_field_index(job.row_kind_column)
    kinds = row_kinds(batch.column(position), job.row_kind_column)
    return _aligned(job, batch.remove_column(position), zone_of), kinds


def _aligned(job: WriteJob, batch: pa.RecordBatch, zone_of: ZoneOf) -> pa.RecordBatch:
    rules = job.store_rules(zone_of(batch.schema))
    return align_rows(batch, job.row_fields(), job.omissible, job.completes, rules)


def row_kinds(column: pa.Array, name: str) -> Kinds:
    """The bytes of row kinds given as text.

    Raises:
        DataError: a value is none of +I, -U, +U, -D.
    """
    codes = pc.index_in(column, pa.array(KIND_TEXTS, column.type))
    if codes.null_count:
        wrong = pc.unique(column.filter(codes.is_null())).slice(0, 5).to_pylist()
        raise DataError(
            f"the row kind column '{name}' holds {', '.join(map(repr, wrong))}; expected {', '.join(KIND_TEXTS)}"
        )
    kinds: Kinds = codes.cast(pa.int8()).to_numpy()
    return kinds
