"""Compacts a table: plans, runs the tasks, commits, and plans again the buckets that other jobs have changed.

``PaimonTable.optimize()`` and the compaction right after a write both use it. The caller decides where tasks run: as
Spark tasks, or in processes of this machine.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from paimon_spark.errors import PaimonError
from paimon_spark.format.bucket import Place
from paimon_spark.format.options.option import MB
from paimon_spark.store.compact.outcomes import (
    CompactResult,
    Outcome,
    TaskFailure,
    TaskRunner,
    compact_result,
    error_words,
)
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.compact.task import CompactTask
from paimon_spark.store.metadata.table import Table

if TYPE_CHECKING:
    from paimon_spark.arrow.predicates.predicate import Predicate

_log = logging.getLogger(__name__)

ROUNDS = 3
"""How often buckets are planned that others changed concurrently, or whose task failed."""

COMMIT_BYTES = 65536 * MB
"""About so many bytes read make one commit: what is done then stays done when a later task fails."""


def compact_table(
    table: Table,
    runner: TaskRunner,
    where: str | Predicate | None = None,
    full: bool | None = None,
    places: Collection[Place] | None = None,
    commit_bytes: int = COMMIT_BYTES,
    at_once: bool = False,
    budget: int | None = None,
) -> CompactResult:
    """Compacts the buckets that need it.

    Args:
        table: with the options of the call.
        runner: where the tasks run; the caller stops it afterwards.
        where, full, places, at_once: as for plan_compaction.
        commit_bytes: how much is read for one commit.
        budget: about how many bytes are read in all, though at least one bucket; what is over is left as it is. None:
            no bound.

    Returns:
        The result. A bucket that another job changed concurrently is planned again a few times, then skipped and
        listed.

    Raises:
        CompactionFailed: tasks or commits failed repeatedly; all other buckets are compacted.
        CommitStateUnknown: the store did not answer; earlier commits of this call are valid.
        StorageError: the storage failed during planning.
        OptionError, PredicateError: the condition does not fit.
    """
    began = time.monotonic()
    plan = plan_compaction(table, where, full, places, at_once)
    if not plan.tasks:
        return compact_result(table, (), {}, began)
    from paimon_spark.store.compact.compaction_job import CompactionJob, within

    job = CompactionJob(table, runner, commit_bytes, began)
    for rounds in range(ROUNDS):
        if rounds:
            _log.info("compacting %s: %d buckets are left and looked at again", table.location, len(places or ()))
            plan = plan_compaction(table, where, full, places, at_once)
        places = job.run(plan if budget is None else within(plan, budget))
        if not places:
            break
    return job.finish()


def run_here(table: Table, task: CompactTask, progress: Callable[[int], None] | None = None) -> Outcome:
    """Runs a task in this process. Errors of the table and its storage are returned as a TaskFailure."""
    from paimon_spark.store.compact.bucket import run_task  # imported late: planning often finds nothing to do

    try:
        return run_task(table, task, progress)
    except (PaimonError, OSError, MemoryError) as error:
        return TaskFailure(task.partition, task.bucket, error_words(error))
