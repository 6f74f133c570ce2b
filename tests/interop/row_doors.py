"""The ways by which we change the rows of a table in a history: PaimonTable, ``spark.sql``, and without Spark."""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import our_engine
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from pyspark.sql import DataFrame, SparkSession
from sqlglot import exp
from support.oracles.comparing import Row, arrow_batch, comparable
from support.registered_catalogs import forget_catalogs

import paimon_spark
from paimon_spark import PaimonTable, open_table
from paimon_spark.arrow.predicates.sql_text import parse_predicate, parse_value
from paimon_spark.arrow.types import data_type
from paimon_spark.errors import PredicateError
from paimon_spark.format.type_text import type_sql
from paimon_spark.format.types import NESTED, DataField, DataType, Root
from paimon_spark.row_changes.clauses import Action
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table


class Door(ABC):
    """A way to the table of a path. Conditions call it t, and the rows that are merged s."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.spark = spark
        self.path = path

    @abstractmethod
    def write(self, rows: Sequence[Row], columns: Mapping[str, str]) -> None:
        """Adds rows. columns: their names and types."""

    @abstractmethod
    def delete(self, condition: str) -> int | None:
        """How many rows it has deleted."""

    @abstractmethod
    def update(self, condition: str, values: Mapping[str, str]) -> int | None:
        """How many rows it has updated."""

    @abstractmethod
    def merge(self, rows: DataFrame, match: str, clauses: Sequence[Clause]) -> None: ...

    @abstractmethod
    def alter(self, change: c.SchemaChange) -> None: ...

    def read(self) -> Counter[Row]:
        """The rows, where the way reads them too."""
        return our_engine.read(self.path)

    @abstractmethod
    def close(self) -> None:
        """The table is done with."""


class ByMethods(Door):
    """PaimonTable."""

    def close(self) -> None:
        """Nothing is open."""

    def write(self, rows: Sequence[Row], columns: Mapping[str, str]) -> None:
        batch = arrow_batch(rows, open_table(self.path).schema.fields)
        self._table.append(pa.Table.from_batches([batch]))

    @property
    def _table(self) -> PaimonTable:
        return PaimonTable.forPath(self.spark, self.path).alias("t")

    def delete(self, condition: str) -> int | None:
        return self._table.delete(condition).rows_deleted

    def update(self, condition: str, values: Mapping[str, str]) -> int | None:
        return self._table.update(condition, dict(values)).rows_updated

    def merge(self, rows: DataFrame, match: str, clauses: Sequence[Clause]) -> None:
        merge = self._table.merge(rows.alias("s"), match)
        for clause in clauses:
            merge = merge.with_clause(clause)
        merge.execute()

    def alter(self, change: c.SchemaChange) -> None:
        alter_table(open_table(self.path), (change,))


class BySql(Door):
    """Statements of ``spark.sql``, for which Spark knows the warehouse as its catalog ``doors``."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        super().__init__(spark, path)
        table = Path(path)
        paimon_spark.register_catalog(spark, "doors", str(table.parents[1]))
        self.name = f"doors.{table.parent.name.removesuffix('.db')}.{table.name}"

    def close(self) -> None:
        forget_catalogs(self.spark)

    def write(self, rows: Sequence[Row], columns: Mapping[str, str]) -> None:
        schema = ", ".join(f"`{name}` {of_source(kind)}" for name, kind in columns.items())
        self.spark.createDataFrame([tuple(map(of_spark, row)) for row in rows], schema).createOrReplaceTempView("s")
        self.spark.sql(f"INSERT INTO {self.name} SELECT * FROM s")

    def delete(self, condition: str) -> int | None:
        return self._count(f"DELETE FROM {self.name} AS t WHERE {condition}")

    def update(self, condition: str, values: Mapping[str, str]) -> int | None:
        return self._count(f"UPDATE {self.name} AS t SET {_sets(values)} WHERE {condition}")

    def _count(self, statement: str) -> int | None:
        found: int | None = self.spark.sql(statement).collect()[0][0]
        return found

    def merge(self, rows: DataFrame, match: str, clauses: Sequence[Clause]) -> None:
        rows.createOrReplaceTempView("s")
        self.spark.sql(merge_statement(self.name, "s", match, clauses))

    def alter(self, change: c.SchemaChange) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} {_change(change)}")

    def read(self) -> Counter[Row]:
        return comparable(self.spark.table(self.name).toArrow())


