"""Changes of a table with keys, written as rows with kinds; the merge engine applies them."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.result import Outcome
from paimon_spark.row_changes.update_rules import BEFORE, DELETE, INSERT, UPDATE
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.char_columns import stored_column
from paimon_spark.spark.adapters.dataframes import MOST_ROWS
from paimon_spark.spark.jobs.bucket_routed_write import place_staged_with_spark
from paimon_spark.spark.rows.changes import KIND, OLD, Changes
from paimon_spark.spark.rows.checks import check_digits
from paimon_spark.spark.rows.target import Target
from paimon_spark.spark.write.bucket_routing import rows_here, small_rows, write_by_bucket, writes_here
from paimon_spark.spark.write.task_session import zone_of_rows
from paimon_spark.writes.open_write import job_for
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.task_rows import write_rows


def write_keyed(target: Target, changes: Changes) -> Outcome:
    """Writes the changes.

    Raises:
        UnsupportedFeature: the key has digits that Spark cuts: a row that is written would have another key.
        PaimonError: the rows do not fit the table.
        Spark's exception for a failed job, with the text of the PaimonError that failed it.
    """
    fields = target.table.schema.fields
    check_digits(target.table, target.table.schema.primary_keys, "the rows would get other keys")
    options = WriteOptions(target.table.location, row_kind_column=KIND)
    shown = st.StructType([st.StructField(KIND, st.StringType()), *target.shown(fields).fields])
    job = job_for(target.table, options, FrameColumns(shown), overwrite=False)
    job = replace(job, evolution=target.read.evolution, texts=target.texts)
    if (changes.few or changes.limited) and writes_here(target.spark, job):
        rows = _rows(changes.frame, fields)
        few = rows_here(rows) if changes.few else small_rows(rows)
        if few is not None and few.num_rows <= MOST_ROWS:
            numbers = collections.Counter(few.column(KIND).to_pylist())
            messages = place_staged_with_spark(target.spark, job, write_rows(job, 0, few.to_batches(), zone_of_rows))
            updated, deleted, inserted = (numbers[kind] for kind in (UPDATE, DELETE, INSERT))
            return Outcome(job, tuple(messages), updated, deleted, inserted, changes.file_count)
    counted, counts = _counted(changes.frame)
    messages = place_staged_with_spark(
        target.spark, job, write_by_bucket(_rows(counted, fields), job, owned=changes.owned)
    )
    if not messages:  # Spark counts nothing where its optimizer has found out that there is no row
        return Outcome(job, (), 0, 0, 0, changes.file_count)
    updated, deleted, inserted = _numbers(counts)
    return Outcome(job, tuple(messages), updated, deleted, inserted, changes.file_count)


def _rows(frame: DataFrame, fields: Sequence[DataField]) -> DataFrame:
    """The rows that are written, each with its kind."""
    return _with_old_rows(frame, fields) if OLD in frame.columns else frame.select(*_columns(fields))


def _counted(frame: DataFrame) -> tuple[DataFrame, Observation]:
    counts = Observation()
    kinds = ((UPDATE, "updated"), (DELETE, "deleted"), (INSERT, "inserted"))
    found = [sf.expr(f"count_if({KIND} = '{kind}') AS {name}") for kind, name in kinds]
    return frame.observe(counts, *found), counts


def _numbers(counts: Observation) -> tuple[int, int, int]:
    found: Mapping[str, int | None] = counts.get
    return int(found.get("updated") or 0), int(found.get("deleted") or 0), int(found.get("inserted") or 0)


def _columns(fields: Sequence[DataField], prefix: str = "") -> list[str]:
    return [f"{prefix}{quoted(name)}" for name in (KIND, *(field.name for field in fields))]


def _with_old_rows(frame: DataFrame, fields: Sequence[DataField]) -> DataFrame:
    """An update as two rows, the old one first: a writer keeps the order of rows with equal keys."""
    new = sf.struct(sf.col(KIND), *(sf.col(quoted(f.name)) for f in fields))
    old = sf.struct(sf.lit(BEFORE).alias(KIND), *(stored_column(f, OLD).alias(f.name) for f in fields))
    both = sf.when(sf.col(KIND) == UPDATE, sf.array(old, new)).otherwise(sf.array(new))
    return frame.select(sf.explode(both).alias("row")).select(*_columns(fields, "row."))
