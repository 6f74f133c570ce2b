"""The result of a change of rows, and what its writer has made before the commit."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.reporting.result import Result
from paimon_spark.writes.write_job import WriteJob


@dataclass(frozen=True, repr=False)
class RowChangeResult(Result):
    """What a DELETE, UPDATE or MERGE did.

    Attributes:
        rows_updated, rows_deleted, rows_inserted: rows that changed, as a reader sees them.
        counts_exact: False: of a DELETE by metadata, rows_deleted is the number of rows in the files, before equal keys
            are merged and with those that deletion vectors hide; of a MERGE that has not read the table, rows_inserted
            is the number of rows that are updated or inserted.
        files_read: data files that were looked at to find the rows, after pruning.
        files_rewritten: data files that were replaced or removed.
        files_added: new data files; bytes: their size.
        find_millis, write_millis, commit_millis: the time to find the rows, to write files (for tables with keys both
            are one job, counted as writing) and to commit, of the last attempt.
        millis: wall time of the call.
        attempts: how often it ran, because other jobs changed the same rows concurrently.
        snapshot_id: the snapshot it made; None: no row was to be changed.
        repeated: True: the statement had been done already, under the same name and number; nothing was done.
    """

    rows_updated: int = 0
    rows_deleted: int = 0
    rows_inserted: int = 0
    counts_exact: bool = True
    files_read: int = 0
    files_rewritten: int = 0
    files_added: int = 0
    bytes: int = 0
    find_millis: int = 0
    write_millis: int = 0
    commit_millis: int = 0
    millis: int = 0
    attempts: int = 1
    snapshot_id: int | None = None
    repeated: bool = False

    @property
    def rows_matched(self) -> int:
        """Rows of the table that were changed: updated or deleted."""
        return self.rows_updated + self.rows_deleted


@dataclass(frozen=True)
class Outcome:
    """Files that are written, and counts.

    Attributes:
        job: the write; its user commits.
        messages: what is to be committed.
        updated, deleted, inserted: rows that change.
        files_read: data files that were looked at.
        find_millis: the time to find the rows, where that was a job of its own.
        counts_exact: as of RowChangeResult.
    """

    job: WriteJob
    messages: tuple[CommitMessage, ...]
    updated: int
    deleted: int
    inserted: int
    files_read: int
    find_millis: int = 0
    counts_exact: bool = True
