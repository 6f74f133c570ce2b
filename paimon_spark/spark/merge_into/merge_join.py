"""The join of a MERGE, and what its clauses make of each joined row.

Names are read as in Spark: in WHEN MATCHED those of both sides, in WHEN NOT MATCHED those of the source, in WHEN NOT
MATCHED BY SOURCE those of the target. So the joined row is looked at three times, each time with the names of one side,
or of both, in plain sight.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as sf

from paimon_spark.errors import DataError, SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import ROW_ID
from paimon_spark.format.types import FLOATS, DataField, Root
from paimon_spark.row_changes.clauses import Action, When, deletes_all_matched
from paimon_spark.row_changes.update_rules import DELETE, UPDATE
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.char_columns import stored_column, with_blanks
from paimon_spark.spark.adapters.errors import raised
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.merge_into.merge_keys import SameColumns
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER
from paimon_spark.spark.rows.assignments import (
    Assignment,
    Expression,
    as_column,
    keeps_itself,
    new_values,
    read_assignments,
)
from paimon_spark.spark.rows.changes import KIND, OLD, Wanted, place_columns
from paimon_spark.spark.rows.checks import delete_kind, insert_kind, update_kind
from paimon_spark.spark.rows.expressions import may_vary
from paimon_spark.store.metadata.table import Table

_TARGET, _SOURCE = "_paimon_t", "_paimon_s"
_IN_TARGET, _IN_SOURCE, _NUMBER = "_paimon_in_target", "_paimon_in_source", "_paimon_source_row"
_SEVERAL, _INSERTED, _TURN = "_paimon_several", "_paimon_inserted", "_paimon_turn"
_MADE = "_paimon_made"
_HOW = {(False, False): "inner", (True, False): "left", (False, True): "right", (True, True): "full"}


@dataclass(frozen=True)
class MergePlan:
    """A MERGE with its two sides.

    Attributes:
        table: the target.
        alias, source_alias: the names of the sides in expressions.
        condition: which rows match.
        clauses: in their order.
        same: columns of the target that equal columns of the source in matched rows.
        wanted: what the writer needs of the changes.
        what: is done, for messages.
        naming: how names of columns meet; it completes where the schema may change.
        assigned: with data evolution, the columns that updates write, which are all that they have; None: they write
            whole rows.
    """

    table: Table
    alias: str
    source_alias: str
    condition: Expression
    clauses: Sequence[Clause]
    same: SameColumns
    wanted: Wanted
    what: str
    naming: Naming
    assigned: frozenset[str] | None = None

    @property
    def fields(self) -> Sequence[DataField]:
        """The columns of the target."""
        return self.table.schema.fields

    @property
    def made(self) -> Sequence[DataField]:
        """The columns of rows that change, as far as any of them has values of them."""
        if self.assigned is None or self.of(When.NOT_MATCHED):
            return self.fields
        return [field for field in self.fields if field.name in self.assigned]

    @property
    def only_updates(self) -> bool:
        """True if no row is new and none is deleted."""
        return all(clause.action is Action.UPDATE for clause in self.clauses)

    @property
    def changes_all_matched(self) -> bool:
        """True if every row that matches is changed."""
        return any(clause.condition is None for clause in self.of(When.MATCHED))

    def of(self, when: When) -> list[Clause]:
        """The clauses for some rows."""
        return [clause for clause in self.clauses if clause.when is when]

    @property
    def needs_target_rows(self) -> bool:
        """True if more than the columns that expressions name are needed of the target."""
        changes = [clause for clause in self.clauses if clause.action is not Action.INSERT]
        writes_rows = self.assigned is None
        return any((clause.action is Action.UPDATE and writes_rows) or not self.wanted.places for clause in changes)


def merged_rows(plan: MergePlan, target: DataFrame, source: DataFrame, identity: Sequence[str]) -> DataFrame:
    """The rows that change: see Changes.frame.

    Args:
        target: rows of the table, with places if they are wanted.
        source: the rows of the source.
        identity: columns of the target that tell its rows apart; empty: the caller looks himself for rows of the target
            that match several of the source.

    Raises:
        SqlError: a clause names an unknown column, assigns one twice, or a column of the primary key.
        DataError: a value cannot be stored in its column.
        AnalysisException: Spark does not understand an expression.
    """
    source = source.alias(plan.source_alias)
    on = as_column(plan.condition)
    if not plan.of(When.MATCHED) and not plan.of(When.NOT_MATCHED_BY_SOURCE):
        rows = source.join(target.alias(plan.alias), on, "left_anti")
        return _new_rows(plan, rows)
    inserts, by_source = bool(plan.of(When.NOT_MATCHED)), bool(plan.of(When.NOT_MATCHED_BY_SOURCE))
    marks = {_IN_SOURCE: sf.lit(True), _INSERTED: _inserted(plan, source), _NUMBER: sf.monotonically_increasing_id()}
    joined = source.withColumns(marks).join(
        target.alias(plan.alias).withColumn(_IN_TARGET, sf.lit(True)), on, _HOW[inserts, by_source]
    )
    counted = _counted(plan, joined, identity, target.columns)
    is_both = sf.col(_IN_SOURCE).isNotNull() & sf.col(_IN_TARGET).isNotNull()
    names = {_TARGET: target.columns, _SOURCE: source.columns}
    structs = [
        sf.struct(*(sf.col(f"{quoted(alias)}.{quoted(name)}") for name in names[side])).alias(side)
        for side, alias in ((_TARGET, plan.alias), (_SOURCE, plan.source_alias))
    ]
    matched = _made(plan, counted, When.MATCHED)
    rows = counted.select(
        *structs, _IN_SOURCE, _IN_TARGET, _SEVERAL, sf.when(is_both, matched).alias(_made_name(When.MATCHED))
    )
    for when, side, alias, other in (
        (When.NOT_MATCHED, _SOURCE, plan.source_alias, _IN_TARGET),
        (When.NOT_MATCHED_BY_SOURCE, _TARGET, plan.alias, _IN_SOURCE),
    ):
        if plan.of(when):
            rows = _with_side(plan, rows, when, (side, alias, other))
    made = [sf.col(_made_name(when)) for when in When if plan.of(when)]
    error = raised(DataError, sf.col(_SEVERAL))  # in the value itself, where the optimizer cannot leave it out
    result = sf.when(sf.col(_SEVERAL).isNotNull(), error).otherwise(sf.coalesce(*made))
    changed = rows.withColumn(_MADE, result).where(sf.col(_MADE).isNotNull())
    places = place_columns(_TARGET, plan.wanted.ids) if plan.wanted.places else []
    old = sf.col(_TARGET).alias(OLD) if plan.wanted.old and plan.needs_target_rows else None
    return changed.select(*_out(plan), *places, *([] if old is None else [old]))


def sides_of_few(plan: MergePlan, target: DataFrame, source: DataFrame, both: bool) -> tuple[DataFrame, DataFrame]:
    """The sides, the source of few rows, so that their join shuffles no more than rows that match.

    Without equal columns each row meets each one of the other side, and that is work for all tasks.

    Args:
        target, source: as of merged_rows.
        both: whether the table has few rows, too.
    """
    if not plan.same.pairs:
        return target, source
    source = source.coalesce(1)
    if both:
        return target.coalesce(1), source.hint("shuffle_hash")
    if plan.of(When.NOT_MATCHED_BY_SOURCE):
        return target, source
    # Spark sends no side of an outer join to all tasks that must stay whole: it would shuffle and sort the table.
    sent = sf.broadcast(source.alias(plan.source_alias))
    return target.alias(plan.alias).join(sent, as_column(plan.condition), "left_semi"), source


def _made_name(when: When) -> str:
    return f"{_MADE}_{when.replace(' ', '_').lower()}"


def _out(plan: MergePlan) -> list[Column]:
    names = [KIND, *(field.name for field in plan.made)]
    return [sf.col(f"{_MADE}.{quoted(name)}").alias(name) for name in names]


def _with_side(plan: MergePlan, rows: DataFrame, when: When, side: tuple[str, str, str]) -> DataFrame:
    """The rows with what the clauses for one side make of those that the other side lacks."""
    struct, alias, other = side
    kept = rows.columns
    shown = rows.select("*", sf.expr(f"{struct}.*")).alias(alias)
    made = sf.when(sf.col(other).isNull(), _made(plan, shown, when)).alias(_made_name(when))
    return shown.select(*kept, made)


def _new_rows(plan: MergePlan, rows: DataFrame) -> DataFrame:
    """New rows alone: there is no other side."""
    made = rows.select(_made(plan, rows, When.NOT_MATCHED).alias(_MADE)).where(sf.col(_MADE).isNotNull())
    nothing = [("string", ROW_FILE), ("bigint", ROW_NUMBER), *([("bigint", ROW_ID)] if plan.wanted.ids else [])]
    places = [sf.lit(None).cast(kind).alias(name) for kind, name in nothing] if plan.wanted.places else []
    return made.select(*_out(plan), *places)


def _counted(plan: MergePlan, joined: DataFrame, identity: Sequence[str], target_columns: Sequence[str]) -> DataFrame:
    """The rows with _SEVERAL: the text of an error, where several of the source match one row of the target.

    Where the primary key is compared with columns of the source, several source rows of one key are an error too if
    they match or are inserted: a table with keys would keep one of them, and nobody could tell which.

    Where all matched rows are deleted, whatever the source says, several of the source are none too many, as for Spark
    itself (Spark: RewriteMergeIntoTable.shouldCheckCardinality): the row of the target stays once.
    """
    if not plan.of(When.MATCHED) or not identity:
        return joined.withColumn(_SEVERAL, sf.lit(None).cast("string"))
    matched = sf.col(_IN_SOURCE).isNotNull() & sf.col(_IN_TARGET).isNotNull()
    places = [sf.col(f"{quoted(plan.alias)}.{quoted(name)}") for name in identity]
    floats = [f.name for f in plan.fields if f.name in identity and f.type.root in FLOATS]
    places += [sf.col(f"{quoted(plan.alias)}.{quoted(name)}").cast("string") for name in floats]  # -0.0 is not 0.0
    keys = plan.same.key_columns(plan.table)
    if keys is not None:
        shown = [sf.col(f"{quoted(plan.source_alias)}.{quoted(name)}") for name in keys.values()]
        columns = _padded(plan, shown, list(keys))
        has_key = functools.reduce(operator.and_, (column.isNotNull() for column in shown))  # NULL is no key
        applies = sf.col(_IN_SOURCE).isNotNull() & has_key & (matched | sf.col(_INSERTED))
    else:
        columns, applies = places, matched
        named = [name for name in target_columns if name in plan.table.schema.names]
        shown = [sf.col(f"{quoted(plan.alias)}.{quoted(name)}") for name in named] or columns
    window = _window(columns, applies)
    several = several_rows(plan, "match the row", shown, " of the target")
    differs = sf.min(_NUMBER).over(window) < sf.max(_NUMBER).over(window)  # one row may match several of the target
    if not deletes_all_matched(plan.clauses):
        return joined.withColumn(_SEVERAL, sf.when(applies & differs, several))
    counted = joined.withColumn(_SEVERAL, sf.when(applies & ~matched & differs, several))
    turn = sf.row_number().over(_window(places, matched).orderBy(sf.lit(0)))
    return counted.withColumn(_TURN, sf.when(matched, turn).otherwise(1)).where(sf.col(_TURN) == 1)


def _window(columns: Sequence[Column], applies: Column) -> WindowSpec:
    """The rows of equal columns; those that are not compared must not be one group, of one task."""
    return Window.partitionBy(*columns, sf.when(~applies, sf.monotonically_increasing_id()))


def several_rows(plan: MergePlan, verb: str, shown: Sequence[Column], rest: str = "") -> Column:
    """The error of several rows of the source that, as verb says, "match the row" which the columns show."""
    return sf.concat(
        sf.lit(f"{plan.what}: several rows of the source {verb} "),
        sf.to_json(sf.struct(*shown)),
        sf.lit(f"{rest}, so it is not clear which one counts; make the source have one row for each"),
    )


def _padded(plan: MergePlan, source_keys: Sequence[Column], names: Sequence[str]) -> list[Column]:
    """The columns of the source as they are compared: a text meets a CHAR with blanks.

    Args:
        names: of the columns of the target.
    """
    fields = [plan.table.schema.by_name[name] for name in names]
    return [
        with_blanks(column, field.type.length or 1) if field.type.root is Root.CHAR else column
        for column, field in zip(source_keys, fields, strict=True)
    ]


def _inserted(plan: MergePlan, source: DataFrame) -> Column:
    """True for a row of the source that is inserted if it matches none; a condition that may vary is taken for true."""
    conditions = [clause.condition for clause in plan.of(When.NOT_MATCHED)]
    if any(condition is None or may_vary(source.sparkSession, condition) for condition in conditions):
        return sf.lit(True)
    holds = (sf.coalesce(as_column(condition), sf.lit(False)) for condition in conditions if condition is not None)
    return functools.reduce(operator.or_, holds, sf.lit(False))


# -------------------------------------------------------------------------------------------------------------- clauses


def _made(plan: MergePlan, rows: DataFrame, when: When) -> Column:
    """KIND and the columns of the table, of the first clause whose condition is true; NULL: of none."""
    made: Column | None = None
    for clause in plan.of(when):
        condition = sf.lit(True) if clause.condition is None else as_column(clause.condition)
        result = _result(plan, rows, clause)
        made = sf.when(condition, result) if made is None else made.when(condition, result)
    return sf.lit(None) if made is None else made


def _result(plan: MergePlan, rows: DataFrame, clause: Clause) -> Column:
    fields = plan.fields
    if clause.action is Action.DELETE:
        values = [_old(plan, field).alias(field.name) for field in plan.made]
        kind = sf.lit(DELETE) if plan.wanted.places else delete_kind(plan.table, plan.alias)
        return sf.struct(kind.alias(KIND), *values)
    given = assignments_of(plan, clause)
    if clause.action is Action.INSERT:
        values = new_values(rows, None, fields, given, plan.what)
        return sf.struct(insert_kind(plan.table, values).alias(KIND), *values)
    if plan.assigned is not None:
        return sf.struct(sf.lit(UPDATE).alias(KIND), *_assigned_values(plan, rows, given))
    values = new_values(rows, plan.alias, fields, given, plan.what)
    kind = sf.lit(UPDATE) if plan.wanted.places else update_kind(plan.table, given, values, plan.alias)
    return sf.struct(kind.alias(KIND), *values)


def _assigned_values(plan: MergePlan, rows: DataFrame, given: Sequence[Assignment]) -> list[Column]:
    """The values of the columns that updates write, whichever of them this one assigns; no others."""
    own = [field for field in plan.made if field.name in (plan.assigned or ())]
    found = new_values(rows, plan.alias, own, given, plan.what)
    values = {field.name: value for field, value in zip(own, found, strict=True)}
    return [values.get(f.name, sf.lit(None).cast(spark_type(f.type)).alias(f.name)) for f in plan.made]


def assigned_columns(plan: MergePlan) -> dict[str, bool]:
    """The columns that updates assign; each with whether some update leaves it, or a part of it, as it is.

    Raises:
        SqlError: as of assignments_of.
    """
    clauses = [assignments_of(plan, clause) for clause in plan.clauses if clause.action is Action.UPDATE]
    whole = [{item.field.name for item in given if not item.inner and not item.keeps} for given in clauses]
    names = dict.fromkeys(item.field.name for given in clauses for item in given)
    return {name: not all(name in found for found in whole) for name in names}


def _old(plan: MergePlan, field: DataField) -> Column:
    if plan.wanted.places:  # the place tells which row goes
        return sf.lit(None).cast(spark_type(field.type))
    return stored_column(field, plan.alias)


def assignments_of(plan: MergePlan, clause: Clause) -> list[Assignment]:
    """The assignments of a clause, without those that the condition of the MERGE makes empty.

    Raises:
        SqlError: a column is unknown, missing in the source, or part of the primary key.
    """
    given = _by_name(plan) if clause.values is None else clause.values
    found = read_assignments(plan.fields, given, plan.what, [plan.alias], plan.naming)
    if clause.is_star and plan.naming.completes:
        found = [replace(item, keeps=True) for item in found]
    if clause.action is Action.INSERT:
        return found
    kept = []
    for item, (_, value) in zip(found, given.items(), strict=True):
        if not item.inner and plan.same.is_same(item.field.name, value) and clause.when is When.MATCHED:
            continue
        if item.field.name in plan.table.schema.primary_keys:
            others = plan.same.source_names if clause.when is When.MATCHED else ()
            if keeps_itself(item, value, plan.alias, plan.fields, others):
                continue
            pair = f"{plan.alias}.{item.field.name} = {plan.source_alias}.{item.field.name}"
            how = (
                "compare it with the value in the condition of the MERGE, by = alone, with a column of the same type, "
                f"each with the name of its side: {pair}"
                if isinstance(plan.condition, str)
                else f"give the condition of the MERGE as text, because a Column cannot be looked into: {pair}"
            )
            raise SqlError(
                f"{plan.what}: '{item.field.name}' belongs to the primary key and cannot be updated; leave it out, or "
                f"{how}"
            )
        kept.append(item)
    return kept


def _by_name(plan: MergePlan) -> dict[str, Expression]:
    """All columns of the target, from those of the source with their names; where naming completes, those it has.

    Raises:
        SqlError: the source lacks one, or has two that differ by letter case only.
    """
    names = plan.same.source_names
    found: dict[str, Expression] = {}
    for field in plan.fields:
        alike = plan.naming.alike(field.name, names)
        if not alike and plan.naming.completes:
            continue
        if len(alike) != 1:
            problem = "several columns" if alike else "no column"
            raise SqlError(
                f"{plan.what}: the source has {problem} '{field.name}', which * assigns to the column of the target; "
                f"it has {', '.join(names)}. Name the columns to assign, or let the schema evolve with "
                "withSchemaEvolution(), in SQL MERGE WITH SCHEMA EVOLUTION: then * assigns the columns that both have"
            )
        found[quoted(field.name)] = f"{quoted(plan.source_alias)}.{quoted(alike[0])}"
    return found
