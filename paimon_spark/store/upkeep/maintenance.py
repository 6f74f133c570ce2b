"""What a commit is followed by, so that a table stays small (Java: TableCommitImpl.maintain).

The order is that of Java 2.0.0: tags are made before the snapshots they keep could go, partitions leave before the
snapshots that hold their files, consumers before the snapshots they hold, and snapshots, which take longest, come last.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial

from paimon_spark.errors import PaimonError
from paimon_spark.format.options import core_options as o
from paimon_spark.store.clean.partition_expiry import expire_due_partitions
from paimon_spark.store.expire.changelogs import expire_changelogs_by
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.auto_tags import create_batch_tag, create_due_tags, expire_tags_by_options
from paimon_spark.store.history.consumers import expire_consumers
from paimon_spark.store.holds.retention import retention_rules
from paimon_spark.store.metadata.table import Table

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Step:
    """One thing to do. what: in words, for the log; run: looks into the options of the table whether it is due."""

    what: str
    run: Callable[[Table], object]


def expire_by_options(table: Table) -> None:
    """Expires snapshots, and changelogs that outlive them, as the options say. Errors as in expire_snapshots."""
    rules = retention_rules(table.options)
    expire_snapshots_by(table, rules)
    if rules.is_decoupled:
        expire_changelogs_by(table, rules.changelogs)


_STEPS = (
    _Step("creating tags", create_due_tags),
    _Step("expiring tags", expire_tags_by_options),
    _Step("expiring partitions", expire_due_partitions),
    _Step("expiring consumers", expire_consumers),
    _Step("expiring snapshots", expire_by_options),
)
_BATCH_TAG = _Step("creating the tag of a batch", create_batch_tag)  # of every batch job, also a `write-only` one


def maintain(table: Table, dedicated: bool = False) -> None:
    """Does what is due after a commit; with `snapshot.expire.execution-mode` async, in a thread of this process.

    The commit is made whatever happens here: what fails is logged, and tried again after the next commit.

    Args:
        table: with the options of the write.
        dedicated: whether the job is there to keep the table in order, as a compaction: then `write-only` is nothing.
    """
    if not dedicated:
        _run(_BATCH_TAG, table)
    if table.options.value(o.WRITE_ONLY) and not dedicated:
        return
    if table.options.value(o.SNAPSHOT_EXPIRE_EXECUTION_MODE) == "async":
        _run_beside(table)
    else:
        _run_steps(table)


def finish_maintenance() -> None:
    """Waits for what runs in the thread; a Python that ends by itself does so without this call."""
    _worker().submit(int).result()  # the thread takes one after the other


@cache
def _worker() -> ThreadPoolExecutor:
    """One thread a process, which the end of the interpreter waits for."""
    return ThreadPoolExecutor(1, "paimon-maintenance")


if hasattr(os, "register_at_fork"):  # all but Windows; a forked process has no thread but the one that forked
    os.register_at_fork(after_in_child=_worker.cache_clear)


def _run_beside(table: Table) -> None:
    try:
        job = _worker().submit(_run_steps, table)
    except RuntimeError:  # of submit: the interpreter is ending
        _run_steps(table)
    else:
        job.add_done_callback(partial(_tell_error, table.location))


def _tell_error(location: str, job: Future[None]) -> None:
    """What _run does not expect would end with the thread, and nobody would know."""
    error = job.exception()
    if error is not None:
        _log.error("the maintenance of %s broke off", location, exc_info=error)


def _run_steps(table: Table) -> None:
    for step in _STEPS:
        _run(step, table)


def _run(step: _Step, table: Table) -> None:
    try:
        step.run(table)
    except (PaimonError, OSError) as error:
        _log.warning("%s of %s failed, and is tried again after the next commit: %s", step.what, table.location, error)