class WithoutSpark(ByMethods):
    """``open_table``. What neither its SQL nor Arrow says goes by PaimonTable."""

    def write(self, rows: Sequence[Row], columns: Mapping[str, str]) -> None:
        open_table(self.path).append(pa.Table.from_batches([arrow_batch(rows, self._fields)]))

    def delete(self, condition: str) -> int | None:
        try:
            given = arrow_or_sql(condition, self._scope("t"), of_table=True)
        except NotSaid:
            return super().delete(condition)
        return open_table(self.path).delete(given).rows_deleted

    def update(self, condition: str, values: Mapping[str, str]) -> int | None:
        scope = self._scope("t")
        try:
            given = {name: arrow_or_sql(value, scope, True, True) for name, value in values.items()}
            where = arrow_or_sql(condition, scope, of_table=True)
        except NotSaid:
            return super().update(condition, values)
        return open_table(self.path).update(where, given).rows_updated

    def merge(self, rows: DataFrame, match: str, clauses: Sequence[Clause]) -> None:
        source = rows.toArrow()
        scope = self._scope("t", s=[DataField(0, f.name, data_type(f.type)) for f in source.schema])
        merge: Any = open_table(self.path).merge(source, match, "s", "t")
        try:
            for clause in clauses:
                merge = self._with(merge, clause, scope)
        except NotSaid:
            super().merge(rows, match, clauses)
            return
        merge.execute()

    @property
    def _fields(self) -> Sequence[DataField]:
        return open_table(self.path).schema.fields

    def _scope(self, alias: str, **more: Sequence[DataField]) -> list[DataField]:
        sides = {alias: self._fields, **more}
        return [DataField(0, name, DataType(Root.ROW, fields=tuple(fields))) for name, fields in sides.items()]

    def _with(self, merge: Any, clause: Clause, scope: Sequence[DataField]) -> Any:
        condition = None if clause.condition is None else arrow_or_sql(str(clause.condition), scope)
        name = f"when_{clause.when.value.lower().replace(' ', '_')}_{clause.action.value.lower()}"
        if clause.action is Action.DELETE:
            return getattr(merge, name)(condition)
        if clause.values is None:
            return getattr(merge, f"{name}_all")(condition)
        given = {column: arrow_or_sql(str(value), scope, value=True) for column, value in clause.values.items()}
        return getattr(merge, name)(given, condition)


DOORS: Mapping[str, type[Door]] = {"methods": ByMethods, "spark.sql": BySql, "without Spark": WithoutSpark}


class NotSaid(Exception):
    """Neither SQL without Spark nor Arrow says it here."""


def arrow_or_sql(text: str, scope: Sequence[DataField], of_table: bool = False, value: bool = False) -> Any:
    """A drawn condition or value for a statement without Spark: its text, if that is read there, else of Arrow.

    Args:
        scope: the sides, each as a ROW.
        of_table: the statement has one side, and names its columns without it.
        value: it is a value, no condition.
    """
    try:
        (parse_value if value else parse_predicate)(text, scope, None)
    except PredicateError:
        tree = sqlglot.parse_one(text, dialect="spark")
        return _arrow(tree, of_table, {field.name: {f.name: f.type for f in field.type.fields} for field in scope})
    return re.sub(r"\bt\.", "", text) if of_table else text


