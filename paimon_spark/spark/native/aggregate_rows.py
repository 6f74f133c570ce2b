"""A few rows that stand for those of a table where a query asks for their number and the ends of columns alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.conform import conform_batch
from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.arrow.types import arrow_schema, from_internal
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.local_read import local_rows
from paimon_spark.store.read.metadata_aggregates import MetadataAggregates

MOST_GROUPS = 10_000
"""More rows than that are not kept in a query plan."""


def aggregate_rows(
    spark: SparkSession, schema: TableSchema, known: MetadataAggregates, columns: Sequence[DataField], rows: str | None
) -> DataFrame | None:
    """For each group two rows: the least and the greatest values; None: there are too many groups.

    Args:
        spark: the session.
        schema: of the table.
        known: of all rows; its rest is empty.
        columns: which the rows have. The partition columns among them make the groups.
        rows: the name of a further column, whose sum is the number of rows of a group; None: none is wanted.
    """
    groups = _groups(schema, known, columns)
    if len(groups) > MOST_GROUPS:
        return None
    lines = [line for group in groups.values() for line in group]
    kept = columns or (schema.fields[0],)  # a row needs a column
    table, shown = shown_rows(kept, [[line[0].get(c.name) for c in kept] for line in lines])
    if rows is not None:
        table = table.append_column(rows, pa.array([line[1] for line in lines], pa.int64()))
        shown = st.StructType([*shown.fields, st.StructField(rows, st.LongType())])
    return local_rows(spark, table, shown)


def shown_rows(columns: Sequence[DataField], lines: Sequence[Sequence[Any]]) -> tuple[pa.Table, st.StructType]:
    """Internal values as Spark takes them, and their schema; each may be NULL.

    Args:
        columns: of the rows.
        lines: the rows: a value for each column.
    """
    shown = nullable(shown_schema(spark_schema(columns)))
    fields = [DataField(c.id, c.name, c.type.with_nullable(True)) for c in columns]
    values = [from_internal([line[at] for line in lines], field.type) for at, field in enumerate(fields)]
    batch = pa.RecordBatch.from_arrays(values, schema=arrow_schema(fields))
    return pa.Table.from_batches([conform_batch(batch, spark_arrow_schema(shown))]), shown


_Line = tuple[dict[str, Any], int]


def _groups(
    schema: TableSchema, known: MetadataAggregates, columns: Sequence[DataField]
) -> dict[tuple[Any, ...], list[_Line]]:
    """By the values of the partition columns: the rows of least and greatest values, each with a number of rows."""
    wanted = [(i, f.name) for i, f in enumerate(schema.partition_fields) if f in columns]
    keys = {name for _, name in wanted}
    found: dict[tuple[Any, ...], list[_Line]] = {}
    for partition, group in known.partitions.items():
        if not group.rows:
            continue
        values = decode_arity_row(partition, schema.partition_types) if wanted else ()
        fixed = {name: values[i] for i, name in wanted}
        low, high = found.setdefault(tuple(map(_key, fixed.values())), [(dict(fixed), 0), (dict(fixed), 0)])
        for name, (least, greatest) in group.bounds.items():
            if name not in keys:
                _keep(low[0], name, least, -1)
                _keep(high[0], name, greatest, 1)
        found[tuple(map(_key, fixed.values()))][0] = (low[0], low[1] + group.rows)
    return found


def _key(value: Any) -> Any:
    """What is equal for values of one group; NaN is not equal to itself."""
    return "NaN" if value != value else value


def _keep(line: dict[str, Any], name: str, value: Any, sign: int) -> None:
    if line.get(name) is None or compare_values(value, line[name]) * sign > 0:
        line[name] = value
