"""One read of a table: its columns, its condition and its snapshot (Java: ReadBuilder).

A scan is sent to other processes, some of which plan and others read. So the modules for planning and for reading are
imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from paimon_spark.arguments.checks import checks_arguments
from paimon_spark.arrow.predicates.predicate import TRUE, AlwaysFalse, AlwaysTrue, Predicate, and_
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.rules.key_clustering import orders_otherwise
from paimon_spark.format.rules.supported import check_all_columns
from paimon_spark.format.schema import ROW_KIND_FIELD
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.holds.expired import translate_missing_files
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.arrow_rows import ArrowRows, imported
from paimon_spark.store.read.lenient_read import STRICT, tolerance
from paimon_spark.store.read.row_places import check_places, stored_part
from paimon_spark.store.read.splits import ReadUnit, Unit, divided, group_splits
from paimon_spark.store.scan.increments import Difference, Increment, find_increment, reads_increment
from paimon_spark.store.scan.read_spec import Plan, ReadSpec, find_fields
from paimon_spark.store.scan.read_tags import ReadTag, create_read_tag, delete_read_tag
from paimon_spark.store.scan.searches import Searches
from paimon_spark.store.scan.time_travel import Travel, resolve_snapshot
from paimon_spark.store.storage.parallel import map_parallel

if TYPE_CHECKING:
    import duckdb
    import polars

    from paimon_spark.store.pruning.top_n import TopN
    from paimon_spark.store.read.branched_reader import BranchedReader
    from paimon_spark.store.read.metadata_aggregates import MetadataAggregates
    from paimon_spark.store.read.split_reader import SplitReader
    from paimon_spark.store.scan.dataset import ScanDataset, ScanFragment
    from paimon_spark.store.scan.row_limits import LimitedReader, RowLimits
    from paimon_spark.store.scan.scan_explanation import ScanExplanation
    from paimon_spark.store.search.searched_rows import SearchedRows

READ_THREADS = 4
_PIECES = 4 * READ_THREADS  # so that no thread waits long for the last one


class BranchReads(Protocol):
    """The read of two branches as one; the methods are as those of Scan."""

    def plan(self) -> Plan: ...

    def plan_with_read_tags(self) -> tuple[Plan, tuple[ReadTag, ...]]: ...

    def reader(self) -> BranchedReader: ...

    def explain(self) -> ScanExplanation | None: ...


class OtherBranch(Protocol):
    """Another branch of a table, whose partitions are read as well: see branched_scan."""

    @property
    def table(self) -> Table:
        """The table as that branch has it."""
        ...

    def read_with(self, scan: Scan) -> BranchReads:
        """The read of both branches.

        Args:
            scan: what is wanted, and of which own branch.
        """
        ...


@checks_arguments
@dataclass(frozen=True, repr=False)
class Scan(ArrowRows, Searches):
    """Chosen columns of the rows that satisfy a predicate; picklable. Every plan() looks for the newest state.

    Attributes:
        table: what is read, with the options of the read.
        spec: what is wanted of it.
        second: a branch that is read as one with that of the table; None: the branch of the table alone.
        state: what its plans are of; None: what the options choose when they are made.
        limits: what a server lets the user read of it, which every result keeps to; None: all.
    """

    table: Table
    spec: ReadSpec
    second: OtherBranch | None = None
    state: Travel | None = None
    limits: RowLimits | None = None

    def __repr__(self) -> str:
        where = "" if isinstance(self.predicate, AlwaysTrue) else ", with a condition"
        return f"<Scan of {self.table.location}: {', '.join(field.name for field in self.fields)}{where}>"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns of the result, in order. ROW_KIND_FIELD among them keeps rows that retract."""
        return self.spec.fields

    @property
    def predicate(self) -> Predicate:
        """Over the columns of the table, and its metadata columns; rows for which it is not true are left out."""
        return self.spec.predicate

    @cached_property
    def arrow_schema(self) -> pa.Schema:
        """The exact schema of every batch."""
        return arrow_schema(self.fields)

    def plan(self) -> Plan:
        """The snapshot that the options choose, and the splits that hold its rows.

        Raises:
            SnapshotNotFound: an option names a snapshot, tag or time that does not exist, or it expires concurrently.
            CorruptFile: metadata is missing or damaged.
            UnsupportedFeature: a change is to be read through two branches.
        """
        if self.limits is not None:
            return self._stored.plan()
        if self.second is not None:
            return self.second.read_with(self).plan()
        with self.table.still_there() as begin_check:
            chosen = self._chosen()
            begin_check()
            return self._plan(chosen)

    def plan_at(self, snapshot: Snapshot) -> Plan:
        """The splits that hold the rows of a snapshot, regardless of the options that choose one.

        Raises:
            CorruptFile: metadata is missing or damaged.
        """
        return self._stored._plan(Travel(snapshot))

    @cached_property
    def _stored(self) -> Scan:
        """The read of the rows as they are stored, from which the limits make those of the result."""
        if self.limits is None:
            return self
        from paimon_spark.store.scan.row_limits import stored_scan

        return stored_scan(self, self.limits)

    def plan_with_read_tags(self) -> tuple[Plan, tuple[ReadTag, ...]]:
        """The plan, and tags that keep its snapshots for the read that follows, if the options ask for them.

        Returns:
            The plan, and the tags. They expire when their time is up; read_tags.delete_read_tag deletes them sooner.

        Raises:
            SnapshotNotFound: an option names a snapshot, tag or time that does not exist, or it expires concurrently.
            CorruptFile: metadata is missing or damaged.
        """
        if self.limits is not None:
            return self._stored.plan_with_read_tags()
        if self.second is not None:
            return self.second.read_with(self).plan_with_read_tags()
        millis, tags = self.table.settings.scan.read_tag_time_retained, list[ReadTag]()
        if millis is None:
            return self.plan(), ()
        try:
            with self.table.still_there():
                chosen = self._chosen()
                for snapshot in self._to_keep(chosen):
                    tag = create_read_tag(self.table.snapshots, snapshot, millis, self.table.settings)
                    tags += [] if tag is None else [tag]
                return self._plan(chosen), tuple(tags)
        except BaseException:
            delete_read_tags(self.table, tags)
            raise

    @contextmanager
    def planned_with_read_tags(self) -> Iterator[Plan]:
        """Gives the plan to a ``with`` block, and deletes its tags at the end of the block. See plan for errors."""
        plan, tags = self.plan_with_read_tags()
        try:
            yield plan
        finally:
            delete_read_tags(self.table, tags)

    def tasks(self) -> list[tuple[ReadUnit, ...]]:
        """The splits of the plan in groups of about `source.split.target-size`, one group for each task.

        The end of the tasks is not known here, so the tags of the read live until they expire. See plan for errors.
        """
        return self.tasks_of(self.plan_with_read_tags()[0].splits)

    def tasks_of(self, splits: Sequence[Unit]) -> list[tuple[Unit, ...]]:
        """Splits of a plan in groups of about `source.split.target-size`, one group for each task."""
        settings = self.table.settings
        target, cost = settings.scan.split_target_size, settings.scan.open_file_cost
        return group_splits(splits, target, cost)

    def fragments(self) -> list[ScanFragment]:
        """The tasks of the read as values with ``to_arrow`` and ``to_batches``, for processes of other machines too.

        All are of one state, the newest one of now. Their rows are those of the scan. See plan for errors.
        """
        from paimon_spark.store.scan.dataset import ScanFragment

        scan = self._asked_anew
        return [ScanFragment(scan, units) for units in scan.tasks()]

    def reader(self) -> SplitReader | BranchedReader | LimitedReader:
        """Reads the splits of a plan, here or on another machine."""
        if self.limits is not None:
            from paimon_spark.store.scan.row_limits import limited_reader

            return limited_reader(self, self.limits)
        if self.second is not None:
            return self.second.read_with(self).reader()
        return self.split_reader()

    def explain(self) -> ScanExplanation | None:
        """What partitions, buckets, statistics and file indexes leave of the state that is read; None: there is none.

        With a condition the footers of the files that are left are read too, for their row groups and pages.

        Raises:
            UnsupportedFeature: the scan reads a change, or two branches as one.
            SnapshotNotFound: an option names a snapshot, tag or time that does not exist, or it expires concurrently.
            CorruptFile: metadata is missing or damaged.
        """
        if self.limits is not None and not self.limits.is_open:
            raise UnsupportedFeature(
                f"explaining a read of {self.table.location}: the server of its catalog filters rows or masks columns "
                "for this user, and an explanation would tell of others"
            )
        if self.second is not None:
            return self.second.read_with(self).explain()
        with self.table.still_there():
            return self._explain(self._chosen())

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, split by split, as batches of arrow_schema; memory stays bounded."""
        scan = self._asked_anew
        reader = scan.reader()
        with scan.planned_with_read_tags() as plan:
            for split in plan.splits:
                yield from reader.read(split)

    def to_arrow(self, threads: int = READ_THREADS) -> pa.Table:
        """All rows at once.

        Args:
            threads: how many read files; the order of the rows is the same with any number.

        Raises:
            OptionError: there is no thread.
        """
        if threads < 1:
            raise OptionError(f"to_arrow(threads={threads}): give 1 or more", arguments=("threads",))
        scan = self._asked_anew
        reader = scan.reader()
        with scan.planned_with_read_tags() as plan:
            parts = map_parallel(lambda split: list(reader.read(split)), divided(plan.splits, _PIECES), threads)
        batches = [batch for part in parts for batch in part]
        if not self.fields:
            return _rows_without_columns(sum(batch.num_rows for batch in batches))
        return pa.Table.from_batches(batches, self.arrow_schema)

    def to_dataset(self) -> ScanDataset:
        """The scan as a dataset of pyarrow: DuckDB, DataFusion and pyarrow push their columns and conditions into it.

        ``orders = table.scan().to_dataset()``, then ``duckdb.sql("SELECT id FROM orders WHERE total > 10")``. Nothing
        is read yet; each use reads the newest state.
        """
        from paimon_spark.store.scan.dataset import ScanDataset

        return ScanDataset(self)

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyRelation:
        """The scan as a relation of DuckDB, which pushes its columns and conditions into it. Nothing is read yet.

        Args:
            connection: of DuckDB; None: its default one.

        Raises:
            UnsupportedFeature: DuckDB is not installed.
            OptionError: the connection is none of DuckDB.
        """
        library = imported("duckdb", "to_duckdb()", "DuckDB")
        if connection is not None and not isinstance(connection, library.DuckDBPyConnection):
            found = f"the connection is {type(connection).__name__}"
            raise OptionError(f"to_duckdb: {found}: expected one of duckdb.connect()", arguments=("connection",))
        relation: duckdb.DuckDBPyRelation = (library if connection is None else connection).from_arrow(
            self.to_dataset()
        )
        return relation

    def to_polars_lazy(self) -> polars.LazyFrame:
        """The scan as a LazyFrame of Polars, which pushes its columns, conditions and limits into it.

        Nothing is read yet; each ``collect`` reads the newest state, batch by batch.

        Raises:
            UnsupportedFeature: Polars is not installed.
        """
        from paimon_spark.store.scan.polars_frame import lazy_frame

        return lazy_frame(self)

    def narrowed(self, names: Container[str] | None = None, predicate: Predicate = TRUE) -> Scan:
        """The same read of some of its columns, and of the rows that satisfy a further condition too.

        Args:
            names: of columns of the result, exactly; None: all.
            predicate: over the columns of the table.
        """
        fields = self.fields if names is None else tuple(field for field in self.fields if field.name in names)
        return self._wanting(fields=fields, predicate=and_(self.predicate, predicate))

    def count(self) -> int:
        """The number of rows.

        Metadata tell the rows of files that need no merge, if the condition is on partition columns alone and it is
        recorded how many rows are deleted; only the other files are read. ``explain`` tells which.
        """
        scan = self._asked_anew
        reader = scan._wanting(fields=tuple(f for f in self.fields if f == ROW_KIND_FIELD)).reader()
        with scan.planned_with_read_tags() as plan:
            known = scan._totals(plan, ())
            counts = map_parallel(lambda unit: [b.num_rows for b in reader.read(unit)], known.rest, READ_THREADS)
        read: int = sum(map(sum, counts))
        return known.rows + read

    def min(self, column: str) -> Any:
        """The least value of a column that is not NULL, as Python value; None: there is none.

        Statistics of files tell it where they are exact: of integers, booleans, dates, short decimals and times of
        parquet files, and of all partition columns; not of texts and floats, nor of files with deleted rows. The other
        files are read. NaN is the greatest value, as in Spark.

        Args:
            column: its name in any letter case.

        Raises:
            OptionError: there is no such column.
            UnsupportedFeature: the values of its type have no order.
        """
        return self._bounds(column)[0]

    def max(self, column: str) -> Any:
        """The greatest value of a column, as ``min``."""
        return self._bounds(column)[1]

    def with_top_n(self, first: TopN) -> Scan:
        """The same read, of which only the rows are wanted that come first in an order.

        Files and rows that surely do not come first may be left out of its plans; others may be in them. Who reads
        them sorts them: see ``top``.

        Raises:
            OptionError: there is no such column.
        """
        (field,) = find_fields(self.table.schema, (first.column,))
        return self._wanting(first=replace(first, column=field.name))

    def top(self, column: str, count: int, descending: bool = False, nulls_first: bool | None = None) -> pa.Table:
        """The rows that come first in the order of a column, sorted, as ``ORDER BY column LIMIT count`` in Spark.

        Files and rows that surely do not come first are not read, as far as statistics and ``range-bitmap`` indexes
        tell. At most ``count`` rows, and the batch that is read, are held.

        Args:
            column: a column of the result, in any letter case.
            count: how many rows, at least 0. Of rows with equal values any may be the last ones.
            descending: whether the greatest values come first. NaN is the greatest.
            nulls_first: whether NULL comes before all values; None: as Spark, if values ascend.

        Raises:
            OptionError: the result has no such column, or count is less than 0.
            UnsupportedFeature: the values of its type have no order.
        """
        from paimon_spark.store.scan.top_n_read import sort_first, wanted_rows

        first = wanted_rows(self.table.location, self.table.schema, self.fields, column, count, descending, nulls_first)
        return sort_first(self.with_top_n(first).to_batches() if count else (), self.arrow_schema, first)

    def _with_column(self, field: DataField) -> Scan:
        return self if field in self.fields else self._wanting(fields=(*self.fields, field))

    def _read_tables(self) -> Iterator[Table]:
        yield self.table
        if self.second is not None:
            yield self.second.table

    @contextmanager
    def _searched_rows(self) -> Iterator[SearchedRows | None]:
        table = self.table
        is_whole = self.second is None and self.limits is None and table.settings.data_evolution_enabled
        if not is_whole or (self.state is None and reads_increment(table.settings)):
            yield None
            return
        from paimon_spark.store.search.searched_rows import SearchedRows

        with self.planned_with_read_tags() as plan:
            if plan.snapshot is None:
                yield None
                return

            def read(fields: tuple[DataField, ...]) -> Callable[[ReadUnit], Iterator[pa.RecordBatch]]:
                return self._wanting(fields=fields).reader().read

            with translate_missing_files(table, plan.snapshot.id):
                yield SearchedRows(table, self.predicate, plan.snapshot, plan.splits, read)

    def metadata_aggregates(self, columns: Sequence[str] = ()) -> MetadataAggregates:
        """What metadata alone tell of the number of rows and of the bounds of columns, and what must be read for more.

        Args:
            columns: names of the columns.

        Raises:
            OptionError: there is no such column.
            SnapshotNotFound, CorruptFile: as of ``plan``.
        """
        fields = find_fields(self.table.schema, columns)
        return self._totals(self._wanting(with_statistics=bool(fields)).plan(), fields)

    def _bounds(self, column: str) -> tuple[Any, Any]:
        from paimon_spark.store.read.read_bounds import check_ordered, read_bounds

        (field,) = find_fields(self.table.schema, (column,))
        check_ordered(self.table.location, self.table.schema, field)
        scan = self._wanting(fields=(field,), with_statistics=True)._asked_anew
        reader = scan.reader()
        with scan.planned_with_read_tags() as plan:
            known = scan._totals(plan, (field,))
            return read_bounds(known, field, reader.read)

    def _wanting(self, **changes: Any) -> Scan:
        """The same read of something else; the arguments are attributes of ReadSpec."""
        made = replace(self, spec=replace(self.spec, **changes))
        if self.limits is None:
            return made
        from paimon_spark.store.scan.row_limits import with_limits

        return with_limits(made, self.limits)

    @property
    def _asked_anew(self) -> Scan:
        """The same read with what the server lets the user read now: it may be used again long after it was made."""
        if self.limits is None:
            return self
        from paimon_spark.store.scan.row_limits import with_limits

        return with_limits(self)

    def _explain(self, chosen: Travel | Increment | Difference) -> ScanExplanation | None:
        if not isinstance(chosen, Travel):
            raise UnsupportedFeature(
                f"explaining a read of {self.table.location}: its options ask for a change, and only reads of a state "
                "are explained; leave the options incremental-* out"
            )
        if chosen.snapshot is None:
            return None
        from paimon_spark.store.scan.scan_explanation import explain_state

        with translate_missing_files(self.table, chosen.snapshot.id):
            spec, files = self._plan_spec(chosen.created_since), self.split_reader().wanted_files
            return explain_state(self.table, spec, chosen.snapshot, files, lambda plan: self._totals(plan, ()))

    def split_reader(self) -> SplitReader:
        """Reads the splits of the branch of the table, without a look at limits.

        Raises:
            UnsupportedFeature: the server lets the user read a part of the rows or values.
        """
        if self.limits is not None and not self.limits.is_open:
            raise self.limits.refused("reading its files one by one")
        from paimon_spark.store.read.split_reader import SplitReader

        allowed = tolerance(self.table.settings)
        return SplitReader(
            self.table, self.fields, self.predicate, allowed, leading=self.leading, parts=self.spec.parts
        )

    @property
    def leading(self) -> int | None:
        """How many rows of a split are wanted, if these are the first ones by the key; None: all."""
        first = self.spec.first
        if first is None or first.descending or orders_otherwise(self.table.settings):
            return None
        from paimon_spark.store.pruning.top_n import may_leave_out

        keys = self.table.schema.trimmed_primary_keys
        is_sorted = keys[:1] == (first.column,) and (not first.with_ties or len(keys) == 1)
        return first.count if is_sorted and may_leave_out(first, self.table, self.predicate) else None

    def state_now(self) -> Travel:
        """The state that the options choose now, if they ask for no change.

        Raises:
            SnapshotNotFound: an option names a snapshot, tag or time that does not exist.
            TableNotFound, TableChanged: the table is not there any more.
        """
        with self.table.still_there():
            return resolve_snapshot(self.table.settings, self.table.snapshots)

    def _chosen(self) -> Travel | Increment | Difference:
        if self.state is not None:
            return self.state
        if reads_increment(self.table.settings):
            return find_increment(self.table.settings, self.table.snapshots) or Travel(None)
        return resolve_snapshot(self.table.settings, self.table.snapshots)

    def _to_keep(self, chosen: Travel | Increment | Difference) -> tuple[Snapshot, ...]:
        """The snapshots to tag: states. For an increment it is the last commit, as in Java, unless it has expired."""
        if isinstance(self.predicate, AlwaysFalse):
            return ()
        states = _states(chosen)
        if isinstance(chosen, Increment):
            return tuple(s for s in states[-1:] if self.table.snapshots.exists(s.id))
        return states

    def _plan(self, chosen: Travel | Increment | Difference) -> Plan:
        plan = self._planned(chosen)
        check_places(self.table, self.fields, self.predicate, plan.splits)
        return plan

    def _planned(self, chosen: Travel | Increment | Difference) -> Plan:
        states = _states(chosen)
        if not states or isinstance(self.predicate, AlwaysFalse):
            return Plan(states[-1] if states else None, ())
        with translate_missing_files(self.table, *(state.id for state in states)):
            if isinstance(chosen, Travel):
                from paimon_spark.store.scan.split_plan import plan_state

                return plan_state(self.table, self._plan_spec(chosen.created_since), states[-1])
            if isinstance(chosen, Difference):
                self._check_all_columns()
            from paimon_spark.store.scan.change_plan import plan_change

            return Plan(states[-1], plan_change(self.table, self._plan_spec(), chosen))

    def _check_all_columns(self) -> None:
        """Checks that all columns can be read, because two states are compared in all columns."""
        try:
            check_all_columns(self.table.schema)
        except UnsupportedFeature as error:
            raise UnsupportedFeature(
                f"comparing two states of {self.table.location}, in all columns: {error}, or read what the commits "
                f"wrote, with '{ScanSettings.incremental_between_scan_mode.key}' = 'delta'"
            ) from None

    def _plan_spec(self, created_since: int | None = None) -> ReadSpec:
        """What the plan looks at: it knows no metadata columns, so it cannot tell which rows come first behind them."""
        stored = stored_part(self.table, self.predicate)
        first = self.spec.first if stored is self.predicate else None
        return replace(self.spec, predicate=stored, first=first, created_since=created_since)

    def _totals(self, plan: Plan, columns: Sequence[DataField]) -> MetadataAggregates:
        from paimon_spark.store.read.metadata_aggregates import metadata_aggregates

        tables = (self.table,) if self.second is None else (self.table, self.second.table)
        is_strict = all(tolerance(table.settings) == STRICT for table in tables)
        refusal = None if is_strict else "the read passes over lost or damaged files"
        if self.limits is not None and not self.limits.is_open:
            refusal = "the server of the catalog filters rows or masks columns"
        return metadata_aggregates(self.table, self.predicate, plan.snapshot, plan.splits, columns, refusal)


def delete_read_tags(table: Table, tags: Iterable[ReadTag]) -> None:
    """Deletes the tags of a read, whichever branches they are in."""
    for tag in tags:
        delete_read_tag(SnapshotStore(table.file_io, table.location, tag.branch), tag)


def _states(chosen: Travel | Increment | Difference) -> tuple[Snapshot, ...]:
    """The snapshots that a read needs, oldest first."""
    match chosen:
        case Travel():
            return () if chosen.snapshot is None else (chosen.snapshot,)
        case Increment():
            return chosen.snapshots
        case Difference():
            return (chosen.after,) if chosen.before is None else (chosen.before, chosen.after)


def _rows_without_columns(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)}).select([])
