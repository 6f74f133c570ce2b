"""Runs a change of rows until it is committed, or until others were faster too often."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paimon_spark.errors import CommitConflict, PaimonError, UnsupportedFeature
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.rules.blobs import referenced_blobs
from paimon_spark.merge.compaction.rules import compaction_rules
from paimon_spark.row_changes.read_table import ReadTable, check_names, named_fields
from paimon_spark.row_changes.result import Outcome, RowChangeResult
from paimon_spark.store.clean.truncate import TruncateResult
from paimon_spark.store.commit.commit_loop import commit_retries
from paimon_spark.store.commit.commit_user import CommitName
from paimon_spark.store.commit.row_conflicts import ReadState
from paimon_spark.store.commit.table_commit import CommitResult
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.live_buckets import live_buckets
from paimon_spark.store.compact.outcomes import TaskRunner
from paimon_spark.store.metadata.table_options import chain_branches
from paimon_spark.store.rows.change_strategies import ChangeStrategy, Statement, change_strategy
from paimon_spark.store.scan.chain_scan import chain_of
from paimon_spark.store.scan.split_plan import skips_level_zero
from paimon_spark.store.scan.time_travel import refuse_travel
from paimon_spark.store.storage.retrying import retry
from paimon_spark.store.stream_sink.batch import Batch
from paimon_spark.store.stream_sink.once import begin_batch, end_batch
from paimon_spark.writes.commit_write import abort_job, commit_rows, publish_schema_of
from paimon_spark.writes.end_write import commit_and_finish, find_committed
from paimon_spark.writes.evolved_table import schema_note, with_schema_note
from paimon_spark.writes.named_write import batch_of
from paimon_spark.writes.options import FAIL, Once
from paimon_spark.writes.write_job import WriteJob

if TYPE_CHECKING:
    from paimon_spark.store.metadata.table import Table
    from paimon_spark.store.open import ReadableTable


@dataclass(frozen=True)
class RowChange:
    """A statement.

    Attributes:
        open_table: opens the table in its newest schema; called for every attempt.
        statement: what is done.
        once: the name and number under which it is done once; None: each call does it.
        unknown: what to do when nobody can tell whether it is done: fail, skip or write.
        refresh: called before every attempt but the first: what expressions read besides the table is read again too.
        name: of the table in messages; empty: its alias.
        inserts_only: a MERGE of which no clause updates or deletes.
        expressions: its conditions and values, as of named_fields, so that bytes of BLOB columns that they do not name
            are left where they are; None: they may name all columns.
    """

    open_table: Callable[[], ReadableTable]
    statement: Statement
    once: Once | None = None
    unknown: str = FAIL
    refresh: Callable[[], None] = lambda: None
    name: str = ""
    inserts_only: bool = False
    expressions: Sequence[object] | None = None


def run_attempts(
    change: RowChange,
    runner: Callable[[], TaskRunner],
    write: Callable[[ReadTable], Outcome | TruncateResult],
    by_metadata: Callable[[ReadableTable], bool] = lambda table: False,
) -> RowChangeResult:
    """Writes the changes and commits them; after a conflict again from the start (`commit.max-retries`).

    Args:
        change: the statement.
        runner: makes what runs the compactions before and after it.
        write: finds and writes the changes at one state of the table, or does all of it by metadata.
        by_metadata: whether it does so: then it does not matter which rows of a table wait for a compaction.

    Raises:
        CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
        CommitStateUnknown: the storage did not answer; nothing was deleted.
        PaimonError: the changes cannot be made.
    """
    began = time.monotonic()
    table = change.open_table()
    refuse_travel(table, "changed")
    check_names(f"{change.statement} of {table.location}: the table", table.schema.names)
    batch = None if change.once is None else batch_of(table, change.once, str(change.statement), change.unknown)
    done = find_committed(table, batch, runner())
    if done is not None:
        millis = round((time.monotonic() - began) * 1000)
        return RowChangeResult(snapshot_id=done.snapshot_id, millis=millis, repeated=True)

    published: list[WriteJob] = []  # whose schema stays, also if another attempt fails

    def attempt(number: int) -> RowChangeResult:
        if number > 1:
            change.refresh()
        now = table if number == 1 else change.open_table()
        settled = now.without_fallback
        if (references := referenced_blobs(settled.schema, settled.settings)) and settled.schema.primary_keys:
            settled = replace(settled, kept_references=references - _named(change, settled))
        _settle(change, settled, runner, by_metadata)
        chain = None if chain_branches(now.settings, now.branch) is None else chain_of(now)
        read = ReadTable(settled, settled.snapshots.latest(), batch, lambda: _name(now, batch), chain=chain)
        begun = time.monotonic()
        made = write(read)
        if isinstance(made, TruncateResult):
            if batch is not None:
                end_batch(table, batch, made.snapshot_id)
            return _of_metadata(read.table, made, number)
        spent = round((time.monotonic() - begun) * 1000)
        return replace(_commit(change, runner, read, made, spent, published), attempts=number)

    try:
        result = retry(attempt, commit_retries(table.settings), CommitConflict)
    except Exception as error:
        if not published:
            raise
        if isinstance(error, PaimonError):
            raise with_schema_note(published[-1], error) from error
        error.add_note(schema_note(published[-1]))
        raise
    return replace(result, millis=round((time.monotonic() - began) * 1000))


def _named(change: RowChange, table: ReadableTable) -> frozenset[str]:
    """The columns that the statement may compute something of."""
    given, fields = change.expressions, table.schema.fields
    return frozenset(field.name for field in (fields if given is None else named_fields(fields, given)))


def _name(table: ReadableTable, batch: Batch | None) -> CommitName | None:
    """The name of a commit that is made right now by metadata alone, which is noted before; None: it has none."""
    if batch is None:
        return None
    note = begin_batch(table, batch)
    if note.is_done:
        raise CommitConflict(f"{batch.words(table)} has just been done by another process; nothing was committed")
    return CommitName(batch.user, batch.number, note.since)


def _settled_level(table: ReadableTable, change: RowChange) -> int:
    """The lowest level on which files may lie when a statement reads the table; 0: on any.

    Readers may not see level 0. Where files are rewritten, their rows must be in the changelog already, which a
    compaction writes: the rewritten ones will not be written to it.
    """
    if not table.schema.primary_keys:
        return 0
    producer = table.settings.changelog_producer
    rewrites = change_strategy(table, change.statement, change.inserts_only) is ChangeStrategy.MERGED_BUCKETS
    if rewrites and producer is ChangelogProducer.FULL_COMPACTION:
        return compaction_rules(table.settings).num_levels - 1
    return int(skips_level_zero(table.settings) or (rewrites and producer.is_compaction))


def _settle(
    change: RowChange,
    table: ReadableTable,
    runner: Callable[[], TaskRunner],
    by_metadata: Callable[[ReadableTable], bool],
) -> None:
    """Compacts rows that wait below a level: an update of what they replace would be lost, or reported late.

    Raises:
        UnsupportedFeature: the table is not compacted by its writers.
        CommitConflict: rows wait again.
    """
    settled = 0 if by_metadata(table) else _settled_level(table, change)
    waiting = _waiting(table, settled) if settled else 0
    if not waiting:
        return
    problem = f"{waiting} files wait for a compaction, and their rows are not visible yet, or not in the changelog"
    if table.settings.write_only:
        raise UnsupportedFeature(
            f"{change.statement} of {table.location}: {problem}; 'write-only' leaves compaction to another job, so run "
            "that first"
        )
    tasks = runner()
    try:
        compact_table(table, tasks, full=table.settings.changelog_producer is ChangelogProducer.FULL_COMPACTION)
    finally:
        tasks.stop()
    if _waiting(table, settled):
        raise CommitConflict(
            f"{change.statement} of {table.location}: {problem}; compact the table, then run the statement again"
        )


def _waiting(table: ReadableTable, settled: int) -> int:
    buckets = live_buckets(table, table.snapshots.latest())
    return sum(entry.file.level < settled for bucket in buckets for entry in bucket.entries)


def _of_metadata(table: Table, made: TruncateResult, number: int) -> RowChangeResult:
    is_plain = not table.schema.primary_keys and not table.settings.deletion_vectors_enabled
    return RowChangeResult(
        rows_deleted=made.rows,
        counts_exact=is_plain or not made.rows,
        files_rewritten=made.files,
        attempts=number,
        snapshot_id=made.snapshot_id,
    )


def _commit(
    change: RowChange,
    runner: Callable[[], TaskRunner],
    read: ReadTable,
    made: Outcome,
    spent: int,
    published: list[WriteJob],
) -> RowChangeResult:
    """One commit, on the state that was read. Files of a commit that is refused are deleted.

    Args:
        published: takes the write if its schema has been published.
    """
    began = time.monotonic()
    batch, table = read.batch, made.job.table
    nothing = RowChangeResult(files_read=made.files_read, find_millis=made.find_millis)
    if made.updated + made.deleted + made.inserted == 0:
        abort_job(made.job, made.messages)
        publish_schema_of(made.job, ())
        if batch is not None:
            end_batch(table, batch, None)
        return nothing
    write = made.job if batch is None else replace(made.job, commit_user=batch.user, batch=batch)
    spent_on_commit = 0

    def publish() -> CommitResult | None:
        nonlocal spent_on_commit
        publish_schema_of(write, made.messages)
        published.extend([write] if write.evolution is not None else [])
        result = commit_rows(write, made.messages, change.statement.value, ReadState.of(read.snapshot))
        spent_on_commit = round((time.monotonic() - began) * 1000)
        return result

    done = commit_and_finish(write, made.messages, runner(), publish=publish).result
    if done is None:
        return nothing
    return RowChangeResult(
        rows_updated=made.updated,
        rows_deleted=made.deleted,
        rows_inserted=made.inserted,
        counts_exact=made.counts_exact,
        files_read=made.files_read,
        files_rewritten=sum(len(message.deleted_files) for message in made.messages),
        files_added=done.files,
        bytes=done.bytes,
        find_millis=made.find_millis,
        write_millis=spent - made.find_millis,
        commit_millis=spent_on_commit,
        snapshot_id=done.snapshot_id,
    )
