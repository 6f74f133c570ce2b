"""Runs compaction tasks in an executor of the caller: a pool of processes, or that of Dask or Ray."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future

from paimon_spark.store.compact.compaction import run_here
from paimon_spark.store.compact.outcomes import Outcome, TaskFailure
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import discard


class ExecutorRunner:
    """See TaskRunner. The executor is the caller's, who ends it."""

    def __init__(self, executor: Executor) -> None:
        """
        Args:
            executor: its workers have this package, and reach the storage. Tables, tasks and results are pickled.
        """
        self._executor = executor

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        """See TaskRunner. If it is interrupted, files of tasks that ended are deleted; those of others are orphans."""
        futures = [self._submitted(table, task) for task in tasks]
        try:
            return [_outcome(future, task) for future, task in zip(futures, tasks, strict=True)]
        except BaseException:
            ended = [f.result() for f in futures if not f.cancel() and f.done() and f.exception() is None]
            discard(table.file_io, [path for o in ended if isinstance(o, CompactTaskResult) for path in o.created])
            raise

    def _submitted(self, table: Table, task: CompactTask) -> Future[Outcome]:
        """The future of a task; it has failed already if the executor takes no task any more."""
        try:
            return self._executor.submit(run_here, table, task)
        except Exception as error:
            failed: Future[Outcome] = Future()
            failed.set_exception(error)
            return failed

    def stop(self) -> None:
        """See TaskRunner. Tasks that run go on in the executor, and nothing that they write is committed."""


def _outcome(future: Future[Outcome], task: CompactTask) -> Outcome:
    """What a task returned; an error of the executor, such as a worker that was killed, is the task's failure."""
    try:
        return future.result()
    except Exception as error:
        return TaskFailure(task.partition, task.bucket, f"the executor failed: {type(error).__name__}: {error}")
