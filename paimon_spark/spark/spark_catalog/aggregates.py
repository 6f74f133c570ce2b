"""Aggregates of a query that metadata alone answer: COUNT(*), MIN and MAX, by partition columns or without groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import FLOATS, DataField, DataType, Root
from paimon_spark.spark.adapters.dataframes import arrow_dataframe
from paimon_spark.spark.native.aggregate_rows import shown_rows
from paimon_spark.spark.spark_catalog.jvm_objects import Java
from paimon_spark.spark.spark_catalog.predicates import column_name
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.metadata_aggregates import MetadataAggregates

_COUNT = DataType(Root.BIGINT)


@dataclass(frozen=True)
class Aggregates:
    """What a query asks of the rows.

    Attributes:
        groups: partition columns.
        functions: ("CountStar", None), ("Min", column) or ("Max", column).
        known: what metadata tell.
    """

    groups: tuple[DataField, ...]
    functions: tuple[tuple[str, DataField | None], ...]
    known: MetadataAggregates | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose bounds are asked for."""
        return tuple(dict.fromkeys(column.name for _, column in self.functions if column is not None))


def asked_aggregates(table: Table, aggregation: Java) -> Aggregates | None:
    """What Spark's Aggregation asks; None: metadata do not tell it."""
    columns, keys = table.schema.by_name, table.schema.partition_keys
    groups, functions = [], list[tuple[str, DataField | None]]()
    for expression in aggregation.groupByExpressions():
        name = column_name(expression)
        if name is None or len(name) != 1 or name[0] not in keys or columns[name[0]].type.root in (*FLOATS, Root.CHAR):
            return None
        groups.append(columns[name[0]])
    for function in aggregation.aggregateExpressions():
        kind = function.getClass().getSimpleName()
        if kind == "CountStar":
            functions.append((kind, None))
            continue
        name = column_name(function.column()) if kind in ("Min", "Max") else None
        if name is None or len(name) != 1 or name[0] not in columns:
            return None
        functions.append((kind, columns[name[0]]))
    return Aggregates(tuple(groups), tuple(functions))


def aggregated_rows(spark: SparkSession, schema: TableSchema, asked: Aggregates) -> DataFrame:
    """The rows of the answer: the groups, then the functions."""
    types = [field.type for field in asked.groups] + [_COUNT if c is None else c.type for _, c in asked.functions]
    columns = [DataField(number, f"c{number}", data_type) for number, data_type in enumerate(types)]
    return arrow_dataframe(spark, *shown_rows(columns, _lines(schema, asked)))


def _lines(schema: TableSchema, asked: Aggregates) -> list[Sequence[Any]]:
    assert asked.known is not None
    places = [schema.partition_keys.index(field.name) for field in asked.groups]
    found: dict[tuple[Any, ...], list[Any]] = {}
    for partition, group in asked.known.partitions.items():
        if not group.rows:
            continue
        values = decode_arity_row(partition, schema.partition_types) if places else ()
        line = found.setdefault(tuple(values[place] for place in places), [None] * len(asked.functions))
        for number, (kind, column) in enumerate(asked.functions):
            if column is None:
                line[number] = (line[number] or 0) + group.rows
            elif column.name in group.bounds:
                value, sign = group.bounds[column.name][kind == "Max"], 1 if kind == "Max" else -1
                if line[number] is None or compare_values(value, line[number]) * sign > 0:
                    line[number] = value
    if not asked.groups and not found:
        found[()] = [0 if column is None else None for _, column in asked.functions]
    return [(*key, *line) for key, line in found.items()]
