"""Maintenance after a commit, which keeps a table small (Java: TableCommitImpl.maintain).

The order is that of Java 2.0.0: tags are created before their snapshots could expire; partitions expire before the
snapshots that hold their files, and consumers before the snapshots that they hold; snapshots, which take longest, are
last.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from paimon_spark.errors import PaimonError, words_of
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.auto_tags import create_batch_tag, create_due_tags, expire_tags_by_options
from paimon_spark.store.history.consumers import expire_consumers
from paimon_spark.store.holds.retention import retention_rules
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.stream_notes.notes import expire_stream_notes

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Step:
    """One step; what is its name in the log, and run checks the options of the table whether it is due."""

    what: str
    run: Callable[[Table], object]


def expire_by_options(table: Table) -> None:
    """Expires snapshots and long-lived changelogs by the options of the table.

    Raises:
        OptionError: the options contradict each other.
        CorruptFile: metadata of the table are damaged; nothing was deleted.
        StorageError: the storage failed; the next expiry continues where this one stopped.
    """
    rules = retention_rules(table.settings)
    expire_snapshots_by(table, rules)
    if rules.is_decoupled:
        from paimon_spark.store.expire.changelogs import expire_changelogs_by

        expire_changelogs_by(table, rules.changelogs)


def _expire_partitions(table: Table) -> None:
    if table.settings.partitions.expiration_time is None:
        return
    from paimon_spark.store.clean.partition_expiry import expire_due_partitions

    expire_due_partitions(table)


def _expire_notes(table: Table) -> None:
    """Looks for them only where consumers expire too: elsewhere the first batch of a new stream does."""
    if table.settings.retention.consumer_expiration_time is not None:
        expire_stream_notes(table)


_STEPS = (
    _Step("creating tags", create_due_tags),
    _Step("expiring tags", expire_tags_by_options),
    _Step("expiring partitions", _expire_partitions),
    _Step("expiring consumers", expire_consumers),
    _Step("expiring the notes of streams", _expire_notes),
    _Step("expiring snapshots", expire_by_options),
)
_BATCH_TAG = _Step("creating the tag of a batch", create_batch_tag)  # for every batch job, even `write-only`


def maintain(table: Table, dedicated: bool = False) -> None:
    """Runs the steps that are due after a commit; with `snapshot.expire.execution-mode` async, in a thread.

    The commit is already done: a step that fails is logged, and tried again after the next commit.

    Args:
        table: the table, with the options of the write.
        dedicated: True for a job that maintains the table, such as a compaction; `write-only` is ignored then.
    """
    if not dedicated:
        _run(_BATCH_TAG, table)
    if table.settings.write_only and not dedicated:
        return
    if table.settings.retention.snapshot_expire_execution_mode == "async":
        _run_beside(table)
    else:
        _run_steps(table)


def finish_maintenance() -> None:
    """Waits for the maintenance thread; the interpreter also does this when it exits."""
    _worker().submit(int).result()  # the thread runs one job after the other


@cache
def _worker() -> ThreadPoolExecutor:
    """The one thread of the process, which the interpreter waits for at its exit."""
    return ThreadPoolExecutor(1, "paimon-maintenance")


if hasattr(os, "register_at_fork"):  # all but Windows; a forked process has no thread but the one that forked
    os.register_at_fork(after_in_child=_worker.cache_clear)


def _run_beside(table: Table) -> None:
    try:
        job = _worker().submit(_run_steps, table)
    except RuntimeError:  # from submit: the interpreter is shutting down, or can start no thread
        _run_steps(table)
    else:
        job.add_done_callback(partial(_tell_error, table.location))


def _tell_error(location: str, job: Future[None]) -> None:
    """Logs errors that _run does not expect, which would otherwise be lost with the thread."""
    error = job.exception()
    if error is not None:
        _log.error("the maintenance of %s broke off", location, exc_info=error)


def _run_steps(table: Table) -> None:
    for step in _STEPS:
        _run(step, table)


def _run(step: _Step, table: Table) -> None:
    try:
        step.run(table)
    except (PaimonError, OSError, MemoryError) as error:
        why = words_of(error)
        _log.warning("%s of %s failed, and is tried again after the next commit: %s", step.what, table.location, why)
