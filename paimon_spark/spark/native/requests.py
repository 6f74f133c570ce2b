"""What is asked of a native read, and the explanation of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from paimon_spark.format.snapshot import Snapshot
    from paimon_spark.spark.adapters.readable_columns import Readable
    from paimon_spark.store.pruning.top_n import TopN


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
    """

    path: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    columns: tuple[str, ...] | None = None
    where: str | None = None
    native: bool | None = None
    opened: Readable | None = field(default=None, compare=False, repr=False)
    first: TopN | None = None
    refusal: str = field(default="", compare=False, repr=False)

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
        merged_splits: how many splits our data source reads.
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
    needs_rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableFrame:
    """A DataFrame of a table, and how it reads it."""

    frame: DataFrame
    explanation: ReadExplanation
