"""One write job, whichever road its rows take: opened on the driver (open_write), written in tasks (task_rows),
committed once (commit_write).

A job is frozen and picklable; its commit user is drawn when it is opened, so that a commit tried twice is made once.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paimon_spark.errors import StorageError
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.snapshot import BATCH_COMMIT_IDENTIFIER
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.reporting.result import Result
from paimon_spark.store.write.write_plan import WritePlan

if TYPE_CHECKING:
    from paimon_spark.store.commit.table_commit import Replaced
    from paimon_spark.store.compact.compaction import CompactResult
    from paimon_spark.store.stream_sink.batch import Batch


@dataclass(frozen=True)
class Evolution:
    """The schema of a job's table is a new one, to be published with the rows.

    Attributes:
        before: the schema that the job found.
        empties: no row that is there has the new columns: they go first.
    """

    before: TableSchema
    empties: bool = False


@dataclass(frozen=True)
class WriteJob:
    """What the tasks and the commit need to know.

    Attributes:
        table: with the options of this write.
        commit_user: names the job in snapshots.
        plan: what was there when the user was drawn.
        overwrites: whether rows are replaced in the same snapshot.
        replaced: which, as for TableCommit.overwrite.
        row_kind_column: the column of the rows that holds their kind and is not stored.
        omissible: the columns of the table that the rows may lack.
        completes: fields of structs that the rows lack are NULL, and texts are cast to their columns.
        evolution: the schema of the table is not published yet; None: it is.
        batch: the name and number under which it happens once, its user is commit_user; None: it has none.
        watermark: of its snapshot, in epoch milliseconds; None: that of the one before.
    """

    table: Table
    commit_user: str
    plan: WritePlan
    overwrites: bool = False
    replaced: Replaced = None
    row_kind_column: str | None = None
    omissible: frozenset[str] = frozenset()
    completes: bool = False
    evolution: Evolution | None = None
    batch: Batch | None = None
    watermark: int | None = None

    @property
    def identifier(self) -> int:
        """The commit identifier."""
        return BATCH_COMMIT_IDENTIFIER if self.batch is None else self.batch.number


@dataclass(frozen=True, repr=False)
class WriteResult(Result):
    """What a write did.

    Attributes:
        rows: rows in the new files, deletions among them; equal keys of a task are one row.
        files: new data files.
        bytes: their size.
        millis: wall time, from the call to the commit.
        snapshot_id: the snapshot it made; None when there was nothing to commit.
        compaction: of the buckets it wrote to; None when the table is not compacted by its writers.
        repeated: True: the table had these rows already, by an earlier write of the same name and number; nothing was
            done.
    """

    rows: int
    files: int
    bytes: int
    millis: int
    snapshot_id: int | None
    compaction: CompactResult | None = None
    repeated: bool = False


@contextmanager
def nothing_committed() -> Iterator[None]:
    """For the work of a job up to its commit, which fails for certain or with CommitStateUnknown."""
    try:
        yield
    except StorageError as error:
        raise StorageError(f"{error}. Nothing was committed: remove the cause and run the job again") from error
