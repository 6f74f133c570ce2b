"""Runs compaction tasks in local processes, for callers without a Spark session.

The process in which ``df.write`` commits has none: it is a Spark worker, which shares its machine with the driver.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event

from paimon_spark.format.options.option import MB
from paimon_spark.store.compact.compaction import run_here
from paimon_spark.store.compact.outcomes import Outcome, TaskFailure
from paimon_spark.store.compact.task import CompactTask, CompactTaskResult
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.files import discard

MAX_PROCESSES = 4
"""However many cores: each process may hold some hundred MB, and others run on this machine too."""

SMALL_BYTES = 64 * MB
"""Tasks of less in all run in this process: starting another one takes longer."""


class Stopped(Exception):
    """The caller has stopped the task."""


@dataclass
class _Worker:
    """The state of a pool process: the event that stops it, set when the process starts."""

    stopping: Event | None = None


_WORKER = _Worker()


class LocalRunner:
    """Runs tasks in this process, or in a few others if there is enough work. Call stop at the end."""

    def __init__(
        self,
        max_processes: int = MAX_PROCESSES,
        small_bytes: int = SMALL_BYTES,
        ended: Callable[[CompactTask], None] | None = None,
    ) -> None:
        """Starts no process yet.

        Args:
            max_processes: the most processes at once; never more than the number of cores.
            small_bytes: tasks that read at most this in total run in this process.
            ended: called for each task that has ended, with or without success; from any thread.
        """
        self._ended = ended or _tell_nobody
        self._processes = min(max_processes, os.cpu_count() or 1)
        self._small = small_bytes
        self._context = multiprocessing.get_context("spawn")  # a fork would copy half of the threads of Arrow
        self._stopping = self._context.Event()
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def run(self, table: Table, tasks: Sequence[CompactTask]) -> list[Outcome]:
        """See TaskRunner."""
        is_small = sum(task.weight for task in tasks) <= self._small
        if len(tasks) == 1 or is_small or self._processes == 1:
            return [self._run_here(table, task) for task in tasks]
        pool = self._started()
        with _interrupts_held_back():
            futures = [_submitted(pool, table, task) for task in tasks]
        for future, task in zip(futures, tasks, strict=True):
            future.add_done_callback(lambda _, task=task: self._ended(task))  # type: ignore[misc]  # a default binds it
        try:
            outcomes = [_outcome(future, task) for future, task in zip(futures, tasks, strict=True)]
            if any(isinstance(future.exception(), BrokenProcessPool) for future in futures):
                self._give_up(pool)
            return outcomes
        except BaseException:
            self._stopping.set()
            finished = [f.result() for f in futures if not f.cancel() and f.exception() is None]
            discard(table.file_io, [path for o in finished if isinstance(o, CompactTaskResult) for path in o.created])
            raise

    def stop(self) -> None:
        """See TaskRunner."""
        self._stopping.set()
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait=True, cancel_futures=True)
                self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(self._processes, self._context, _start, (self._stopping,))
            return self._pool

    def _give_up(self, pool: ProcessPoolExecutor) -> None:
        """Drops a broken pool: the next tasks get new processes."""
        with self._lock:
            if self._pool is pool:
                self._pool = None

    def _run_here(self, table: Table, task: CompactTask) -> Outcome:
        outcome = run_here(table, task, self._check)
        self._ended(task)
        return outcome

    def _check(self, _: int) -> None:
        _stop_if(self._stopping)


def _tell_nobody(_: CompactTask) -> None:
    """The default callback, which does nothing."""


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Processes started in the block ignore Ctrl-C, which would end them with a traceback during their imports."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start(stopping: Event) -> None:
    """Ignores Ctrl-C, which reaches all processes of a terminal: the parent stops pool processes by an event."""
    _WORKER.stopping = stopping
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when its parent is killed; otherwise it would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(table: Table, task: CompactTask) -> Outcome:
    return run_here(table, task, lambda _: _stop_if(_WORKER.stopping))


def _stop_if(stopping: Event | None) -> None:
    if stopping is not None and stopping.is_set():
        raise Stopped("the compaction was stopped")


def _submitted(pool: ProcessPoolExecutor, table: Table, task: CompactTask) -> Future[Outcome]:
    """The future of a submitted task; it has failed already if the pool is broken by a killed process."""
    try:
        return pool.submit(_run, table, task)
    except BrokenProcessPool as error:
        failed: Future[Outcome] = Future()
        failed.set_exception(error)
        return failed


def _outcome(future: Future[Outcome], task: CompactTask) -> Outcome:
    try:
        return future.result()
    except BrokenProcessPool:
        error = "its process was killed, perhaps for lack of memory; a compaction by Spark has more"
        return TaskFailure(task.partition, task.bucket, error)
