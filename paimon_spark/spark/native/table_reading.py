"""What is asked of a native read, and the read once it is opened: the table, its options, the explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from paimon_spark.format.schema import ROW_KIND_FIELD
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.options import ReadOptions
from paimon_spark.spark.adapters.readable_columns import find_column
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import other_branch
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.lenient_read import STRICT, tolerance
from paimon_spark.store.scan.increments import reads_increment
from paimon_spark.store.scan.split_plan import merges_postponed
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.writes.options import FILTER, PUSH_FILTERS, TIME_ZONE

if TYPE_CHECKING:
    from paimon_spark.format.snapshot import Snapshot
    from paimon_spark.spark.adapters.readable_columns import Readable
    from paimon_spark.spark.native.asked_partials import AskedPartials
    from paimon_spark.store.pruning.top_n import TopN
    from paimon_spark.store.scan.time_travel import Travel


@dataclass(frozen=True)
class Reading:
    """A read whose table is open.

    Attributes:
        request: what is asked for.
        table: what is read: a table or a system table.
        options: of the request, with its columns and its condition.
        shown: the schema of the DataFrame; every column may be NULL, as Spark says of the columns of all its files.
        is_count: True if no columns are wanted; shown then has the one that is read fastest.
    """

    request: ReadRequest
    table: Readable
    options: ReadOptions
    shown: st.StructType
    is_count: bool

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns that are read, as the table has them."""
        return tuple(find_column(self.table, field.name) for field in self.shown.fields)

    def scan(self, table: ReadableTable) -> Scan:
        """The read of the table of this read by our own engine."""
        scan = replace(table.scan(self.shown.names, self.options.where), state=self.request.state)
        return scan if self.request.first is None else scan.with_top_n(self.request.first)

    def explanation(self) -> ReadExplanation:
        """What is known of the read before it is planned."""
        return ReadExplanation(
            location=self.table.location,
            snapshot=None,
            native_files=0,
            merged_splits=0,
            merged_files=0,
            columns=() if self.is_count else tuple(self.shown.names),
            where=self.options.where,
            local_rows=False,
            reasons=(),
        )

    def source_options(self) -> dict[str, str]:
        """The options with which our data source does the same read, but for the columns."""
        found = {**self.options.table}
        if self.options.where is not None:
            found[FILTER] = self.options.where
        if self.options.time_zone is not None:
            found[TIME_ZONE] = self.options.time_zone
        if self.options.push_filters:
            found[PUSH_FILTERS] = "true"
        return found


def whole_read_reason(reading: Reading) -> str | None:
    """Why the read cannot be divided into a native part and a rest, in words; None: it can."""
    table, options = reading.table, reading.options
    if not isinstance(table, ReadableTable):
        return "it is a system table"
    if options.row_kinds or ROW_KIND_FIELD.name in set(reading.shown.names) - set(table.schema.names):
        return "row kinds were asked for"
    if options.push_filters:
        return f"'{PUSH_FILTERS}' lets Spark push filters into the Python source"
    return undivided_reason(table)


def undivided_reason(table: Table) -> str | None:
    """Why a read of a table cannot be divided, whatever is asked of it, in words; None: it can."""
    if reads_increment(table.settings):
        return "it is a read of a change"
    if other_branch(table.settings, table.branch) is not None:
        return "it reads several branches as one"
    if tolerance(table.settings) != STRICT:
        return "it passes over lost or damaged files"
    if table.auth is not None:
        return "the server of its catalog may filter rows and mask columns"
    if merges_postponed(table.settings):
        return "it merges postponed rows"
    return None


@dataclass(frozen=True)
class ReadRequest:
    """A read that is asked for; equal ones give equal rows of one state.

    Attributes:
        path: of a table, a branch or a system table.
        options: of the read and of the storage, as for ``spark.read.format("paimon")``.
        columns: names of the columns in order; None: all; an empty tuple: none, for counting rows.
        where: a condition in SQL; None: no condition.
        native: None: Spark reads itself what it can; True: it must read all files, or the read is refused; False: it
            reads none. None leaves the choice to the option `read.native`, then to the session's
            `spark.paimon.read.native`.
        opened: what is at the path with these options, if the caller has opened it; None: it is opened.
        first: only these rows are wanted, of which the DataFrame has all, and others; None: all rows.
        refusal: why the rows must not be read; "": they may.
        state: which one is read, where the caller has opened the table; None: the one that the options choose.
        partials: may stand in the place of the rows, if the explanation says so; None: they may not.
    """

    path: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    columns: tuple[str, ...] | None = None
    where: str | None = None
    native: bool | None = None
    opened: Readable | None = field(default=None, compare=False, repr=False)
    first: TopN | None = None
    refusal: str = field(default="", compare=False, repr=False)
    state: Travel | None = field(default=None, compare=False, repr=False)
    partials: AskedPartials | None = None

    @property
    def hidden(self) -> tuple[str, ...]:
        """The metadata columns among the columns, where the caller has opened the table."""
        known = () if self.opened is None else [field.name for field in self.opened.hidden_fields]
        return tuple(name for name in self.columns or () if name in known)


@dataclass(frozen=True)
class ReadExplanation:
    """How a DataFrame reads its table.

    Attributes:
        location: of the table.
        snapshot: the state that the DataFrame shows; None: the table has none, or the first query chooses it. Its id
            alone does not tell it from the one of a table that was made anew, or of a commit after a rollback.
        native_files: how many files Spark reads itself.
        merged_splits: how many splits our reader reads, in tasks.
        merged_files: how many files these have.
        columns: the columns of the DataFrame.
        where: the condition, as given.
        local_rows: True if the rows were read when the DataFrame was made.
        reasons: why files are not read by Spark itself, with their number; most files first.
        skipped_by_index: how many files are not read because of their indexes; partitions, buckets and statistics had
            left them.
        skipped_by_order: how many files are not read because none of their rows is wanted.
        from_metadata: how many files there are whose numbers of rows and ends of columns are the rows of the DataFrame;
            None: it has the rows of the table.
        in_part: True if the DataFrame has the partial aggregates of the request, and no rows.
        needs_rows: why metadata do not answer a query that needs no rows; none: they do, or the query needs rows.
    """

    location: str
    snapshot: Snapshot | None
    native_files: int
    merged_splits: int
    merged_files: int
    columns: tuple[str, ...]
    where: str | None
    local_rows: bool
    reasons: tuple[str, ...]
    skipped_by_index: int = 0
    skipped_by_order: int = 0
    from_metadata: int | None = None
    in_part: bool = False
    needs_rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFrame:
    """A DataFrame of a table, and how it reads it."""

    frame: DataFrame
    explanation: ReadExplanation