def _arrow(node: Any, of_table: bool, types: Mapping[str, Mapping[str, DataType]]) -> pc.Expression:
    """An expression of Arrow that means the same; CHAR(n) is not padded by Arrow, so it is left to others."""

    def of(inner: Any) -> Any:
        return _arrow(inner, of_table, types)

    match node:
        case exp.Paren():
            return of(node.this)
        case exp.Column():
            side, name = node.parts[0].name, node.parts[-1].name
            if len(node.parts) != 2 or types[side][name].root is Root.CHAR or types[side][name].root in NESTED:
                raise NotSaid(node)
            return pc.field(name) if of_table else pc.field(side, name)
        case exp.Literal():
            return pc.scalar(str(node.this) if node.is_string else pa.scalar(int(node.this), pa.int32()))
        case exp.And() | exp.Or() | exp.Add() | exp.GT() | exp.EQ() | exp.NEQ():
            return _OF_TWO[type(node)](of(node.this), of(node.expression))
        case exp.Not():
            return pc.invert(of(node.this))
        case exp.Is():
            return pc.is_null(of(node.this))
        case exp.Between():
            return pc.and_kleene(of(node.this) >= of(node.args["low"]), of(node.this) <= of(node.args["high"]))
        case exp.Upper():
            return pc.utf8_upper(of(node.this))
        case exp.Length():
            return pc.utf8_length(of(node.this))
        case exp.Concat():
            return pc.binary_join_element_wise(*map(of, node.expressions), "")
        case exp.In(this=exp.Coalesce()):
            texts = [item.this for item in node.expressions]
            return pc.coalesce(of(node.this.this), *map(of, node.this.expressions)).isin(texts)
    raise NotSaid(node)


_OF_TWO: Mapping[type[Any], Callable[[pc.Expression, pc.Expression], pc.Expression]] = {
    exp.And: pc.and_kleene,
    exp.Or: pc.or_kleene,
    exp.Add: operator.add,
    exp.GT: operator.gt,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
}


def of_source(kind: str) -> str:
    """The type of a column of a DataFrame, for one of a table."""
    plain = kind.removesuffix(" NOT NULL")
    return "STRING" if plain.startswith(("CHAR", "VARCHAR")) else plain


def of_spark(value: Any) -> Any:
    """A value as a DataFrame is made of it."""
    return dict(value) if isinstance(value, frozenset) else value


def merge_statement(table: str, source: str, match: str, clauses: Sequence[Clause]) -> str:
    return f"MERGE INTO {table} AS t USING {source} AS s ON {match} {' '.join(map(_clause, clauses))}"


def sql_rows(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """A query for rows of numbers and texts; columns: names and types, in the order of the table."""
    return " UNION ALL ".join(
        "SELECT " + ", ".join(f"{_sql_value(row[name], kind)} AS {name}" for name, kind in columns.items())
        for row in rows
    )


def _sql_value(value: int | str | None, kind: str) -> str:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
    return f"CAST({text} AS {of_source(kind)})"


def _sets(values: Mapping[str, str]) -> str:
    return ", ".join(f"t.{name} = {value}" for name, value in values.items())


def _clause(clause: Clause) -> str:
    condition = "" if clause.condition is None else f" AND {clause.condition}"
    star = "*" if clause.is_star else ""
    sets = f" SET {star or _sets({n: str(v) for n, v in (clause.values or {}).items()})}"
    action = {"UPDATE": f"UPDATE{sets}", "DELETE": "DELETE", "INSERT": "INSERT *"}[clause.action]
    return f"WHEN {clause.when}{condition} THEN {action}"


def _change(change: c.SchemaChange) -> str:
    match change:
        case c.AddColumn((name,), data_type, _, position):
            return f"ADD COLUMN {name} {type_sql(data_type)} {position or ''}"
        case c.RenameColumn((name,), to):
            return f"RENAME COLUMN {name} TO {to}"
        case c.DropColumn((name,)):
            return f"DROP COLUMN {name}"
        case c.UpdateType((name,), data_type):
            return f"ALTER COLUMN {name} TYPE {type_sql(data_type)}"
    raise AssertionError(change)
