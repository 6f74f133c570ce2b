"""The end of every write: its commit, once if the write has a name and a number, and what follows a commit.

The data source ends a write in a process that the user waits for, so what others do not need is imported late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.upkeep.finish_write import finish_write
from paimon_spark.store.upkeep.write_rules import Committed
from paimon_spark.writes.commit_write import commit_job, place_job
from paimon_spark.writes.write_job import WriteJob

if TYPE_CHECKING:
    from paimon_spark.store.commit.table_commit import CommitResult
    from paimon_spark.store.compact.local_pool import LocalRunner
    from paimon_spark.store.compact.outcomes import CompactResult, Outcome, TaskRunner
    from paimon_spark.store.compact.task import CompactTask
    from paimon_spark.store.stream_sink.batch import Batch


def find_committed(
    table: Table,
    batch: Batch | None,
    runner: TaskRunner,
    budget: int | None = None,
    tried: Sequence[CommitMessage] = (),
) -> Committed | None:
    """How a write ended that the table has by its name and number; None: it is not there, or has no name.

    What follows a commit is done now, if it was cut off.

    Args:
        table: with the options of the write.
        batch: the name and number.
        runner, budget: as for commit_and_finish.
        tried: what tasks have written once more; the files are deleted.

    Raises:
        StaleBatch: the table has a later batch; nothing was written.
        CommitStateUnknown: nobody can tell whether the batch is in the table; nothing was deleted.
        PaimonError: what follows the commit failed.
    """
    if batch is None:
        return None
    from paimon_spark.store.stream_sink.once import finish_written
    from paimon_spark.store.stream_sink.written import find_written

    written = find_written(table, batch)
    return (
        None if written is None else finish_written(table, batch, written, tried, _finish(table, batch, runner, budget))
    )


def commit_and_finish(
    job: WriteJob,
    messages: Sequence[CommitMessage],
    runner: TaskRunner,
    budget: int | None = None,
    publish: Callable[[], CommitResult | None] | None = None,
) -> Committed:
    """Commits what the tasks wrote, and does what follows a commit. A job with a name is not in the table yet.

    Args:
        job: the job.
        messages: what the tasks wrote.
        runner: runs the compaction that follows.
        budget: how many bytes the compaction may read that follows a batch of a stream; None: no bound.
        publish: makes the commit; None: commit_job does.

    Raises:
        CommitStateUnknown: nobody can tell whether the commit was made; nothing was deleted.
        RowsNotVisible: the rows are committed, and what follows failed.
        PaimonError: the commit failed, and the files are deleted.
    """
    made, finish = publish or partial(commit_job, job, messages), _finish(job.table, job.batch, runner, budget)
    if job.batch is not None:
        from paimon_spark.store.stream_sink.once import commit_new

        return commit_new(job.table, job.batch, messages, made, finish)
    result = made()
    if result is None:
        return Committed(None)
    return Committed(result.snapshot_id, result, finish(messages))


def _finish(
    table: Table, batch: Batch | None, runner: TaskRunner, budget: int | None
) -> Callable[[Sequence[CommitMessage]], CompactResult | None]:
    """What follows the commit of messages."""
    if batch is None:
        return lambda messages: finish_write(table, messages, runner)
    from paimon_spark.store.stream_sink.batch import batch_rules

    rules = batch_rules(table, batch, budget)
    return lambda messages: finish_write(table, messages, runner, rules)


class LateRunner:
    """Runs compactions in processes of this machine, which has no Spark session here; made when there is a task."""

    def __init__(self, processes: int | None = None) -> None:
        """
        Args:
            processes: as of LocalRunner, 1 for compactions in this process alone; None: its default.
        """
        self._processes = processes
        self._runner: LocalRunner | None = None

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        """See TaskRunner."""
        from paimon_spark.store.compact.local_pool import LocalRunner

        if self._runner is None:
            self._runner = LocalRunner() if self._processes is None else LocalRunner(self._processes)
        return self._runner.run(table, tasks)

    def stop(self) -> None:
        """See TaskRunner."""
        if self._runner is not None:
            self._runner.stop()


def one_process() -> LateRunner:
    """Runs compactions in this process alone: others would run the script of the caller once more."""
    return LateRunner(processes=1)


def commit_without_session(job: WriteJob, files: Sequence[CommitMessage], budget: int | None = None) -> Committed:
    """Ends a job of the data source, in a process that Spark has started for it; arguments and errors as above."""
    from paimon_spark.store.upkeep.maintenance import finish_maintenance

    runner = LateRunner()
    done = find_committed(job.table, job.batch, runner, budget, files)
    if done is None:
        done = commit_and_finish(job, place_job(job, files), runner, budget)
    finish_maintenance()  # Spark ends this process without waiting for its threads
    return done
