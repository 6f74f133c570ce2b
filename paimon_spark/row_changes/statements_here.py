"""DELETE and UPDATE by this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, columns_of
from paimon_spark.arrow.row_buckets import Buckets
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import SqlError
from paimon_spark.format.bucket import Place
from paimon_spark.format.schema import metadata_fields
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.arrow_values import (
    Assignment,
    Condition,
    Given,
    Scope,
    computed,
    new_rows,
    read_assignments,
)
from paimon_spark.row_changes.attempts import RowChange, run_attempts
from paimon_spark.row_changes.read_table import ReadTable
from paimon_spark.row_changes.result import Outcome, RowChangeResult
from paimon_spark.row_changes.update_rules import DELETE, UPDATE, delete_rules, update_rules
from paimon_spark.row_changes.written_here import Changed, Changes, Found, write_appended, write_keyed
from paimon_spark.store.clean.truncate import TruncateResult, drop_partitions, truncate_table
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.row_places import named_metadata
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.change_strategies import (
    ChangeStrategy,
    change_strategy,
    check_column_files,
    check_deletes,
    ids_to_keep,
    moves_rows,
)
from paimon_spark.store.rows.live_files import live_entries
from paimon_spark.store.rows.merged_buckets import BucketRewrite, by_place, replaced_buckets
from paimon_spark.writes.commit_write import abort_job
from paimon_spark.writes.end_write import one_process
from paimon_spark.writes.open_write import job_for
from paimon_spark.writes.options import WriteOptions
from paimon_spark.writes.row_columns import ArrowColumns
from paimon_spark.writes.write_job import WriteJob, nothing_committed


@dataclass(frozen=True)
class RowStatement:
    """A DELETE or an UPDATE.

    Attributes:
        change: what is done to which table.
        condition: which rows change; None: all.
        assignments: new values by the names of columns and of fields in them; for an UPDATE.
    """

    change: RowChange
    condition: Given | None
    assignments: Mapping[str, Given] | None = None

    @property
    def what(self) -> str:
        """For messages."""
        return f"{self.change.statement} of {self.change.name}"

    @property
    def change_of_rows(self) -> RowChange:
        """The change, with what the expressions may name."""
        return replace(self.change, expressions=computed([self.condition], (self.assignments or {}).values()))

    def scope(self, table: Table, more: Sequence[DataField] = ()) -> Scope:
        """What its expressions may name.

        Args:
            more: columns behind those of the table.
        """
        return Scope((*table.schema.fields, *more), table.time_zone, self.what)

    def condition_of(self, table: Table) -> Condition:
        """Which rows are meant. SQL may name metadata columns."""
        more = () if isinstance(self.condition, pc.Expression) else metadata_fields(table.schema)
        return Condition.read(self.condition, self.scope(table, more))


def delete_here(statement: RowStatement) -> RowChangeResult:
    """Deletes the rows for which the condition is true; by metadata alone where it speaks of partitions only.

    Raises:
        PredicateError: the condition does not fit the table.
        UnsupportedFeature: rows of this table cannot be deleted.
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
    """

    def by_metadata(table: Table) -> bool:
        condition = statement.condition_of(table)
        is_whole = condition.expression is None and not table.settings.delete_force_produce_changelog
        return is_whole and columns_of(condition.predicate) <= set(table.schema.partition_keys)

    def write(read: ReadTable) -> Outcome | TruncateResult:
        table = read.table
        strategy, condition = change_strategy(table, statement.change.statement), statement.condition_of(table)
        if by_metadata(table):
            read.check_own(condition.predicate)
            whole, name = isinstance(condition.predicate, AlwaysTrue), read.name_commit()
            return truncate_table(table, name) if whole else drop_partitions(table, condition.predicate, name)
        if strategy is ChangeStrategy.MERGED_BUCKETS:
            return _delete_from_buckets(read, condition)
        keyed = strategy is ChangeStrategy.ROWS_WITH_KINDS
        if not keyed:
            check_deletes(table, statement.change.statement)
        values = None if keyed else ()
        found = Found.of(read, _needed(table, condition, keyed), condition.predicate, values, [condition])

        def changes() -> Changes:
            for batches in found.batches(placed=not keyed):
                yield [Changed(DELETE, condition.narrowed(batch), None) for batch in batches]

        if keyed:
            return write_keyed(found, changes(), {DELETE: delete_rules(table)})
        return write_appended(found, changes(), strategy)

    return run_attempts(statement.change_of_rows, one_process, write, by_metadata)


def _needed(table: Table, condition: Condition, keyed: bool) -> Sequence[DataField]:
    """The columns to read: a file is read by at least one."""
    fields = table.schema.fields
    if keyed or condition.expression is not None:
        return fields
    named = columns_of(condition.predicate)
    return [field for field in fields if field.name in named] or fields[:1]


def update_here(statement: RowStatement) -> RowChangeResult:
    """Gives columns new values in the rows for which the condition is true.

    Raises:
        SqlError: a column is unknown, assigned twice, or part of the primary key.
        PredicateError: the condition or a value does not fit the table.
        DataError: a value cannot be stored in its column, or the merge engine would not apply it.
        UnsupportedFeature: rows of this table cannot be updated.
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
    """
    if not statement.assignments:
        raise SqlError(f"{statement.what}: no assignment is given; name a column and its new value")
    assignments = statement.assignments

    def write(read: ReadTable) -> Outcome:
        table = read.table
        strategy, scope = change_strategy(table, statement.change.statement), statement.scope(table)
        condition = statement.condition_of(table)
        given = changed_columns(table, read_assignments(table.schema.fields, assignments, scope), statement.what)
        assigned = [item.field.name for item in given]
        if strategy is ChangeStrategy.COLUMN_FILES:
            check_column_files(table, statement.change.statement, assigned)
        keyed, moves = strategy is ChangeStrategy.ROWS_WITH_KINDS, moves_rows(table, assigned)
        fields = table.schema.fields
        values = None if keyed else [item.value for item in given]
        needed = (*fields, *ids_to_keep(table, strategy, moves))
        found = Found.of(read, needed, condition.predicate, values, [condition])

        def changes() -> Iterator[Sequence[Changed]]:
            for batches in found.batches(placed=not keyed):
                matching = [condition.narrowed(batch) for batch in batches]
                yield [Changed(UPDATE, rows, new_rows(fields, given, rows, rows, table.time_zone)) for rows in matching]

        if keyed:
            return write_keyed(found, changes(), {UPDATE: update_rules(table, assigned)})
        return write_appended(found, changes(), strategy, moves, assigned)

    return run_attempts(statement.change_of_rows, one_process, write)


def changed_columns(table: Table, given: Sequence[Assignment], what: str) -> list[Assignment]:
    """The assignments, but for those of a key column to itself.

    Raises:
        SqlError: a column of the primary key gets another value.
    """
    changed = []
    for item in given:
        if item.field.name not in table.schema.primary_keys:
            changed.append(item)
        elif item.inner or item.value.path != (item.field.name,):
            raise SqlError(
                f"{what}: '{item.field.name}' belongs to the primary key, which tells rows apart, and cannot be "
                "updated; delete the row and insert another"
            )
    return changed


# -------------------------------------------------------------------------------------------------- rewritten buckets


def _delete_from_buckets(read: ReadTable, condition: Condition) -> Outcome:
    """Writes the buckets that hold matching rows again, without these rows: the merge engine removes none.

    Raises:
        CommitConflict: rows wait on level 0 that were not read.
    """
    table, fields = read.table, read.table.schema.fields
    job = job_for(table, WriteOptions(table.location), ArrowColumns(arrow_schema(fields)), overwrite=False)
    found = Found.of(read, fields, condition.predicate)
    touched, deleted = set[Place](), 0
    for split, batches in zip(found.splits, found.batches(placed=False), strict=False):
        count = sum(condition.narrowed(batch).num_rows for batch in batches)
        if count:
            touched.add(_place(table, split))
            deleted += count
    if not touched or read.snapshot is None:
        return Outcome(job, (), 0, 0, 0, found.file_count)
    every = Found.of(read, (*fields, *named_metadata(table.schema, (), condition.predicate)))
    whole = replace(every, splits=[split for split in every.splits if _place(table, split) in touched])
    entries = by_place(table, live_entries(table, read.snapshot, {split.partition for split in whole.splits}))
    live = {place: entries[place] for place in touched}
    read.check_all_read(live)
    with nothing_committed():
        written = _rewritten(job, whole, condition)
        try:
            messages = replaced_buckets(table, read.snapshot, live, written)
        except BaseException:
            abort_job(job, written)
            raise
    return Outcome(job, tuple(messages), 0, deleted, 0, found.file_count)


def _rewritten(job: WriteJob, found: Found, condition: Condition) -> list[CommitMessage]:
    write = BucketRewrite(job.table, job.commit_user, 0, job.plan)
    try:
        for split, batches in zip(found.splits, found.batches(placed=False), strict=False):
            for batch in batches:
                goes = condition.mask(batch).fill_null(False)
                for rows, take in ((batch.filter(pc.invert(goes)), write.keep), (batch.filter(goes), write.remove)):
                    if rows.num_rows:
                        take(rows.select(job.table.schema.names), _buckets(split, rows))
        return write.finish()
    except BaseException:
        write.abort()
        raise


def _buckets(split: Split, rows: pa.RecordBatch) -> Buckets:
    return np.full(rows.num_rows, split.bucket, np.int32)


def _place(table: Table, split: Split) -> Place:
    return place_of(table, split.partition, split.bucket)
