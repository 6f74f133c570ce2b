"""Aggregates of a query that Spark leaves to the scan.

Metadata alone answer COUNT(*), MIN and MAX, by partition columns or without groups. Of other rows, tasks make partial
aggregates; Spark finishes them: it sums counts and sums, and casts a sum of decimals to the type of their column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import FLOATS, INTEGERS, TIMESTAMPS, DataField, DataType, Root
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.dataframes import arrow_dataframe
from paimon_spark.spark.adapters.types import shown_schema, spark_schema
from paimon_spark.spark.native.aggregate_rows import shown_rows
from paimon_spark.spark.native.partial_aggregates import COUNT, COUNT_ROWS, MAX, MIN, SUM, PartialAggregates
from paimon_spark.spark.spark_catalog.jvm_objects import Java
from paimon_spark.spark.spark_catalog.predicates import column_name
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.metadata_aggregates import MetadataAggregates

_COUNT = DataType(Root.BIGINT)
_ENDS = INTEGERS | TIMESTAMPS | {Root.DECIMAL, Root.DATE, Root.BOOLEAN}
_GROUPS = _ENDS | {Root.VARCHAR}
_PARTIALS: dict[str, tuple[str, frozenset[Root] | None]] = {
    "Count": (COUNT, None),
    "Sum": (SUM, INTEGERS | {Root.DECIMAL}),
    "Min": (MIN, _ENDS),
    "Max": (MAX, _ENDS),
}
"""By Spark's names: the functions, and the types of their columns; None: any. Sums of floats depend on their order."""


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
    groups, functions = [], list[tuple[str, DataField | None]]()
    for expression in aggregation.groupByExpressions():
        key = _column(table, expression)
        if key is None or key.name not in table.schema.partition_keys or key.type.root in (*FLOATS, Root.CHAR):
            return None
        groups.append(key)
    for function in aggregation.aggregateExpressions():
        kind = function.getClass().getSimpleName()
        if kind == "CountStar":
            functions.append((kind, None))
            continue
        column = _column(table, function.column()) if kind in ("Min", "Max") else None
        if column is None:
            return None
        functions.append((kind, column))
    if not groups and not functions:  # of an aggregate of which Spark wants no column: a row needs one
        return None
    return Aggregates(tuple(groups), tuple(functions))


@dataclass(frozen=True)
class AskedPartials:
    """Partial aggregates that tasks can make of rows.

    Attributes:
        made: what is made.
        columns: the columns that are read for it.
        schema: of the partial aggregates, as Spark has it.
    """

    made: PartialAggregates
    columns: tuple[str, ...]
    schema: st.StructType


def asked_partials(table: Table, aggregation: Java) -> AskedPartials | None:
    """What Spark's Aggregation asks, as tasks can make it with the results of Spark; None: they cannot.

    Groups of floats are left to Spark (NaN, -0.0), those of CHAR (it pads them), and those of keys, which are many.
    """
    groups = [_column(table, expression, _GROUPS) for expression in aggregation.groupByExpressions()]
    functions = [_partial(table, function) for function in aggregation.aggregateExpressions()]
    if None in groups or None in functions:
        return None
    found, names = [f for f in functions if f is not None], tuple(f.name for f in groups if f is not None)
    keys = [field.name for field in bucket_fields(table.schema, table.settings)]
    if keys and set(keys) <= set(names):
        return None
    types = [_shown_type(field) for field in groups if field is not None] + [kind for _, _, kind in found]
    schema = st.StructType([st.StructField(f"c{number}", kind) for number, kind in enumerate(types)])
    made = PartialAggregates(names, tuple((f, name) for f, name, _ in found), spark_arrow_schema(schema))
    columns = dict.fromkeys([*names, *(name for _, name, _ in found if name)])
    return AskedPartials(made, tuple(columns), schema)


def _partial(table: Table, function: Java) -> tuple[str, str, st.DataType] | None:
    """The function, its column and the type of its partial results."""
    kind = function.getClass().getSimpleName()
    if kind == "CountStar":
        return COUNT_ROWS, "", st.LongType()
    if kind not in _PARTIALS or (kind in ("Count", "Sum") and function.isDistinct()):
        return None
    name, roots = _PARTIALS[kind]
    field = _column(table, function.column(), roots)
    if field is None:
        return None
    is_wide = kind == "Count" or (kind == "Sum" and field.type.root in INTEGERS)
    return name, field.name, st.LongType() if is_wide else _shown_type(field)


def _shown_type(field: DataField) -> st.DataType:
    return shown_schema(spark_schema([field])).fields[0].dataType


def _column(table: Table, expression: Java, roots: frozenset[Root] | None = None) -> DataField | None:
    """The column of a table, of some types; None: the expression is another one.

    Args:
        roots: None: any.
    """
    name = column_name(expression)
    field = table.schema.by_name.get(name[0]) if name is not None and len(name) == 1 else None
    return field if field is not None and (roots is None or field.type.root in roots) else None


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
