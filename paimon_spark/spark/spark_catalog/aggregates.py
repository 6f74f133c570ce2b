"""Aggregates of a query that Spark leaves to the scan.

Metadata alone answer COUNT(*), MIN and MAX, by partition columns or without groups. Of other rows, tasks make partial
aggregates; Spark finishes them: it sums counts and sums, and casts a sum of decimals to the type of their column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from paimon_spark.arrow.predicates.pruning import compare_values
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import FLOATS, DataField, DataType, Root
from paimon_spark.spark.adapters.dataframes import arrow_dataframe
from paimon_spark.spark.native.aggregate_rows import shown_rows
from paimon_spark.spark.native.asked_partials import (
    AskedPartials,
    asked_partials,
    is_exact_mean,
    largest_value,
    with_bounds,
)
from paimon_spark.spark.native.decimal_terms import SIGNS, DecimalTerm, Tree, decimal_term
from paimon_spark.spark.spark_catalog.jvm_objects import Java
from paimon_spark.spark.spark_catalog.predicates import column_name
from paimon_spark.sql.queries.aggregate_calls import COUNT, COUNT_ROWS, MAX, MIN, SUM, Constant
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.metadata_aggregates import MetadataAggregates
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.scan.table_scan import Scan

_COUNT = DataType(Root.BIGINT)
_FUNCTIONS = {"Count": COUNT, "Sum": SUM, "Min": MIN, "Max": MAX}
"""By Spark's names."""


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


def pushed_partials(scan: Scan, aggregation: Java, plan: Callable[[], Plan]) -> AskedPartials | None:
    """What Spark's Aggregation asks, as tasks can make it with the results of Spark; None: they cannot.

    Args:
        plan: gives that of the scan, whose statistics tell how large the values of a term may be.
    """
    table = scan.table
    groups = [_column(table, expression) for expression in aggregation.groupByExpressions()]

    def largest(field: DataField) -> int | None:
        return largest_value(scan, plan().snapshot, field)

    functions = [_function(table, function) for function in aggregation.aggregateExpressions()]
    if None in groups or None in functions:
        return None
    asked = asked_partials(table, [f for f in groups if f is not None], [f for f in functions if f is not None])
    return None if asked is None else with_bounds(asked, largest)


def _function(table: Table, function: Java) -> tuple[str, DataField | DecimalTerm | None] | None:
    """A function by our name, and its column or term."""
    kind = function.getClass().getSimpleName()
    if kind == "CountStar":
        return COUNT_ROWS, None
    if kind not in _FUNCTIONS or (kind in ("Count", "Sum") and function.isDistinct()):
        return None
    tree = _tree(table, function.column())
    if isinstance(tree, DataField):
        return _FUNCTIONS[kind], tree
    if tree is None or kind != "Sum":  # Spark finishes no other function of a term
        return None
    term = decimal_term(tree)
    return None if term is None or not term.columns else (_FUNCTIONS[kind], term)


def _tree(table: Table, expression: Java) -> Tree | None:
    """What Spark computes, of decimals; None: it is more than that. Spark leaves arithmetic only under ANSI."""
    match expression.getClass().getSimpleName():
        case "LiteralValue":
            kind, value = expression.dataType(), expression.value()
            if value is None or kind.getClass().getSimpleName() != "DecimalType":
                return None
            units = int(Fraction(value.toString()) * Fraction(10) ** kind.scale())
            return Constant(units, kind.precision(), kind.scale())
        case "GeneralScalarExpression":
            parts = [_tree(table, part) for part in expression.children()]
            if expression.name() not in SIGNS or len(parts) != 2 or parts[0] is None or parts[1] is None:
                return None
            return expression.name(), parts[0], parts[1]
    return _column(table, expression)


def has_exact_means(scan: Scan, aggregation: Java, plan: Callable[[], Plan]) -> bool:
    """True if Spark may have each mean by its sum and its count, of which it asks next where it must finish a mean.

    Args:
        plan: gives that of the scan.
    """
    means = [f for f in aggregation.aggregateExpressions() if f.getClass().getSimpleName() == "Avg"]
    columns = [None if mean.isDistinct() else _column(scan.table, mean.column()) for mean in means]
    return all(column is not None and is_exact_mean(scan, plan(), column) for column in columns)


def _column(table: Table, expression: Java) -> DataField | None:
    """The column of a table; None: the expression is another one."""
    name = column_name(expression)
    return table.schema.by_name.get(name[0]) if name is not None and len(name) == 1 else None


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
