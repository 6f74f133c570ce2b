"""What a writer of changes has made, before it is committed."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.spark.write.write_job import WriteJob
from paimon_spark.store.metadata.messages import CommitMessage


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
