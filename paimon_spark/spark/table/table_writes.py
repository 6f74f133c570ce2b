"""What PaimonTable does to rows: appends, overwrites, streams, row changes, and changes that follow a database.

Writes take the road with a shuffle: one task owns a bucket, files are few and large.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeVar, Unpack

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.streaming.readwriter import DataStreamWriter

from paimon_spark.cdc.batches.decoding import DecodingOptions, decoding_of
from paimon_spark.errors import OptionError, TableNotFound
from paimon_spark.format.quoting import quoted
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.clauses import Action, When
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.adapters.batches import FrameColumns
from paimon_spark.spark.adapters.dataframes import Rows, as_dataframe, held_rows
from paimon_spark.spark.adapters.errors import named_batch
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.spark.adapters.options import (
    OVERWRITE_MODE,
    PATH,
    SESSION_ZONE,
    last_of,
    path_in_session,
    write_options,
)
from paimon_spark.spark.cdc.table_sync import SyncPlan, check_stream, sync_batch
from paimon_spark.spark.jobs.format_job import write_format_table
from paimon_spark.spark.jobs.write_run import run_write
from paimon_spark.spark.merge_into.clauses import Clause, MergeBuilder
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.spark.rows.job import Job
from paimon_spark.spark.rows.statements import RowStatement, delete_where, update_where
from paimon_spark.spark.stream_sink.options import stream_options
from paimon_spark.spark.stream_sink.query import StreamIdentity, compute, local_query
from paimon_spark.spark.table.each_batch import stream_writer
from paimon_spark.spark.table.table_state import TableState
from paimon_spark.spark.write.bucket_routing import how_computed
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.rows.change_strategies import Statement
from paimon_spark.store.storage.served import is_served
from paimon_spark.writes.format_writes import find_format_table
from paimon_spark.writes.open_write import open_job
from paimon_spark.writes.options import DYNAMIC_OVERWRITE, OVERWRITE_WHERE, UNKNOWN_BATCH, Once, merging_of
from paimon_spark.writes.write_job import WriteResult

_NO_OPTIONS: Mapping[str, str] = {}
_ALIAS = "target"
_SOURCE = "source"
_NEWEST = "_paimon_newest"
_ALL_ROWS = "true"
Changed = TypeVar("Changed", bound="TableWrites")


class TableWrites(TableState):
    """What changes the rows of a table."""

    _alias: str | None = None
    _refresh: Callable[[], None] | None = None

    def append(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Adds the rows, or upserts them if the table has a primary key.

        Args:
            df: a DataFrame of Spark or pandas, a pyarrow Table, a scan, or what else has Arrow's stream, such as a
                DataFrame of Polars; this process holds all rows but those of Spark.
            options: of this write; ``row-kind-column`` among them.
            once: the name of an application and a number that grows from write to write, such as that of a batch: the
                write happens once. It is looked up before a row is computed; a repeated call does nothing and says so
                (``repeated``). Several writes of one batch need names of their own.
            once_skips_older: whether a lower number than the last one is skipped; else it is an error.

        Raises:
            TableNotFound: the table was dropped; a write makes none.
            StaleBatch: the application has written a later number; the message names the ways out.
            CommitStateUnknown: an earlier call broke off, and the snapshots have expired that could tell whether it
                was committed; the option `write.stream.unknown-batch` = skip or write decides.
            PaimonError: the DataFrame, the options and the table do not fit, or the commit failed.
        """
        return self._write(df, options, False, Once.of(once, once_skips_older))

    def overwrite(
        self,
        df: Rows,
        where: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces all rows, or those of some partitions, in one snapshot.

        In a session with ``spark.sql.sources.partitionOverwriteMode`` = ``dynamic`` and without a condition it replaces
        the partitions that the DataFrame has rows of; the option ``dynamic-partition-overwrite`` decides otherwise.

        Args:
            df: as for append.
            where: SQL text that gives partition columns their values, such as ``dt = '2026-11-01'``; rows of other
                partitions are refused.
            once, once_skips_older: as for append.
        """
        df = held_rows(df)
        chosen = self._overwrite_of_session(options) if where is None else {OVERWRITE_WHERE: where}
        return self._write(df, {**options, **chosen}, True, Once.of(once, once_skips_older))

    def dynamic_partition_overwrite(
        self,
        df: Rows,
        options: Mapping[str, str] = _NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces the partitions that the rows belong to, and no other; arguments as for append.

        Raises:
            OptionError: the table has no partitions, so that all its rows would go.
        """
        df = held_rows(df)
        if not self._open_any().schema.partition_keys:
            raise OptionError(
                f"dynamic_partition_overwrite of {self._path}: the table has no partitions; overwrite(df) replaces all "
                "its rows"
            )
        return self._write(df, {**options, DYNAMIC_OVERWRITE: "true"}, True, Once.of(once, once_skips_older))

    def _overwrite_of_session(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """What the session says of overwrites, as option, unless the call says something."""
        says = any(key.lower() in (DYNAMIC_OVERWRITE, OVERWRITE_WHERE) for key in (*self._options, *options))
        mode = self._spark.conf.get(OVERWRITE_MODE, "static") or "static"
        return {DYNAMIC_OVERWRITE: "true"} if not says and mode.lower() == "dynamic" else _NO_OPTIONS

    def write_stream(
        self, df: DataFrame, checkpoint: str | None = None, options: Mapping[str, str] = _NO_OPTIONS
    ) -> DataStreamWriter:
        """A stream into the table, of which each batch is written once: start it with ``.start()``.

        It does what ``df.writeStream.format("paimon")`` does, and more: rows are shuffled, so that one task writes a
        bucket and files are few; compactions run as Spark tasks; the output mode `update` and tables whose keys move
        between partitions work too. It costs a shuffle and some Spark jobs more for each batch.

        Args:
            df: a streaming DataFrame.
            checkpoint: where the query keeps its state, as for the option `checkpointLocation`. On Spark Connect it
                must be given here, because the id of the query is read from it.
            options: as for ``df.writeStream``: those of a write, `write.stream.commit-user`,
                `write.stream.unknown-batch`, `watermark-column` and `watermark-delay`.

        Returns:
            Spark's own DataStreamWriter, for ``outputMode``, ``trigger``, ``queryName`` and ``start``. In the output
            mode `complete` each batch replaces all rows.

        Raises:
            OptionError: an option does not fit the stream. What does not fit the table fails the first batch.
        """
        given = stream_options({UNKNOWN_BATCH: self._unknown, **self._options, **options, PATH: self._path})
        return stream_writer(check_frame(df), given, checkpoint)

    def sync(
        self,
        rows: DataFrame,
        format: str | None = None,
        *,
        checkpoint: str | None = None,
        options: Mapping[str, str] = _NO_OPTIONS,
        dead_letters: str | None = None,
        once: tuple[str, int] | None = None,
        **decoding: Unpack[DecodingOptions],
    ) -> WriteResult | DataStreamWriter:
        """Makes the table what a database has become: inserts, updates and deletes, in the order of their messages.

        The columns follow: the table gets new ones, and wider types. Other changes of types are refused by name. Rows
        as they were before an update are written only where the table needs them (aggregations, the changelog
        producer `input`).

        Args:
            rows: what ``paimon_spark.cdc.decode`` made, or, with `format`, the messages themselves.
            format: the format of the messages. Then the table follows the columns and types that they tell; ``decode``
                has them fixed when a stream starts.
            checkpoint: of a stream, the directory of its option checkpointLocation; each batch is written once.
            options: of the writes.
            dead_letters: the path of a table for malformed messages, made when the first comes: error, topic,
                partition, offset, key, value. None: a malformed message is an error.
            once: for a batch that is written in one's own foreachBatch: a name and the number of the batch, as for
                ``append``.
            decoding: with `format`, arguments of ``decode``: computed, metadata, metadata_prefix, case_sensitive,
                ignore, type_mapping, binary, time_unit, time_zone.

        Returns:
            For a batch what was written; for a stream Spark's writer, to be started:
            ``table.sync(rows, checkpoint="/ck").trigger(availableNow=True).start()``.

        Raises:
            OptionError: an argument does not fit.
            PaimonError: a message is malformed, or the changes do not fit the table.
        """
        zone = self._spark.conf.get(SESSION_ZONE) or "UTC"
        plan = SyncPlan(None if format is None else decoding_of(format, decoding, zone), options)
        check_stream(rows, checkpoint)
        path, identity = self._path, StreamIdentity(checkpoint)
        write = partial(_sync_batch, path=path, options=self._options, plan=plan, dead_letters=dead_letters)
        if not rows.isStreaming:
            return write(self._spark, rows, once)

        def batch(frame: DataFrame, number: int) -> None:
            spark = frame.sparkSession
            name = (identity.query(spark), number)
            with named_batch(number, path):
                write(spark, frame, name)

        return rows.writeStream.foreachBatch(batch).option("checkpointLocation", checkpoint or "")

    def alias(self, name: str) -> Self:
        """The table with a name for its columns in the conditions and expressions of delete, update and merge."""
        named = copy.copy(self)
        named._alias = name
        return named

    def delete(
        self,
        condition: Expression | None = _ALL_ROWS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> RowChangeResult:
        """Deletes the rows for which a condition is true, in one commit. NULL is not true.

        A condition on partitions alone is done by metadata: no data file is read (unless
        `delete.force-produce-changelog` is true).

        Args:
            condition: in Spark's SQL, with sub-queries and functions, read in the time zone of the session; or a
                Column, which names columns by ``F.col("id")``, not by another DataFrame. Without one the table is
                emptied; None is refused, because a variable may hold it by mistake.
            once: the name of an application and a number, under which it is done once; see ``append``.
            once_skips_older: whether a lower number than the last one is skipped; else it is an error.

        Raises:
            StaleBatch, CommitStateUnknown: as for ``append``, with `once`.
            DataError: the merge engine would keep a row that is to be deleted; the message says why.
            UnsupportedFeature: rows of this table cannot be deleted; the message says why.
            CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            CommitStateUnknown: the storage did not answer; nothing was deleted.
            OptionError: the condition is None.
            SqlError: a Column of the condition is one of another DataFrame.
            AnalysisException: Spark does not understand the condition.
        """
        where = self._which_rows(
            condition, "DELETE", "nothing was deleted", "call delete() without an argument to delete all rows"
        )
        job = self._job(Statement.DELETE, Once.of(once, once_skips_older))
        return delete_where(RowStatement(job, self._alias or _ALIAS, where))

    def update(
        self,
        condition: Expression | None,
        set: Mapping[str, Expression],
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> RowChangeResult:
        """Gives columns new values in the rows for which a condition is true, in one commit.

        Args:
            condition: as for delete; ``"true"``: all rows.
            set: expressions by the names of columns, or of fields in them such as ``address.city``. They may name the
                old values of all columns. A text is SQL: ``"'new'"`` or ``F.lit("new")`` is the text new. A value is
                cast to the type of its column by the rules of ANSI SQL.
            once, once_skips_older: as for delete.

        Raises:
            StaleBatch, CommitStateUnknown: as for ``append``, with `once`.
            SqlError: a column is unknown, assigned twice, or part of the primary key; a Column is one of another
                DataFrame; a value is a word that is no column.
            DataError: a value cannot be stored in its column, or the merge engine would not apply it: it is older than
                the stored one by its sequence field, or NULL in a partial-update table.
            UnsupportedFeature: rows of this table cannot be updated; the message says why.
            CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            CommitStateUnknown: the storage did not answer; nothing was deleted.
            OptionError: the condition is None.
            AnalysisException: Spark does not understand an expression.
        """
        where = self._which_rows(
            condition, "UPDATE", "nothing was updated", "call update('true', ...) to update all rows"
        )
        job = self._job(Statement.UPDATE, Once.of(once, once_skips_older))
        return update_where(RowStatement(job, self._alias or _ALIAS, where, dict(set)))

    def _which_rows(
        self, condition: Expression | None, what: str, is_not_done: str, all_rows: str
    ) -> Expression | None:
        """The condition of a statement; None: all rows.

        Raises:
            OptionError: the caller gave None or a blank text, which a variable may hold by mistake.
        """
        if condition is None or (isinstance(condition, str) and not condition.strip()):
            found = "the argument 'condition' is None" if condition is None else "the condition is empty"
            raise OptionError(
                f"{what} of {self._alias or self._path}: {found}, and {is_not_done}; give a condition, or {all_rows}",
                arguments=("condition",),
            )
        return None if isinstance(condition, str) and condition == _ALL_ROWS else condition

    def merge(
        self,
        source: DataFrame,
        condition: Expression,
        source_alias: str | None = None,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> MergeBuilder:
        """Merges the rows of a source into the table: says which rows match, the calls on the result what is done.

        Args:
            source: the rows; give it a name with ``source.alias("s")``. It is computed once.
            condition: when a row of the source and one of the table match, such as ``t.id = s.id``; the table has the
                name that ``alias`` gave it.
            source_alias: the name of the source in expressions; None: the one that the DataFrame has.
            once, once_skips_older: as for delete; the source is not computed when the table has the number.

        Returns:
            The MERGE to be completed, and done by ``execute``, which raises:

            - SqlError: no clause, an unknown column, a column assigned twice or of the primary key.
            - SchemaError: the columns of the table cannot become what the source needs.
            - DataError: a value cannot be stored in its column; the merge engine would not apply it, as for update; or
              several rows of the source match one row, whose key is shown.
            - UnsupportedFeature: rows of this table cannot be merged.
            - CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            - CommitStateUnknown: the storage did not answer; nothing was deleted.
        """
        check_frame(source)
        job, alias = self._job(Statement.MERGE, Once.of(once, once_skips_older)), self._alias or _ALIAS

        def run(clauses: Sequence[Clause], evolves: bool) -> RowChangeResult:
            merging = merging_of(self._options, evolves)
            return run_merge(Merge(job, alias, source, source_alias, condition, clauses, merging))

        return MergeBuilder(run)

    def _job(self, statement: Statement, once: Once | None) -> Job:
        change = RowChange(self._open, statement, once, self._unknown, name=self._alias or self._path)
        return Job(self._spark, change if self._refresh is None else replace(change, refresh=self._refresh))

    def _write(self, rows: Rows, options: Mapping[str, str], overwrite: bool, once: Once | None) -> WriteResult:
        rows = held_rows(rows)
        df = as_dataframe(self._spark, rows)
        given = self._in_session({**self._options, **options, PATH: self._path})
        read = write_options({**given, UNKNOWN_BATCH: last_of(options, UNKNOWN_BATCH) or self._unknown})
        write = read if once is None else replace(read, once=once)
        if is_served(self._path):
            found = find_format_table(write)
            if found is not None:
                return write_format_table(df, found, write, overwrite)
        missing = None if write.creates else partial(_refuse_lost_table, self._path)
        job = open_job(write, FrameColumns(df.schema), overwrite, missing, finds_keys=True, upserts=True)
        if job.table.settings.upsert_key and not (overwrite or job.table.schema.primary_keys):
            return self._upsert(df, job.table, once)
        done = run_write(self._spark, df, job, here=how_computed(rows))
        if done.repeated and local_query(self._spark) is not None:
            compute(df)
        return done

    def _upsert(self, df: DataFrame, table: Table, once: Once | None) -> WriteResult:
        """Replaces the rows with the same `upsert-key`, and adds the others (Java: RewriteUpsertTable)."""
        keys, sequence = table.settings.upsert_key, table.settings.sequence_field
        if sequence:
            newest = Window.partitionBy(*map(sf.col, map(quoted, keys))).orderBy(
                *(sf.col(quoted(name)).desc() for name in sequence)
            )
            df = df.withColumn(_NEWEST, sf.row_number().over(newest)).where(f"{_NEWEST} = 1").drop(_NEWEST)
        condition = " AND ".join(f"{_ALIAS}.{quoted(key)} <=> {_SOURCE}.{quoted(key)}" for key in keys)
        newer = " AND ".join(f"{_ALIAS}.{quoted(name)} <= {_SOURCE}.{quoted(name)}" for name in sequence)
        job = self._job(Statement.MERGE, once)
        update = Clause(When.MATCHED, Action.UPDATE, newer or None)
        insert = Clause(When.NOT_MATCHED, Action.INSERT, None)
        done = run_merge(Merge(job, _ALIAS, df, _SOURCE, condition, (update, insert)))
        rows = done.rows_updated + done.rows_inserted
        return WriteResult(rows, done.files_added, done.bytes, done.millis, done.snapshot_id, repeated=done.repeated)


def _refuse_lost_table(path: str) -> None:
    """A table that a write made of its rows would lack the keys and options of the one that the object was made for.

    Raises:
        TableNotFound: always.
    """
    raise TableNotFound(
        f"writing to {path}: there is no table any more; it was dropped or renamed since this PaimonTable was made. "
        f"Nothing was written. Create it again, with its keys and options; or let df.write.format('paimon')"
        f".mode('append').save('{path}') make a table of the rows"
    )


@dataclass(frozen=True)
class TableTarget:
    """A table object, as what writes a batch needs it."""

    table: TableWrites

    def open(self) -> ReadableTable:
        return self.table._open()

    def append(self, rows: DataFrame, options: Mapping[str, str], once: tuple[str, int] | None) -> WriteResult:
        return self.table.append(rows, options, once)


def _sync_batch(
    spark: SparkSession,
    rows: DataFrame,
    once: tuple[str, int] | None,
    path: str,
    options: Mapping[str, str],
    plan: SyncPlan,
    dead_letters: str | None,
) -> WriteResult:
    """One batch, with the table opened in the session that runs it: on Spark Connect this is another process."""
    target = TableTarget(TableWrites(spark, path, options))
    place = None if dead_letters is None else path_in_session(spark, dead_letters)
    letters = None if place is None else TableTarget(TableWrites(spark, place, options))
    return sync_batch(rows, plan, target, letters, once)


def refreshing(table: Changed, refresh: Callable[[], None]) -> Changed:
    """The table, whose statements call a function before every attempt but the first: it reads sub-queries again."""
    named = copy.copy(table)
    named._refresh = refresh
    return named
