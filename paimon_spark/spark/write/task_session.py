"""What a task of Spark knows of its session."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.types as pt
from pyspark import TaskContext

from paimon_spark.errors import OptionError
from paimon_spark.spark.adapters.options import OVERWRITE_MODE, SESSION_ZONE
from paimon_spark.writes.options import DYNAMIC_OVERWRITE, OVERWRITE_SCHEMA
from paimon_spark.writes.write_job import WriteJob


def is_dynamic_session() -> bool:
    """True if the session of this task says so of all overwrites."""
    context = TaskContext.get()
    mode = None if context is None else context.getLocalProperty(OVERWRITE_MODE)
    return (mode or "").lower() == "dynamic"


def overwrites_dynamically(job: WriteJob) -> bool:
    """True if the session of this task wants an overwrite to replace the partitions alone that have new rows.

    Spark hands the settings of a session to its tasks, on Spark Connect too.

    Raises:
        OptionError: the write replaces the columns of all rows.
    """
    if not is_dynamic_session() or not job.table.schema.partition_keys:
        return False
    if job.evolution is not None and job.evolution.empties:
        raise OptionError(
            f"'{OVERWRITE_SCHEMA}' replaces the columns of all rows, and the session replaces partitions alone "
            f"('{OVERWRITE_MODE}' = 'dynamic'): give '{DYNAMIC_OVERWRITE}' = 'false' too"
        )
    return True


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
