"""The commit of a write: what the tasks wrote becomes a snapshot, or is deleted."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from paimon_spark.errors import (
    CommitConflict,
    DataError,
    RetriesExhausted,
    StorageError,
    StrictModeConflict,
    TableNotFound,
)
from paimon_spark.store.commit.table_commit import CommitResult, TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import BucketMode
from paimon_spark.writes.write_job import WriteJob, nothing_committed

if TYPE_CHECKING:
    from paimon_spark.store.commit.row_conflicts import ReadState

_log = logging.getLogger(__name__)
_FAILED = (CommitConflict, StrictModeConflict, RetriesExhausted, DataError, StorageError, TableNotFound)
"""A commit that certainly was not made."""


def place_job(job: WriteJob, messages: Sequence[CommitMessage]) -> Sequence[CommitMessage]:
    """What is to be committed, after what the tasks have staged has moved into buckets, in this process.

    Raises:
        Any error of place_staged; the files of all messages are deleted.
    """
    if job.table.bucket_mode is not BucketMode.POSTPONE_MODE:
        return messages
    from paimon_spark.store.rescale.postpone_placement import place_staged

    with nothing_committed():
        try:
            return place_staged(job.table, job.commit_user, job.plan, messages)
        except BaseException:
            abort_job(job, messages)
            raise


def commit_job(job: WriteJob, messages: Sequence[CommitMessage]) -> CommitResult | None:
    """Commits what the tasks wrote; None when there is nothing to commit.

    Raises:
        CommitConflict, RetriesExhausted, DataError, StorageError: nothing was committed, and the files are deleted
            again.
        CommitStateUnknown: nothing is deleted.
    """
    publish_schema_of(job, messages)
    try:
        return commit_rows(job, messages)
    except _FAILED as error:
        if job.evolution is None:
            raise
        from paimon_spark.writes.evolved_table import with_schema_note

        raise with_schema_note(job, error) from error


def commit_rows(
    job: WriteJob, messages: Sequence[CommitMessage], operation: str = "WRITE", read: ReadState | None = None
) -> CommitResult | None:
    """As commit_job, for a job whose schema is there.

    Args:
        operation: what the user did, for people who read the snapshot.
        read: the state that a change of rows was computed from; None: the rows depend on no state.
    """
    commit = TableCommit(job.table, job.commit_user, job.plan.since, job.plan.base)
    with nothing_committed():
        try:
            if job.overwrites:
                return commit.overwrite(messages, job.replaced, job.identifier, job.watermark)
            properties = None if job.batch is None else job.batch.properties
            return commit.append(messages, job.identifier, job.watermark, properties, operation=operation, read=read)
        except _FAILED:
            _abort(job, commit, messages)
            raise


def publish_schema_of(job: WriteJob, messages: Sequence[CommitMessage]) -> None:
    """Publishes the schema of a job that makes one, before its rows, so that no reader finds files without a schema.

    Raises:
        CommitConflict: another job has changed the schema concurrently; nothing was published, the files are deleted.
        StorageError: the storage failed; the files are deleted.
    """
    if job.evolution is None:
        return
    from paimon_spark.writes.evolved_table import publish_job_schema

    with nothing_committed():
        try:
            publish_job_schema(job)
        except (CommitConflict, StorageError, TableNotFound):
            abort_job(job, messages)
            raise


def abort_job(job: WriteJob, messages: Sequence[CommitMessage]) -> None:
    """Deletes the files of a job that did not come to its commit."""
    _abort(job, TableCommit(job.table, job.commit_user, job.plan.since, job.plan.base), messages)


def _abort(job: WriteJob, commit: TableCommit, messages: Sequence[CommitMessage]) -> None:
    """Looks first whether the table has this commit after all. If the storage does not tell, the files stay."""
    try:
        commit.abort(messages, job.identifier)
    except StorageError as error:
        _log.warning("the files of a failed job are left behind, which no snapshot names: %s", error)
