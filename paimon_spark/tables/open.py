"""Opens and makes tables for a process without Spark, and what such a table offers: reads, writes, procedures.

Writes, procedures and catalogs are imported when they are first asked for: a process that only reads does not wait for
them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import OptionError
from paimon_spark.file_io import absolute_location, file_io_for
from paimon_spark.format.options.engines import TableKind
from paimon_spark.format.options.other_systems import ARGUMENT_ADVICE
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.table_options import split_storage_options
from paimon_spark.store.open import OpenTable, ReadableTable, open_any_table, open_data_table, state_options
from paimon_spark.store.scan.read_spec import find_fields

if TYPE_CHECKING:
    from paimon_spark.arrow.predicates.expressions import Expr
    from paimon_spark.catalogs.catalog import Catalog
    from paimon_spark.catalogs.create import Columns
    from paimon_spark.procedures.procedure import Procedure
    from paimon_spark.procedures.table_procedures import TableProcedures
    from paimon_spark.row_changes.attempts import RowChange
    from paimon_spark.row_changes.result import RowChangeResult
    from paimon_spark.store.compact.outcomes import CompactResult
    from paimon_spark.store.evolution.alter import AlterResult
    from paimon_spark.store.evolution.schema_update import SchemaBlock
    from paimon_spark.store.file_tables.format_table import FormatTable
    from paimon_spark.store.rows.change_strategies import Statement
    from paimon_spark.tables.merge_builder import TableMerge
    from paimon_spark.tables.stream import ChangeStream
    from paimon_spark.tables.stream_write import StreamProgress, StreamWriteResult
    from paimon_spark.writes.write_job import WriteResult
else:
    TableProcedures = object

R = TypeVar("R")
NO_OPTIONS: Mapping[str, str] = {}
_ALL_ROWS = "true"


@checks_arguments
@dataclass(frozen=True, repr=False)
class WritableTable(ReadableTable, TableProcedures):
    """An open table that can be read and written; picklable.

    Each write opens the table that is there then. What is read has the columns that the table had when this object was
    made.

    - Read: ``scan``, ``stream``, ``system_table``, ``history``; libraries that know Arrow's streams take all its rows
    - Rows: ``delete``, ``update``, ``merge``, ``upsert``
    - Write: ``append``, ``overwrite``, ``dynamic_partition_overwrite``, ``truncate``, ``drop_partitions``,
      ``write_stream``
    - Columns and options: ``update_schema``, ``set_options``, ``unset_options``
    - Procedures: ``compact``, ``expire_snapshots``, ``create_tag``, ``rollback``, ... with the names and arguments that
      they have in ``PaimonTable``; ``compact_in`` an executor

    Attributes:
        place: the location that the caller gave.
        given: the options that the caller gave, those of the storage among them.
    """

    _advice: ClassVar = ARGUMENT_ADVICE

    place: str = field(default="", compare=False)
    given: Mapping[str, str] = field(default_factory=dict, compare=False)

    def append(
        self,
        rows: Any,
        options: Mapping[str, str] = NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Adds the rows, or upserts them if the table has a primary key.

        Args:
            rows: what has Arrow's stream (a pyarrow Table, a reader of record batches, a scan, a DataFrame of Polars, a
                relation of DuckDB), a pandas DataFrame, a dictionary from column to values, a list of dictionaries, or
                an iterable of RecordBatches. Columns are matched by name, values are cast as ``df.write`` does. Of a
                reader no more than the write buffer is held.
            options: of this write; ``row-kind-column`` and ``write.merge-schema`` among them.
            once: the name of an application and a number that grows from write to write, such as that of a batch: the
                write happens once. A repeated call does nothing and says so (``repeated``).
            once_skips_older: whether a lower number than the last one is skipped; else it is an error.

        Raises:
            DataError: the rows do not fit the table; nothing was written.
            TableNotFound: the table was dropped; a write makes none.
            StaleBatch: the application has written a later number.
            CommitStateUnknown: nobody can tell whether the rows are in the table; nothing was deleted.
            PaimonError: the options and the table do not fit, or the commit failed.
        """
        return self._write(rows, options, False, once, once_skips_older)

    def overwrite(
        self,
        rows: Any,
        where: str | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces all rows, or those of some partitions, in one snapshot.

        Args:
            rows: as for append.
            where: SQL text that gives partition columns their values, such as ``dt = '2026-11-01'``; rows of other
                partitions are refused.
            options, once, once_skips_older: as for append.

        Raises:
            As for append.
        """
        from paimon_spark.writes.options import OVERWRITE_WHERE

        chosen = NO_OPTIONS if where is None else {OVERWRITE_WHERE: where}
        return self._write(rows, {**options, **chosen}, True, once, once_skips_older)

    def dynamic_partition_overwrite(
        self,
        rows: Any,
        options: Mapping[str, str] = NO_OPTIONS,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> WriteResult:
        """Replaces the partitions that the rows belong to, and no other; arguments and errors as for append.

        Raises:
            OptionError: the table has no partitions, so that all its rows would go.
        """
        from paimon_spark.writes.arrow_input import record_batches
        from paimon_spark.writes.options import DYNAMIC_OVERWRITE

        rows = record_batches(rows)
        if not self.schema.partition_keys:
            raise OptionError(
                f"dynamic_partition_overwrite of {self.place}: the table has no partitions; overwrite(rows) replaces "
                "all its rows"
            )
        return self._write(rows, {**options, DYNAMIC_OVERWRITE: "true"}, True, once, once_skips_older)

    def stream(
        self,
        columns: str | Sequence[str] | None = None,
        where: str | Expr | None = None,
        row_kinds: bool = False,
        position: Mapping[str, Any] | None = None,
        options: Mapping[str, str] = NO_OPTIONS,
    ) -> ChangeStream:
        """What changes in the table, in batches: a loop over the result reads what is there, its ``follow`` waits.

        Args:
            columns, where: as for scan.
            row_kinds: True adds a last column ``_row_kind`` with +I, -U, +U or -D, and keeps rows that take others
                back.
            position: where an earlier stream stood, as it told; None: the options say where it begins, which is with
                all rows of the latest snapshot.
            options: of the stream: ``scan.mode``, ``scan.snapshot-id``, ``consumer-id``,
                ``read.stream.maxFilesPerTrigger``, ..., as ``spark.readStream`` takes them.

        Raises:
            OptionError: an option does not fit, or a column does not exist; or the position is none of a stream.
            PredicateError: the condition does not fit the columns.
            UnsupportedFeature: this release cannot stream from the table.
        """
        from paimon_spark.store.stream_source.position import parse_position
        from paimon_spark.store.stream_source.settings import split_stream_options
        from paimon_spark.store.stream_source.stream_read import stream_read
        from paimon_spark.tables.stream import ChangeStream

        begin = None if position is None else parse_position(position).to_json()
        chosen, others = split_stream_options({**self.given, **options})
        table = open_data_table(self.place, others, time_zone=self.time_zone)
        return ChangeStream(stream_read(table, chosen, columns, where, row_kinds), begin)

    def write_stream(
        self,
        batches: Any,
        name: str,
        options: Mapping[str, str] = NO_OPTIONS,
        follow: bool = False,
        interval: float = 1.0,
    ) -> StreamWriteResult:
        """Writes batches of a stream, each once and in one commit, and keeps with them where their source stands.

        A call that is stopped between two batches, or within one, by an error or by Ctrl-C, is repeated: it goes on
        behind what is in the table. A stream of ``stream`` is continued there by itself, whatever its own position. Of
        others, ``stream_progress`` tells where to go on.

        Args:
            batches: a stream of another table, or of this one (its column ``_row_kind`` says what becomes of the rows);
                or an iterable of its batches; or of pairs: a position, which is a value of JSON that differs from batch
                to batch, and rows as append takes them.
            name: of the stream into this table; one process at a time may write it.
            options: as for append.
            follow: True waits for more when a stream of ``stream`` has been read, without an end.
            interval: seconds between two looks at its table.

        Raises:
            StaleBatch: a batch does not continue what is in the table; or another process writes the stream.
            OptionError: the name is one of writes with ``once``; or a batch is not of these forms.
            DataError, TableNotFound, CommitStateUnknown: as for append; batches before are in the table.
            StreamPositionLost, TableChanged: the source cannot be continued.
        """
        from paimon_spark.tables.stream_write import StreamTarget, write_stream

        target = StreamTarget(self.place, {**self.given, **options}, self.time_zone, name)
        return write_stream(target, batches, follow, interval)

    def stream_progress(self, name: str) -> StreamProgress:
        """How far a stream into this table has come; what ``write_stream`` left off in the middle is looked for first.

        Args:
            name: as for write_stream.

        Raises:
            OptionError: the name is one of writes with ``once``.
            CommitStateUnknown: nobody can tell whether the last batch is in the table.
        """
        from paimon_spark.tables.stream_write import StreamTarget, stream_progress

        return stream_progress(StreamTarget(self.place, self.given, self.time_zone, name))

    def delete(
        self, condition: Any = _ALL_ROWS, once: tuple[str, int] | None = None, once_skips_older: bool = False
    ) -> RowChangeResult:
        """Deletes the rows for which a condition is true, in one commit. NULL is not true.

        A condition on partitions alone is done by metadata: no data file is read (unless
        `delete.force-produce-changelog` is true).

        Args:
            condition: SQL text or an expression of ``col(...)``, as for scan, or an expression of ``pyarrow.compute``,
                by which no file is left out. Without one the table is emptied; None is refused, because a variable may
                hold it by mistake.
            once, once_skips_older: as for append.

        Raises:
            PredicateError: the condition does not fit the table.
            DataError: the merge engine would keep a row that is to be deleted; the message says why.
            UnsupportedFeature: rows of this table cannot be deleted; the message says why.
            CommitConflict: other jobs changed the same rows in every attempt; nothing was committed.
            StaleBatch, CommitStateUnknown: as for append; nothing was deleted.
            OptionError: the condition is None.
        """
        from paimon_spark.row_changes.statements_here import RowStatement, delete_here
        from paimon_spark.store.rows.change_strategies import Statement

        where = self._which_rows(condition, "DELETE", "call delete() without an argument to delete all rows")
        return delete_here(RowStatement(self._change(Statement.DELETE, once, once_skips_older), where))

    def update(
        self,
        condition: Any,
        set: Mapping[str, Any],
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> RowChangeResult:
        """Gives columns new values in the rows for which a condition is true, in one commit.

        Args:
            condition: as for delete; ``"true"``: all rows.
            set: values by the names of columns, or of fields in them such as ``address.city``: an expression of
                ``pyarrow.compute`` over the old values (``pc.field("n") + 1``), a constant of Python, or SQL text that
                is a constant or the name of a column. A text is SQL, as in a session: ``"'new'"`` is the text new. A
                value is stored as append stores it.
            once, once_skips_older: as for append.

        Raises:
            SqlError: a column is unknown, assigned twice, or part of the primary key.
            PredicateError: the condition or a value does not fit the table.
            DataError: a value cannot be stored in its column, or the merge engine would not apply it: it is older than
                the stored one by its sequence field, or NULL in a partial-update table.
            UnsupportedFeature: rows of this table cannot be updated; the message says why.
            CommitConflict, StaleBatch, CommitStateUnknown, OptionError: as for delete.
        """
        from paimon_spark.row_changes.statements_here import RowStatement, update_here
        from paimon_spark.store.rows.change_strategies import Statement

        where = self._which_rows(condition, "UPDATE", "call update('true', ...) to update all rows")
        return update_here(RowStatement(self._change(Statement.UPDATE, once, once_skips_older), where, dict(set)))

    def merge(
        self,
        source: Any,
        condition: str | Sequence[str],
        source_alias: str = "source",
        alias: str = "target",
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> TableMerge:
        """Merges the rows of a source into the table: says which rows match, the calls on the result what is done.

        Args:
            source: the rows, in any form that append takes; they are held in memory.
            condition: which columns are equal where a row of the source and one of the table match: names that both
                have (``["id", "dt"]`` or ``"id, dt"``), or SQL text such as
                ``target.id = source.id AND target.day = source.date``.
            source_alias, alias: the names of the source and of the table in expressions.
            once, once_skips_older: as for append.

        Returns:
            The MERGE to be completed, and done by ``execute``, which raises:

            - SqlError: no clause, an unknown column, a column assigned twice or of the primary key; or the condition
              is more than equal columns.
            - SchemaError: with schema evolution, the columns of the table cannot become what the source needs.
            - PredicateError: a condition or a value of a clause does not fit the columns.
            - DataError: a value cannot be stored in its column; the merge engine would not apply it, as for update; or
              several rows of the source match one row, which is shown.
            - UnsupportedFeature: rows of this table cannot be merged.
            - CommitConflict, StaleBatch, CommitStateUnknown: as for delete.
        """
        from paimon_spark.row_changes.merge_here import Merge, merge_here
        from paimon_spark.store.rows.change_strategies import Statement
        from paimon_spark.tables.merge_builder import TableMerge
        from paimon_spark.writes.arrow_input import record_batches
        from paimon_spark.writes.options import merging_of

        change, rows = self._change(Statement.MERGE, once, once_skips_older), record_batches(source).read_all()
        parts = change, alias, rows, source_alias, condition
        return TableMerge(lambda clauses, evolves: merge_here(Merge(*parts, clauses, merging_of(self.given, evolves))))

    def upsert(
        self,
        rows: Any,
        on: str | Sequence[str] | None = None,
        once: tuple[str, int] | None = None,
        once_skips_older: bool = False,
    ) -> RowChangeResult | WriteResult:
        """Updates the rows of the table that have a row among these, and inserts the others, in one commit.

        Args:
            rows: as for append, with all columns of the table.
            on: the columns by which rows are found; None: the primary key, which append upserts by without reading
                the table.
            once, once_skips_older: as for append.

        Raises:
            OptionError: the table has no primary key, and no columns are named.
            PaimonError: as of append, or of merge.
        """
        names = find_fields(self.schema, on) if on is not None else ()
        if not names and not self.schema.primary_keys:
            raise OptionError(
                f"upsert of {self.place}: the table has no primary key; name the columns by which rows are found, with "
                "on='id'",
                arguments=("on",),
            )
        if {field.name for field in names} in (set(), {*self.schema.primary_keys}):
            return self.append(rows, once=once, once_skips_older=once_skips_older)
        merge = self.merge(rows, [field.name for field in names], once=once, once_skips_older=once_skips_older)
        return merge.when_matched_update_all().when_not_matched_insert_all().execute()

    def compact_in(self, executor: Executor, where: str | None = None, full: bool | None = None) -> CompactResult:
        """Does what ``compact`` does, with its tasks in an executor: a pool of processes, or that of Dask or Ray.

        Args:
            executor: its workers have this package, and reach the storage; the caller ends it.
            where, full: as for ``compact``.

        Raises:
            As for ``compact``.
        """
        from paimon_spark.procedures.local_engine import LocalEngine
        from paimon_spark.procedures.rewrites import Compact
        from paimon_spark.store.compact.executor_runner import ExecutorRunner

        return Compact(where, full).run(self.reopened(), LocalEngine(ExecutorRunner(executor)))

    def update_schema(self, dry_run: bool = False) -> SchemaBlock:
        """Changes columns, comments and options: all of them at the end of the block, or none if it raises.

        ``with table.update_schema() as change: change.add_column("city", "STRING")``. Columns are found in any letter
        case. The ``result`` of the update is there after the block. This object keeps the columns that it was opened
        with.

        Args:
            dry_run: True only says, in ``result.difference``, what would be different.

        Raises:
            SchemaError: a change cannot be made; nothing was changed.
        """
        from paimon_spark.store.evolution.alter import alter
        from paimon_spark.store.evolution.schema_update import SchemaBlock, SchemaUpdate

        return SchemaBlock(SchemaUpdate(), lambda changes: alter(self.reopened(), changes, False, dry_run))

    def set_options(self, options: Mapping[str, str], dry_run: bool = False) -> AlterResult:
        """Sets options of the table; dry_run: as for update_schema.

        Raises:
            OptionError: an option is unknown, or cannot be changed.
        """
        from paimon_spark.store.evolution.alter import alter
        from paimon_spark.store.evolution.schema_update import option_changes

        return alter(self.reopened(), option_changes(options), False, dry_run)

    def unset_options(self, keys: str | list[str], dry_run: bool = False) -> AlterResult:
        """Gives options their defaults again; dry_run: as for update_schema.

        Raises:
            OptionError: an option cannot be changed.
        """
        from paimon_spark.store.evolution.alter import alter
        from paimon_spark.store.evolution.schema_update import unset_changes

        return alter(self.reopened(), unset_changes(keys), False, dry_run)

    def with_options(self, options: Mapping[str, str]) -> WritableTable:
        """This table with further dynamic options, given as for open_table; storage options are ignored.

        With another ``branch`` it is that branch as it is now, with its own columns.
        """
        given = {**self.given, **options}
        branch = next((value for key, value in options.items() if key.lower() == TableSettings.branch.key), self.branch)
        made = super().with_options(options) if branch == self.branch else self.reopened(options)
        return _writable(made, self.place, given)

    def reopened(self, options: Mapping[str, str] = NO_OPTIONS) -> ReadableTable:
        """The table that is there now.

        Args:
            options: on top of those that the caller gave.

        Raises:
            TableNotFound: it was dropped, or renamed.
        """
        return open_data_table(self.place, {**self.given, **options}, time_zone=self.time_zone)

    def _write(
        self, rows: Any, options: Mapping[str, str], overwrite: bool, once: tuple[str, int] | None, skips: bool
    ) -> WriteResult:
        from paimon_spark.writes.options import Once
        from paimon_spark.writes.write_here import write_here

        given = {**self.given, **options}
        return write_here(self.place, rows, given, overwrite, Once.of(once, skips), self.time_zone)

    def _change(self, statement: Statement, once: tuple[str, int] | None, skips: bool) -> RowChange:
        from paimon_spark.row_changes.attempts import RowChange
        from paimon_spark.writes.options import Once

        return RowChange(self.reopened, statement, Once.of(once, skips), name=self.place)

    def _which_rows(self, condition: Any, what: str, all_rows: str) -> Any:
        """The condition of a statement.

        Raises:
            OptionError: the caller gave None or a blank text, which a variable may hold by mistake.
        """
        if condition is None or (isinstance(condition, str) and not condition.strip()):
            found = "the argument 'condition' is None" if condition is None else "the condition is empty"
            raise OptionError(
                f"{what} of {self.place}: {found}, and nothing was changed; give a condition, or {all_rows}",
                arguments=("condition",),
            )
        return condition

    def _run(self, procedure: Procedure[R]) -> R:
        from paimon_spark.procedures.local_engine import LocalEngine
        from paimon_spark.store.compact.local_pool import LocalRunner

        return procedure.run(self.reopened(), LocalEngine(LocalRunner(max_processes=1)))

    def __dir__(self) -> list[str]:
        from paimon_spark.procedures.table_procedures import TableProcedures

        return sorted({*super().__dir__(), *(name for name in vars(TableProcedures) if not name.startswith("_"))})

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """A procedure; they are imported for the first one."""
            if not name.startswith("_"):
                from paimon_spark.procedures.table_procedures import TableProcedures

                found = getattr(TableProcedures, name, None)
                if found is not None:
                    return found.__get__(self)
            return super().__getattr__(name)


def _writable(table: ReadableTable, place: str, given: Mapping[str, str]) -> WritableTable:
    """An open table as one that can be written.

    Args:
        place: where it was opened.
        given: the options of the call.
    """
    of_table = {item.name: getattr(table, item.name) for item in fields(ReadableTable)}
    return WritableTable(**of_table, place=place, given=given)


def _opened(table: OpenTable, place: str, given: Mapping[str, str]) -> OpenTable:
    """As _writable, of a table of any kind; an object table stays as it is."""
    if isinstance(table, ReadableTable):
        return _writable(table, place, given)
    if table.table_kind != TableKind.FORMAT_TABLE:
        return table
    from paimon_spark.tables.format_table import writable_format_table

    return writable_format_table(cast("FormatTable", table), place, given)


def open_table(
    location: str,
    options: Mapping[str, str] | None = None,
    *,
    version: int | str | None = None,
    timestamp: dt.datetime | str | None = None,
    time_zone: TimeZone | None = None,
) -> WritableTable:
    """The table at a location, to be read and written.

    Of an object table, whose rows are the files of its directory, the result has ``scan``, ``schema`` and
    ``open_file``; of a format table what ``WritableFormatTable`` has.

    Args:
        location: the table directory, a local path or a URI; ``<path>$branch_<name>`` opens a branch.
        options: table options for this use only (``scan.snapshot-id``, ...) and storage options (``s3.endpoint``, ...).
        version: reads a snapshot, by its id, or a tag, by its name, instead of the latest state; a number is an id.
        timestamp: reads the state at that time; one without a zone is in ``time_zone``.
        time_zone: the zone for conditions, and for values that go from an instant to a local time or back in a write: a
            tzinfo or a name as in Spark (``Europe/Berlin``, ``+01:00``); None: what depends on the zone is an error.

    Raises:
        TableNotFound: the location has no table; the message says what was found there.
        OptionError: an option or the time zone is unknown, has a bad value or contradicts the table.
        UnsupportedFeature: the table uses a feature this release cannot read.
        SnapshotNotFound: an option names a snapshot, tag, time or branch that does not exist.
    """
    given = {**(options or {}), **state_options(version, timestamp, time_zone, options or ())}
    found = _opened(open_any_table(location, given, time_zone=time_zone), location, given)
    return cast(WritableTable, found)  # which a table of files is for those who read and append


def create_table(
    location: str,
    columns: Columns,
    primary_keys: str | Sequence[str] = (),
    partition_keys: str | Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    ignore_if_exists: bool = False,
) -> WritableTable:
    """Makes a table at a path, and opens it.

    Args:
        location: the table directory, a local path or a URI.
        columns: a schema of pyarrow, or types by the names of columns: ``{"id": "BIGINT NOT NULL", "name": "STRING"}``.
        primary_keys, partition_keys: names of columns, or one text with commas between the names.
        options: of the table (``bucket``, ...), labels of the user, and storage options.
        comment: of the table.
        ignore_if_exists: take the table that is there, whatever its columns.

    Raises:
        TableAlreadyExists: there is a table, and ignore_if_exists is false.
        SchemaError: a column has a type that cannot be stored, or a rule of tables is broken.
        OptionError: an option is misspelt, or has a bad value.
        UnsupportedFeature: this release could not write to such a table.
    """
    from paimon_spark.catalogs import create

    storage, given = split_storage_options(options or {})
    schema = create.new_schema(columns, primary_keys, partition_keys, given, comment)
    create.check_has_snapshots(location, schema)
    create.create_table(location, schema, file_io_for(absolute_location(location), storage), ignore_if_exists)
    return open_table(location, storage)


def open_catalog(options: str | Mapping[str, str], name: str = "paimon") -> Catalog:
    """The catalog of a warehouse, whose tables can be read and written. No table is read, and nothing is created.

    Args:
        options: the options of a Paimon catalog, as Java, Flink and pypaimon take them (``warehouse``, ``metastore``,
            ``table-default.*``, ``s3.*``, ...); a text means the warehouse alone.
        name: the first part of the names of its tables in SQL: letters, digits, ``_`` and ``-``.

    Raises:
        OptionError: an option is unknown or has a bad value, the warehouse is missing, or the name is none.
        UnsupportedFeature: an option asks for what this release does not have, or a package is missing.
    """
    from paimon_spark.catalogs import factory

    return factory.open_catalog(options, name).opening(_opened)
