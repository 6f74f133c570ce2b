"""What PaimonTable does to rows beyond ``table_appends``: streams, row changes, and changes that follow a database.

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
from paimon_spark.errors import OptionError
from paimon_spark.format.quoting import quoted
from paimon_spark.row_changes.attempts import RowChange
from paimon_spark.row_changes.clauses import Action, When
from paimon_spark.row_changes.result import RowChangeResult
from paimon_spark.spark.adapters.errors import named_batch
from paimon_spark.spark.adapters.live_session import check_frame
from paimon_spark.spark.adapters.options import PATH, SESSION_ZONE, path_in_session
from paimon_spark.spark.cdc.table_sync import SyncPlan, check_stream, sync_batch
from paimon_spark.spark.merge_into.clauses import Clause, MergeBuilder
from paimon_spark.spark.merge_into.merge import Merge, run_merge
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.spark.rows.job import Job
from paimon_spark.spark.rows.statements import RowStatement, delete_where, update_where
from paimon_spark.spark.stream_sink.options import stream_options
from paimon_spark.spark.stream_sink.query import StreamIdentity
from paimon_spark.spark.table.each_batch import stream_writer
from paimon_spark.spark.table.table_appends import TableAppends
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.rows.change_strategies import Statement
from paimon_spark.writes.options import UNKNOWN_BATCH, Once, merging_of
from paimon_spark.writes.write_job import WriteResult

_NO_OPTIONS: Mapping[str, str] = {}
_ALIAS = "target"
_SOURCE = "source"
_NEWEST = "_paimon_newest"
_ALL_ROWS = "true"
Changed = TypeVar("Changed", bound="TableWrites")


class TableWrites(TableAppends):
    """What changes the rows of a table."""

    _alias: str | None = None
    _refresh: Callable[[], None] | None = None

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
        update = Clause(When.MATCHED, Action.UPDATE, newer or None)
        insert = Clause(When.NOT_MATCHED, Action.INSERT, None)
        done = run_merge(Merge(self._job(Statement.MERGE, once), _ALIAS, df, _SOURCE, condition, (update, insert)))
        rows = done.rows_updated + done.rows_inserted
        return WriteResult(rows, done.files_added, done.bytes, done.millis, done.snapshot_id, repeated=done.repeated)


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
