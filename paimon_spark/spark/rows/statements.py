"""DELETE and UPDATE of rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.errors import SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField, Root
from paimon_spark.row_changes.read_table import named_fields
from paimon_spark.row_changes.result import Outcome, RowChangeResult
from paimon_spark.row_changes.update_rules import DELETE, UPDATE
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.char_columns import read_columns, stored_column
from paimon_spark.spark.adapters.errors import not_logged, without_call_sites
from paimon_spark.spark.adapters.session_options import is_case_sensitive, sql_dialect
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.rows.appended import write_appended
from paimon_spark.spark.rows.assignments import (
    Assignment,
    Expression,
    as_column,
    keeps_itself,
    new_values,
    read_assignments,
)
from paimon_spark.spark.rows.changes import KIND, OLD, Changes, place_columns, with_kept_ids
from paimon_spark.spark.rows.checks import check_kept_digits, delete_kind, update_kind
from paimon_spark.spark.rows.column_updates import in_one_pass
from paimon_spark.spark.rows.expression_errors import Reading, empty_rows, expression_errors
from paimon_spark.spark.rows.expressions import QUERIES, check_no_star, draws_for_rows, move_rows
from paimon_spark.spark.rows.keyed import write_keyed
from paimon_spark.spark.rows.merged_buckets import delete_from_buckets
from paimon_spark.spark.rows.pruning import Pruning, named_metadata_fields, pruning_of
from paimon_spark.spark.rows.target import Target
from paimon_spark.sql.queries.query import fold
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.store.clean.truncate import (
    TruncateResult,
    drop_partition_rows,
    drop_partitions,
    partition_columns,
    partition_rows,
    truncate_table,
)
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import (
    ChangeStrategy,
    change_strategy,
    check_column_files,
    check_deletes,
    ids_to_keep,
    keeps_old_rows,
    moves_rows,
)

if TYPE_CHECKING:
    from paimon_spark.spark.rows.job import Job

_NUMBER = "_paimon_number"


@dataclass(frozen=True)
class RowStatement:
    """A DELETE or an UPDATE.

    Attributes:
        job: what is done to which table.
        alias: of the table in expressions.
        condition: which rows change; None: all.
        assignments: new values by the names of columns and of fields in them; for an UPDATE.
    """

    job: Job
    alias: str
    condition: Expression | None
    assignments: Mapping[str, Expression] | None = None

    @property
    def what(self) -> str:
        """For messages."""
        return f"{self.job.change.statement} of {self.job.change.name or self.alias}"

    @property
    def job_of_rows(self) -> Job:
        """The job, with what its expressions may name."""
        given = (self.condition, *(self.assignments or {}).values())
        return replace(self.job, change=replace(self.job.change, expressions=given))


@without_call_sites()
def delete_where(statement: RowStatement) -> RowChangeResult:
    """Deletes the rows for which the condition is true; by metadata alone where it speaks of partitions only.

    Raises:
        UnsupportedFeature: rows of this table cannot be deleted.
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
        SqlError: a Column of the condition is one of another DataFrame.
        AnalysisException: Spark does not understand the condition.
    """

    check_no_star(statement.what, [statement.condition])

    def by_sub_query(table: Table) -> bool:
        if table.settings.delete_force_produce_changelog:
            return False
        return decides_partitions(statement.job.spark, table, statement.condition, statement.alias)

    def by_metadata(table: Table) -> bool:
        return _is_of_partitions(_pruning(statement, table), table) or by_sub_query(table)

    def write(target: Target) -> Outcome | TruncateResult:
        table = target.table
        strategy = change_strategy(table, statement.job.change.statement)
        pruning = _pruning(statement, table)
        if _is_of_partitions(pruning, table):
            target.read.check_own(pruning.predicate)
            whole = isinstance(pruning.predicate, AlwaysTrue)
            name = target.read.name_commit()
            return truncate_table(table, name) if whole else drop_partitions(table, pruning.predicate, name)
        if by_sub_query(table):
            target.read.check_own(pruning.predicate)
            found_rows = matching_partitions(target, str(statement.condition), statement.alias)
            return drop_partition_rows(table, found_rows, target.read.name_commit())
        more = named_metadata_fields(table.schema, [statement.condition])
        if strategy is ChangeStrategy.MERGED_BUCKETS:
            return delete_from_buckets(target, statement.condition, statement.alias, pruning)
        if strategy is ChangeStrategy.ROWS_WITH_KINDS:
            decided = _decides(statement, pruning)
            found = target.rows((*table.schema.fields, *more), pruning.predicate, decided=decided)
            rows = _matching(found.frame, statement)
            changes = rows.select(
                delete_kind(table, statement.alias).alias(KIND),
                *(stored_column(f).alias(f.name) for f in table.schema.fields),
            )
            owned = found.whole_buckets and not move_rows(target.spark, [statement.condition])
            return write_keyed(target, Changes(changes, found.file_count, {}, few=found.few, owned=owned))
        check_deletes(table, statement.job.change.statement)
        needed = (*_needed(table.schema.fields, [statement.condition]), *more)
        found = target.rows(needed, pruning.predicate, placed=True)
        rows = _matching(found.frame, statement)
        changes = rows.select(sf.lit(DELETE).alias(KIND), *place_columns())
        return write_appended(
            target,
            Changes(changes, found.file_count, dict(found.files), few=found.few),
            strategy,
        )

    with expression_errors(statement.what, lambda: _readings(statement)):
        return statement.job_of_rows.run(write, by_metadata)


@without_call_sites()
def update_where(statement: RowStatement) -> RowChangeResult:
    """Gives columns new values in the rows for which the condition is true.

    Raises:
        SqlError: a column is unknown, assigned twice, or part of the primary key.
        DataError: a value cannot be stored in its column.
        UnsupportedFeature: rows of this table cannot be updated.
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
        AnalysisException: Spark does not understand an expression.
    """

    check_no_star(statement.what, [statement.condition, *(statement.assignments or {}).values()])

    def write(target: Target) -> Outcome:
        table = target.table
        strategy = change_strategy(table, statement.job.change.statement)
        given = changed_columns(table, _assignments(statement, table.schema.fields), statement)
        fields, read = _columns(table, strategy, statement, given)
        pruning, keyed = _pruning(statement, table), strategy is ChangeStrategy.ROWS_WITH_KINDS
        moves = moves_rows(table, [item.field.name for item in given])
        named = named_metadata_fields(table.schema, [statement.condition, *(statement.assignments or {}).values()])
        ids = ids_to_keep(table, strategy, moves)
        wanted = (*read, *dict.fromkeys((*named, *ids)))
        decided = keyed and _decides(statement, pruning)
        found = target.rows(wanted, pruning.predicate, placed=not keyed, decided=decided)
        rows = _matching(with_kept_ids(found.frame, ids, named), statement)
        values = new_values(rows, statement.alias, fields, given, statement.what)
        kind = update_kind(table, given, values, statement.alias) if keyed else sf.lit(UPDATE)
        extra = [] if keyed else place_columns(statement.alias, bool(ids))
        if keyed and keeps_old_rows(table):
            extra = [sf.struct(*(stored_column(f, statement.alias) for f in fields)).alias(OLD)]
        names = tuple(field.name for field in fields)
        new = (statement.assignments or {}).values()
        owned = found.whole_buckets and not move_rows(target.spark, [statement.condition, *new])
        changes = Changes(
            rows.select(kind.alias(KIND), *extra, *values),
            found.file_count,
            dict(found.files),
            moves,
            found.few,
            names,
            once=strategy is ChangeStrategy.COLUMN_FILES and not found.few and in_one_pass(table, found, names),
            owned=owned,
        )
        return write_keyed(target, changes) if keyed else write_appended(target, changes, strategy)

    if not statement.assignments:
        raise SqlError(f"{statement.what}: no assignment is given; name a column and its new value")
    with expression_errors(statement.what, lambda: _readings(statement), statement.assignments.values()):
        return statement.job_of_rows.run(write)


def _columns(
    table: Table, strategy: ChangeStrategy, statement: RowStatement, given: Sequence[Assignment]
) -> tuple[Sequence[DataField], Sequence[DataField]]:
    """The columns that an UPDATE writes, and those that it reads.

    Raises:
        UnsupportedFeature: Spark would cut digits of values that stay, or a column cannot be written alone.
    """
    fields = table.schema.fields
    if strategy is not ChangeStrategy.COLUMN_FILES:
        check_kept_digits(table, given)
        return fields, fields
    names = {item.field.name for item in given}
    check_column_files(table, statement.job.change.statement, names)
    parts = {item.field.name for item in given if item.inner}
    named = _needed(fields, [statement.condition, *(statement.assignments or {}).values()])
    read = [field for field in fields if field in named or field.name in parts]
    return [field for field in fields if field.name in names], read


def changed_columns(table: Table, given: Sequence[Assignment], statement: RowStatement) -> list[Assignment]:
    """The assignments, but for those of a key column to itself (Java: PaimonUpdateTable).

    Raises:
        SqlError: a column of the primary key gets another value.
    """
    changed, values = [], (statement.assignments or {}).values()
    for item, value in zip(given, values, strict=True):
        if item.field.name not in table.schema.primary_keys:
            changed.append(item)
        elif not keeps_itself(item, value, statement.alias, table.schema.fields):
            raise SqlError(
                f"{statement.what}: '{item.field.name}' belongs to the primary key, which tells rows apart, and cannot "
                "be updated; delete the row and insert another"
            )
    return changed


def _assignments(statement: RowStatement, fields: Sequence[DataField]) -> list[Assignment]:
    naming = Naming(is_case_sensitive(statement.job.spark))
    return read_assignments(fields, statement.assignments or {}, statement.what, [statement.alias], naming)


def _readings(statement: RowStatement) -> list[Reading]:
    fields = statement.job.change.open_table().schema.fields
    frame = empty_rows(statement.job.spark, fields, statement.alias)
    return [Reading(frame, statement.condition, _assignments(statement, fields))]


def _pruning(statement: RowStatement, table: Table) -> Pruning:
    dialect = sql_dialect(statement.job.spark)
    return pruning_of(statement.condition, table.schema.fields, statement.alias, table.time_zone, dialect)


def _decides(statement: RowStatement, pruning: Pruning) -> bool:
    """True if there is a condition, and our reader leaves out all rows that do not satisfy it."""
    return pruning.is_whole and statement.condition is not None


def _is_of_partitions(pruning: Pruning, table: Table) -> bool:
    return pruning.is_of(table.schema.partition_keys) and not table.settings.delete_force_produce_changelog


def _matching(rows: DataFrame, statement: RowStatement) -> DataFrame:
    named = rows.alias(statement.alias)
    return named if statement.condition is None else named.where(as_column(statement.condition))


def _needed(fields: Sequence[DataField], expressions: Sequence[Expression | None]) -> Sequence[DataField]:
    """A file is read by at least one column."""
    return named_fields(fields, expressions) or fields[:1]


def decides_partitions(spark: SparkSession, table: Table, condition: Expression | None, alias: str) -> bool:
    """True if a condition with a sub-query has one value for all rows of a partition.

    That is so if Spark understands it without the other columns, and nothing in it is drawn for each row.

    Args:
        condition: SQL; a Column tells nothing.
        alias: of the table in it.
    """
    fields = table.schema.partition_fields
    if not isinstance(condition, str) or not fields or any(field.type.root is Root.TIME for field in fields):
        return False
    tokens = tokenize(condition)
    if not QUERIES.intersection(token.upper for token in tokens) or draws_for_rows(spark, tokens):
        return False
    others = {fold(field.name) for field in table.schema.fields} - {fold(field.name) for field in fields}
    words = {token.name for token in tokens if token.is_name}
    variables = any(fold(word) in others and _is_understood(spark, word) for word in words)
    no_rows = spark.createDataFrame([], nullable(shown_schema(spark_schema(fields)))).alias(alias)
    return not variables and _is_understood(no_rows, condition)


def _is_understood(rows: SparkSession | DataFrame, text: str) -> bool:
    """True if Spark understands a condition on rows; with a session, a name that stands alone: a session variable."""
    with not_logged(), suppress(AnalysisException):
        found = rows.where(text) if isinstance(rows, DataFrame) else rows.sql(f"SELECT {quoted(text)}")
        return bool(found.columns)  # which Spark Connect asks the server for
    return False


def matching_partitions(target: Target, condition: str, alias: str) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) for which a condition is true. Spark decides.

    Args:
        condition: for which ``decides_partitions`` is true.
    """
    table, fields = target.table, target.table.schema.partition_fields
    rows = partition_rows(table, target.read.snapshot)
    if not rows:
        return []
    names = [field.name for field in fields]
    known = pa.table([*partition_columns(table, rows), pa.array(range(len(rows)))], names=[*names, _NUMBER])
    shown = target.shown(fields)
    columns = [sf.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in shown.fields]
    cast = target.spark.createDataFrame(known).select(*columns, _NUMBER)
    frame = cast.select(*read_columns(target.spark, fields, shown), _NUMBER).alias(alias)
    return [rows[row[0]] for row in frame.where(condition).select(_NUMBER).collect()]
