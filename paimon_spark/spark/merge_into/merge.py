"""MERGE: rows of a source meet rows of the table, and clauses say what becomes of them.

Java: MergeSchemaEvolutionHelper (2.0).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, and_
from paimon_spark.errors import DataError, PaimonError, SqlError
from paimon_spark.format.options.engines import ChangelogProducer, MergeEngine
from paimon_spark.format.quoting import quoted
from paimon_spark.format.rules.missing_columns import Merging
from paimon_spark.format.types import FLOATS, DataField, DataType, Root
from paimon_spark.row_changes.clauses import Action, When, check_clauses, check_deletions, inserts_only
from paimon_spark.row_changes.read_table import check_names, named_fields
from paimon_spark.row_changes.result import Outcome, RowChangeResult
from paimon_spark.spark.adapters.aligned_values import Naming, has_fields
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.char_columns import stored_name
from paimon_spark.spark.adapters.errors import not_logged, raised, without_call_sites
from paimon_spark.spark.adapters.session_options import is_case_sensitive, sql_dialect
from paimon_spark.spark.adapters.types import loses_digits, spark_schema
from paimon_spark.spark.merge_into.clauses import Clause
from paimon_spark.spark.merge_into.kept_source import KeptSource
from paimon_spark.spark.merge_into.merge_join import (
    MergePlan,
    assigned_columns,
    assignments_of,
    merged_rows,
    several_rows,
    sides_of_few,
)
from paimon_spark.spark.merge_into.merge_keys import same_columns, source_range
from paimon_spark.spark.native.parquet_scan import ROW_FILE, ROW_NUMBER
from paimon_spark.spark.rows.appended import write_appended
from paimon_spark.spark.rows.assignments import Expression, new_values, read_assignments, without_alias
from paimon_spark.spark.rows.changes import KIND, Changes, Wanted, with_kept_ids
from paimon_spark.spark.rows.checks import check_digits, check_kept_digits, insert_kind
from paimon_spark.spark.rows.column_updates import in_one_pass
from paimon_spark.spark.rows.expression_errors import Reading, empty_rows, expression_errors
from paimon_spark.spark.rows.expressions import QUERIES, check_no_star
from paimon_spark.spark.rows.keyed import write_keyed
from paimon_spark.spark.rows.pruning import named_metadata_fields, pruning_of
from paimon_spark.spark.rows.target import Target
from paimon_spark.sql.queries.references import dotted_names
from paimon_spark.sql.text.cursor import column_path
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import (
    ChangeStrategy,
    Statement,
    change_strategy,
    check_column_files,
    ids_to_keep,
    keeps_old_rows,
    moves_rows,
)
from paimon_spark.writes.evolved_table import merged_table
from paimon_spark.writes.write_job import Evolution

if TYPE_CHECKING:
    from paimon_spark.spark.rows.job import Job

NONE = "source"
"""The name of a source that has none, if no column is called so: users see it in messages of Spark."""
HIDDEN = "_paimon_source"
_BEFORE_POINT = re.compile(r"(?:`((?:[^`]|``)+)`|(\w+))\.")


@dataclass(frozen=True)
class Merge:
    """A MERGE.

    Attributes:
        job: the table.
        alias: of the table in expressions.
        source: the rows that come.
        source_alias: of the source in expressions; None: the one that the DataFrame has, as far as expressions use it.
        condition: which rows match.
        clauses: what becomes of them.
        merging: what the source may do to the schema of the table; None: nothing.
    """

    job: Job
    alias: str
    source: DataFrame
    source_alias: str | None
    condition: Expression
    clauses: Sequence[Clause]
    merging: Merging | None = None

    @property
    def expressions(self) -> list[Expression | None]:
        """All expressions."""
        return [self.condition, *(item for clause in self.clauses for item in clause.expressions)]


@without_call_sites()
def run_merge(merge: Merge) -> RowChangeResult:
    """Does the MERGE.

    The source is computed once for all passes and attempts (``KeptSource``). If an executor dies that keeps a part of
    it, the MERGE begins anew. Where the source has few rows and the table few that may match them, this process holds
    both and writes the changes, which Spark computes without tasks that run Python.

    Raises:
        SqlError: no clause, an unknown column, a column assigned twice or of the primary key.
        SchemaError: the columns of the table cannot become what the source needs.
        DataError: a value cannot be stored in its column, or several source rows match one row of the target.
        UnsupportedFeature: rows of this table cannot be merged.
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
        AnalysisException: Spark does not understand an expression.
    """
    what = f"MERGE INTO {merge.job.change.name or merge.alias}"
    check_clauses(merge.clauses, what)
    check_no_star(what, merge.expressions)
    check_names(f"{what}: the source", merge.source.columns)
    name = merge.source_alias or source_alias_of(merge.source, merge.alias, merge.expressions, what)
    _check_compares(merge, NONE if name == HIDDEN else name, what)
    change = replace(merge.job.change, inserts_only=inserts_only(merge.clauses), expressions=merge.expressions)
    source = KeptSource(merge.source, held=not any(isinstance(item, Column) for item in merge.expressions))
    naming = Naming(is_case_sensitive(merge.job.spark), completes=merge.merging is not None)

    def write(target: Target) -> Outcome:
        if merge.merging is not None:
            merging = replace(merge.merging, case_sensitive=naming.is_exact)
            target = evolved_target(target, merge.source.schema, merge.clauses, merge.alias, merging)
        table = target.table
        strategy = change_strategy(table, Statement.MERGE, change.inserts_only)
        keyed = strategy is ChangeStrategy.ROWS_WITH_KINDS
        check_deletions(table, merge.clauses)
        wanted = Wanted(old=keeps_old_rows(table)) if keyed else Wanted(places=True)
        names = [*table.schema.names, *merge.source.columns]
        if merge.source_alias is None:
            check_qualifiers(merge.condition, (merge.alias, name), names, what)
        same = same_columns(table, merge.source, merge.condition, merge.alias, name)
        plan = MergePlan(table, merge.alias, name, merge.condition, merge.clauses, same, wanted, what, naming)
        if keyed and _is_upsert(plan) and has_fields(merge.source.schema, spark_schema(plan.fields), naming):
            return _upsert(target, plan, source)
        plan, kept_columns = _of_strategy(plan, strategy)
        rows = source.rows()
        fields = table.schema.fields if plan.needs_target_rows else _needed(plan, merge.expressions, kept_columns)
        moves = not keyed and _moves(plan)
        named, ids = _metadata(merge, table), ids_to_keep(table, strategy, moves)
        plan = replace(plan, wanted=replace(wanted, ids=bool(ids)))
        more = dict.fromkeys((*named, *ids))
        found = target.rows((*fields, *more), _predicate(plan, rows, source), placed=not keyed)
        targeted = with_kept_ids(found.frame, ids, named)
        if source.are_few:
            targeted, rows = sides_of_few(plan, targeted, rows, found.few)
        identity = [stored_name(f) for f in _keys(table)] if keyed else (ROW_FILE, ROW_NUMBER)
        columns = tuple(plan.assigned or ())
        few, limited = source.are_few and found.few, source.are_few and keyed and _has_few_matches(plan)
        in_one = strategy is ChangeStrategy.COLUMN_FILES and plan.only_updates and not few
        once = in_one and in_one_pass(table, found, columns)
        checked = partial(merged_rows, plan, targeted, rows, identity)
        later = once and plan.changes_all_matched
        frame = merged_rows(plan, targeted, rows, ()) if later else checked()
        files, made = dict(found.files), checked if later else None
        changes = Changes(frame, found.file_count, files, moves, few, columns, once, made, limited=limited)
        return write_keyed(target, changes) if keyed else write_appended(target, changes, strategy)

    values = [value for clause in merge.clauses for value in (clause.values or {}).values()]
    sides = lambda: {merge.alias: merge.job.change.open_table().schema.names, name: merge.source.columns}  # noqa: E731
    with expression_errors(what, lambda: _readings(merge, name, what, naming), values, sides):
        return replace(merge.job, change=change).run(source.guarding(write))


def _check_compares(merge: Merge, source_alias: str, what: str) -> None:
    """Refuses a condition that is the name of a column and no more, as joins of DataFrames take it."""
    if not isinstance(merge.condition, str):
        return
    try:
        name = column_path(merge.condition)[-1]
    except PaimonError:
        return
    fields = [*spark_schema(merge.job.change.open_table().schema.fields).fields, *merge.source.schema.fields]
    found = next((field.dataType for field in fields if field.name.lower() == name.lower()), None)
    if found is not None and not isinstance(found, st.BooleanType):
        raise SqlError(
            f"{what}: the condition '{merge.condition}' is {found.simpleString().upper()}, and no comparison; write "
            f"'{merge.alias}.{name} = {source_alias}.{name}'"
        )


def _readings(merge: Merge, source_alias: str, what: str, naming: Naming) -> list[Reading]:
    """The expressions, each over the sides that it may name."""
    fields = merge.job.change.open_table().schema.fields
    target, source = empty_rows(merge.job.spark, fields, merge.alias), merge.source.alias(source_alias)
    both = source.crossJoin(target)
    sides = {When.MATCHED: both, When.NOT_MATCHED: source, When.NOT_MATCHED_BY_SOURCE: target}
    found = [Reading(both, merge.condition)]
    for clause in merge.clauses:
        values = clause.values or {}
        if clause.is_star:
            own = [field.name for field in fields if len(naming.alike(field.name, source.columns)) == 1]
            values = {quoted(name): f"{quoted(source_alias)}.{quoted(name)}" for name in own}
        given = read_assignments(fields, values, what, [merge.alias], naming)
        found.append(Reading(sides[clause.when], clause.condition, given))
    return found


def _keys(table: Table) -> list[DataField]:
    return [table.schema.by_name[name] for name in table.unique_names]


def _of_strategy(plan: MergePlan, strategy: ChangeStrategy) -> tuple[MergePlan, Collection[str]]:
    """The plan with the columns that its updates write, and those of them that some update leaves as they are.

    Raises:
        UnsupportedFeature: Spark would cut digits of values that stay, or a column cannot be written alone.
    """
    updates = [assignments_of(plan, clause) for clause in plan.clauses if clause.action is Action.UPDATE]
    if strategy is not ChangeStrategy.COLUMN_FILES:
        for given in updates:
            check_kept_digits(plan.table, given)
        return plan, ()
    found = assigned_columns(plan)
    check_column_files(plan.table, Statement.MERGE, found)
    for given in updates:
        names = {item.field.name for item in given}
        check_digits(plan.table, [name for name in found if name not in names], "rows that are updated would lose them")
    return replace(plan, assigned=frozenset(found)), [name for name, stays in found.items() if stays]


def _needed(
    plan: MergePlan, expressions: Sequence[Expression | None], kept: Collection[str] = ()
) -> Sequence[DataField]:
    """The columns of the target that matter where only its keys are looked at, and those whose values are kept."""
    fields = plan.fields
    named = [*named_fields(fields, expressions), *(field for field in fields if field.name in kept)]
    keys = [] if plan.wanted.places else [f for f in fields if f.name in plan.table.unique_names]
    return list({field.name: field for field in (*named, *keys)}.values()) or fields[:1]


def _metadata(merge: Merge, table: Table) -> list[DataField]:
    """The metadata columns of the target that expressions name, and do not mean as columns of the source."""
    theirs = {name.lower() for name in merge.source.columns}
    texts = [str(item).lower() for item in merge.expressions if item is not None]
    return [
        field
        for field in named_metadata_fields(table.schema, merge.expressions)
        if field.name not in theirs or any(f"{merge.alias.lower()}.{field.name}" in text for text in texts)
    ]


def _predicate(plan: MergePlan, source: DataFrame, kept: KeptSource) -> Predicate:
    """What rows of the target must satisfy to match. With clauses for rows that do not match, all matter."""
    if plan.of(When.NOT_MATCHED_BY_SOURCE):
        return AlwaysTrue()
    dialect = sql_dialect(source.sparkSession)
    condition = pruning_of(plan.condition, plan.fields, plan.alias, plan.table.time_zone, dialect)
    return and_(condition.predicate, source_range(plan.table, source, plan.same, kept.values))


def _has_few_matches(plan: MergePlan) -> bool:
    """True if no row of the source changes more than one row of the table, and other rows of the table stay."""
    return plan.same.key_columns(plan.table) is not None and not plan.of(When.NOT_MATCHED_BY_SOURCE)


def _moves(plan: MergePlan) -> bool:
    """True if an update may change the partition or the bucket of a row."""
    updates = [clause for clause in plan.clauses if clause.action is Action.UPDATE]
    return moves_rows(plan.table, [item.field.name for clause in updates for item in assignments_of(plan, clause)])


# --------------------------------------------------------------------------------------------------------------- upsert


def _is_upsert(plan: MergePlan) -> bool:
    """True if the clauses say: write the rows of the source, whatever the table has. Then nothing is read of it.

    Not where the changelog or the sequence of rows needs the old ones.
    """
    settings = plan.table.settings
    clauses = {(clause.when, clause.action) for clause in plan.clauses if clause.is_star and clause.condition is None}
    both = {(When.MATCHED, Action.UPDATE), (When.NOT_MATCHED, Action.INSERT)}
    return (
        clauses == both
        and len(plan.clauses) == len(both)
        and plan.same.is_all
        and plan.same.pairs.keys() == set(plan.table.unique_names)
        and settings.merge_engine is MergeEngine.DEDUPLICATE
        and settings.changelog_producer is not ChangelogProducer.INPUT
        and not settings.sequence_field
        and all(plan.same.pairs[key] == key for key in plan.table.unique_names)
        and not any(_has_equals(field.type) for field in plan.table.schema.fields if field.name in plan.same.pairs)
    )


def _has_equals(key: DataType) -> bool:
    """True if Spark takes values for equal that are different keys: 0.0 and -0.0, times cut to microseconds, blanks."""
    return key.root in FLOATS or key.root is Root.CHAR or loses_digits(key)


def _upsert(target: Target, plan: MergePlan, source: KeptSource) -> Outcome:
    """Writes the rows of the source. Several of one key fail the job, as they do where the table is read."""
    rows = (source.rows().coalesce(1) if source.are_few else source.frame).alias(plan.source_alias)
    insert = next(clause for clause in plan.clauses if clause.action is Action.INSERT)
    given = assignments_of(plan, insert)
    keys = [sf.col(f"{quoted(plan.source_alias)}.{quoted(key)}") for key in plan.table.unique_names]
    several = several_rows(plan, "have the key", keys)
    count = sf.count("*").over(Window.partitionBy(*keys))
    values = new_values(rows, None, plan.fields, given, plan.what)
    kind = sf.when(count > 1, raised(DataError, several).cast("string")).otherwise(insert_kind(plan.table, values))
    changes = Changes(rows.select(kind.alias(KIND), *values), 0, {}, few=source.are_few)
    return replace(write_keyed(target, changes), counts_exact=False)


def evolved_target(
    target: Target, source: st.StructType, clauses: Sequence[Clause], alias: str, merging: Merging
) -> Target:
    """The target with the columns that the source brings; the same if it has them. Nothing is published yet.

    Args:
        source: the columns of the source. With a clause that assigns all by name they all count, else those that
            clauses assign and the table lacks.
        alias: of the table in the names of assigned columns.

    Raises:
        SchemaError: the columns cannot become what the source needs.
    """
    scoped = [clause for clause in clauses if clause.when is not When.NOT_MATCHED_BY_SOURCE]
    before, naming = target.table.schema, Naming(merging.case_sensitive)
    if not any(clause.is_star for clause in scoped):
        unknown = {naming.same(name) for name in _unknown(scoped, alias, before.names, naming)}
        source = st.StructType([field for field in source.fields if naming.same(field.name) in unknown])
    table = merged_table(target.table, FrameColumns(source), merging)
    if table.schema is before:
        return target
    return replace(target, read=replace(target.read, table=table, evolution=Evolution(before)))


def _unknown(clauses: Sequence[Clause], alias: str, names: Sequence[str], naming: Naming) -> Iterator[str]:
    """The columns that clauses assign and the table lacks."""
    for clause in clauses:
        for key in clause.values or {}:
            path = without_alias(column_path(key), [alias], names, naming)
            if len(path) == 1 and not naming.alike(path[0], names):
                yield path[0]


def source_alias_of(source: DataFrame, target: str, expressions: Sequence[Expression | None], what: str) -> str:
    """The alias by which expressions name the columns of a source; NONE, if they use none.

    Args:
        source: such as ``df.alias("s")``.
        target: the alias of the other side.
        what: the statement, for messages.

    Raises:
        SqlError: expressions use the alias of the other side, and the source has the same one.
    """
    for name in dict.fromkeys(_qualifiers(expressions)):
        if _is_alias(source, name):
            if name.lower() != target.lower():
                return name
            raise SqlError(
                f"{what}: the table and the source are both called {name}, so {name}.<column> would always mean the "
                'table; give the source another name with source.alias("s")'
            )
    return HIDDEN if target.lower() == NONE or NONE in map(str.lower, source.columns) else NONE


def check_qualifiers(condition: Expression, sides: Sequence[str], columns: Sequence[str], what: str) -> None:
    """Refuses a condition that names a side by a name that it does not have.

    Sub-queries and lambdas have further names, so that a condition with one is left to Spark.

    Args:
        sides: the aliases of the target and of the source.
        columns: of both: a field of a struct has the column before it.

    Raises:
        SqlError: what stands before a column is no alias and no column.
    """
    if not isinstance(condition, str):
        return
    try:
        tokens = tokenize(condition)
    except PaimonError:
        return
    if QUERIES & {token.upper for token in tokens} or "->" in condition:
        return
    known = {name.lower() for name in (*sides, *columns)}
    for _, last, parts in dotted_names(tokens):
        is_call = last + 1 < len(tokens) and tokens[last + 1].upper == "("
        if len(parts) == 2 and not is_call and parts[0].lower() not in known:
            raise SqlError(
                f"{what}: {parts[0]} in the condition is the name of neither side: the table is called {sides[0]}, and "
                f'the source does not have this name; give it one with source.alias("{parts[0]}")'
            )


def _qualifiers(expressions: Sequence[Expression | None]) -> Iterator[str]:
    """Names before a point: of a Column those that its text shows, where words of a literal may be among them."""
    for expression in expressions:
        if isinstance(expression, str):
            try:
                tokens = tokenize(expression)
            except PaimonError:
                continue
            yield from (parts[0] for _, _, parts in dotted_names(tokens) if len(parts) > 1)
        elif expression is not None:
            yield from (plain or fenced.replace("``", "`") for fenced, plain in _BEFORE_POINT.findall(str(expression)))


def _is_alias(source: DataFrame, name: str) -> bool:
    """True if all columns have the name before them. A struct of that name has other fields than itself."""
    with not_logged(), suppress(AnalysisException):
        return source.select(f"{quoted(name)}.*").schema == source.schema
    return False
