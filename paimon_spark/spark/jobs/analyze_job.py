"""What is in the columns of a table, counted by Spark as its own ANALYZE does (Spark: CommandUtils.statExprs)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from paimon_spark.format.table_statistics import TEXTS, ColumnStatistics, planned_size, value_text
from paimon_spark.format.types import TIMESTAMPS, DataField
from paimon_spark.spark.adapters.errors import job_errors
from paimon_spark.spark.adapters.tasks import with_plain_names

_MAX_ERROR = 0.05  # of the number of distinct values, the default of spark.sql.statistics.ndv.maxError
_NANOS = 1000  # in a microsecond


def count_columns(rows: DataFrame, fields: Sequence[DataField]) -> tuple[int, dict[str, ColumnStatistics]]:
    """The number of rows, and the statistics of columns by name; one job.

    Args:
        rows: has the columns, in this order, and no others unless there are none.
        fields: the columns; each of a type that has statistics.
    """
    plain = with_plain_names(rows)
    named = zip(plain.columns, fields, strict=False)  # the rows have one column if no field is counted
    measures = [measure for name, field in named for measure in _measures(sf.col(name), field)]
    with job_errors():
        found = plain.agg(sf.count(sf.lit(1)), *measures).toArrow()
    values = iter(_value(column) for column in found.columns)
    count = next(values)
    return count, {field.name: _statistics(field, count, values) for field in fields}


def _measures(column: Column, field: DataField) -> tuple[Column, ...]:
    distinct, present = sf.approx_count_distinct(column, _MAX_ERROR), sf.count(column)
    if field.type.root in TEXTS:
        length = sf.length(column)
        return distinct, present, sf.ceil(sf.avg(length)), sf.max(length)
    return distinct, present, sf.min(column), sf.max(column)


def _statistics(field: DataField, rows: int, values: Iterator[Any]) -> ColumnStatistics:
    distinct, present, first, second = (next(values) for _ in range(4))
    size = planned_size(field.type)
    is_text = field.type.root in TEXTS
    least, greatest = (None, None) if is_text else (_text(field, first), _text(field, second))
    return ColumnStatistics(
        column_id=field.id,
        distinct_count=min(distinct, present),
        min=least,
        max=greatest,
        null_count=rows - present,
        avg_len=int(first) if is_text and present else size,
        max_len=second if is_text and present else size,
    )


def _text(field: DataField, value: Any) -> str | None:
    if value is None:
        return None
    return value_text(value * _NANOS if field.type.root in TIMESTAMPS else value, field.type)


def _value(column: pa.ChunkedArray) -> Any:
    """The one value of a column; times are numbers, which no time zone changes."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return column[0].as_py()
