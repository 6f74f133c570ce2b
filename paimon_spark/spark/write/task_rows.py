"""The rows of one task of a write: as Spark hands them over, as the table has them, and into files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from pyspark import TaskContext

from paimon_spark.arrow.alignment import DEFAULT_RULES, StoreRules, align_batch, complete_batch
from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.row_kind import KIND_TEXTS, Kinds
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import with_times
from paimon_spark.spark.adapters.options import DYNAMIC_OVERWRITE, OVERWRITE_MODE, OVERWRITE_SCHEMA, SESSION_ZONE
from paimon_spark.spark.write.write_job import WriteJob, nothing_committed
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.write.task_write import open_task_write


def write_rows(job: WriteJob, task_id: int, batches: Iterable[pa.RecordBatch]) -> list[CommitMessage]:
    """Writes the rows of one task; on any error its files are deleted again.

    Args:
        task_id: from 0; among equal keys the row of the higher task is the newer one.
        batches: as Spark hands them over, columns in any order.

    Raises:
        DataError: a row does not fit the table.
        StorageError: a file could not be written.
    """
    with nothing_committed():
        writer = open_task_write(job.table, job.commit_user, task_id, job.plan)
        try:
            for batch in batches:
                writer.write(*job_rows(job, batch))
            return writer.finish()
        except BaseException:
            writer.abort()
            raise


def overwrites_dynamically(job: WriteJob) -> bool:
    """True if the session of this task wants an overwrite to replace the partitions alone that have new rows.

    Spark hands the settings of a session to its tasks, on Spark Connect too.

    Raises:
        OptionError: the write replaces the columns of all rows.
    """
    context = TaskContext.get()
    mode = None if context is None else context.getLocalProperty(OVERWRITE_MODE)
    if (mode or "").lower() != "dynamic" or not job.table.schema.partition_keys:
        return False
    if job.evolution is not None and job.evolution.empties:
        raise OptionError(
            f"'{OVERWRITE_SCHEMA}' replaces the columns of all rows, and the session replaces partitions alone "
            f"('{OVERWRITE_MODE}' = 'dynamic'): give '{DYNAMIC_OVERWRITE}' = 'false' too"
        )
    return True


def job_rows(job: WriteJob, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Kinds | None]:
    """Rows as Spark hands them over, brought to the columns of the table, and their kinds if a column tells them.

    Raises:
        DataError: they do not fit.
    """
    if job.row_kind_column is None:
        return _aligned(job, batch), None
    position = batch.schema.get_field_index(job.row_kind_column)
    kinds = row_kinds(batch.column(position), job.row_kind_column)
    return _aligned(job, batch.remove_column(position)), kinds


def _aligned(job: WriteJob, batch: pa.RecordBatch) -> pa.RecordBatch:
    rules = job.store_rules(zone_of_rows(batch.schema))
    return align_rows(batch, job.row_fields(), job.omissible, job.completes, rules)


def zone_of_rows(rows: Iterable[pa.Field]) -> str | None:
    """The time zone of the session of this task; None: it is not known.

    Spark hands the settings of a session to its tasks, but not their defaults; instants come in its zone at any rate.
    """
    context = TaskContext.get()
    given = None if context is None else context.getLocalProperty(SESSION_ZONE)
    return given or next((zone for field in rows if (zone := _zone_within(field.type)) is not None), None)


def _zone_within(kind: pa.DataType) -> str | None:
    if pt.is_timestamp(kind):
        zone: str | None = kind.tz
        return zone
    return next((z for i in range(kind.num_fields) if (z := _zone_within(kind.field(i).type)) is not None), None)


def current_task() -> int:
    """The number of the Spark task that runs here, in the order of the DataFrame's partitions; 0 outside of one."""
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


def align_rows(
    batch: pa.RecordBatch,
    fields: Sequence[DataField],
    omissible: frozenset[str] = frozenset(),
    completes: bool = False,
    rules: StoreRules = DEFAULT_RULES,
) -> pa.RecordBatch:
    """Rows as Spark hands them over, brought to the columns of the table; they may lack the omissible ones.

    Args:
        completes: they may also lack fields of structs, and have texts for other values.
        rules: as for align_batch.

    Raises:
        DataError: they do not fit.
    """
    timed = with_times(batch, fields)
    if completes:
        timed = complete_batch(timed, fields)
    return align_batch(timed, fields, omissible, rules)


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
