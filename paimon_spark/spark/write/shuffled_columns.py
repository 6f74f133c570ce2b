"""The columns by which rows are shuffled: those that are added for the way, and those of the rows that decide it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from paimon_spark.arrow.alignment import align_rows
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.store.write.row_rules import row_rules
from paimon_spark.writes.write_job import WriteJob

OWNER = "owner"
PLACE = "place"
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


def column_of(df: DataFrame, names: Sequence[str], field: DataField) -> Column:
    """The DataFrame's column of that name, in any letter case as align_rows finds it; NULL if it has none."""
    exact = [column for column, name in zip(df.columns, names, strict=True) if name == field.name]
    alike = [column for column, name in zip(df.columns, names, strict=True) if name.lower() == field.name.lower()]
    found = exact or alike
    return sf.col(found[0]) if found else sf.lit(None).cast(spark_type(field.type))


def stored_columns(job: WriteJob, fields: tuple[DataField, ...]) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """A function that brings these columns of given rows to what will be stored of them.

    Defaults are filled in as they will be when the row is written: its place depends on them.
    """
    table, wanted, store = job.table, job.row_fields(fields), job.store_rules()
    rules = row_rules(table.location, table.schema, table.settings).of_columns([field.name for field in fields])

    def stored(given: pa.RecordBatch) -> pa.RecordBatch:
        rows, _ = rules.prepare(align_rows(given, wanted, rules=store), None)
        return rows

    return stored
