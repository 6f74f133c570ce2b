"""Runs small jobs on storage in parallel, and jobs beside the caller: files are encoded while rows are sorted."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import cache
from typing import Any, Generic, TypeVar

from paimon_spark.errors import ResourcesExhausted, is_shortage

A = TypeVar("A")
B = TypeVar("B")
READ_THREADS = 16
FAR_THREADS = 256
"""For small files of a store that is far: it answers many requests at once as fast as one."""
LONG_WAIT = 0.0005  # seconds


def map_parallel(function: Callable[[A], B], items: Iterable[A], most: int = READ_THREADS) -> list[B]:
    """The results of a function for each item, in order. No job is running on return, even after an error.

    This thread does jobs too, so that it waits for no other one where the jobs are short, and a job may call this
    function itself. The other threads stay for the next call: to start one costs more than to read a small file. While
    the interpreter shuts down, they accept no jobs, but background work may continue: then this thread runs the jobs.

    Args:
        function: the job.
        items: the arguments, one for each job.
        most: the most jobs to run concurrently.

    Raises:
        Exception: the error of the first job, in the order of the items, that failed; queued jobs are not begun then.
    """
    given = list(items)
    if len(given) <= 1:
        return [function(item) for item in given]
    jobs = _Jobs(function, given)
    helpers: list[Future[None]] = []
    try:
        helpers += (_offered(jobs.work) for _ in range(min(most, len(given)) - 1))
        jobs.work()
    finally:
        jobs.stop()
        for helper in helpers:
            helper.cancel()
        wait(helper for helper in helpers if not helper.cancelled())
    return jobs.results()


def submitted(executor: Executor, job: Callable[..., A], *arguments: Any) -> Future[A]:
    """The future of a job. Ctrl-C in the middle of ``submit`` comes behind it.

    Python raises KeyboardInterrupt between any two instructions of the main thread: within ``submit`` it can leave a
    lock taken, for which the executor then waits for ever at its end.

    Raises:
        ResourcesExhausted: no thread can be started. A thread of the executor, also one of later, may do the job still.
        RuntimeError: the interpreter, or the executor, is shutting down.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        return _submitted(executor, job, *arguments)
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        return _submitted(executor, job, *arguments)
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def _submitted(executor: Executor, job: Callable[..., A], *arguments: Any) -> Future[A]:
    try:
        return executor.submit(job, *arguments)
    except RuntimeError as error:
        if not is_shortage(error):
            raise
        raise ResourcesExhausted.of("starting a thread to work in", error) from error


def together(is_far: bool, *jobs: Callable[[], Any]) -> list[Any]:
    """The results of jobs on storage, in order: at once if it is far, else one after the other, as of map_parallel."""
    return map_parallel(lambda job: job(), jobs) if is_far else [job() for job in jobs]


def begin(job: Callable[[], A]) -> Callable[[], A]:
    """Begins a job beside the caller. What is returned waits for it, and returns its result or raises its error.

    A job that no thread has begun by then is done by the caller, so that it waits for no other one.
    """
    future = _offered(job)
    return lambda: job() if future.cancel() else future.result()


def _offered(job: Callable[[], A]) -> Future[A]:
    """The future of a job that a thread does when there is one; it can be cancelled until then.

    The future is not that of the executor: where no thread can be started, that keeps the job, and another thread may
    do it at any time, beside a caller who does it too.
    """
    offered = Future[A]()
    with suppress(RuntimeError, ResourcesExhausted):  # the interpreter is shutting down, or no thread can be started
        submitted(_threads(), _do, offered, job)
    return offered


def _do(offered: Future[A], job: Callable[[], A]) -> None:
    if not offered.set_running_or_notify_cancel():
        return
    try:
        offered.set_result(job())
    except BaseException as error:
        offered.set_exception(error)


class _Jobs(Generic[A, B]):
    """The jobs of one call, which several threads do."""

    def __init__(self, function: Callable[[A], B], given: Sequence[A]) -> None:
        self._function, self._given = function, given
        self._made: dict[int, B] = {}
        self._errors: dict[int, BaseException] = {}
        self._next = itertools.count()
        self._is_stopped = False

    def work(self) -> None:
        """Does jobs as long as there are any."""
        while not self._is_stopped:
            number = next(self._next)  # no two threads get the same
            if number >= len(self._given):
                return
            try:
                self._made[number] = self._function(self._given[number])
            except BaseException as error:
                self._errors[number] = error
                self.stop()

    def stop(self) -> None:
        """No job is begun any more."""
        self._is_stopped = True

    def results(self) -> list[B]:
        """What was made, in order. Raises the error of the first job that failed."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._made[number] for number in range(len(self._given))]


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(FAR_THREADS, "paimon-storage")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a process that is forked has none of the threads


def _waited() -> float:
    """The seconds in which this thread did not compute, counted from some time on."""
    return time.perf_counter() - time.thread_time()


def map_parallel_if_slow(
    function: Callable[[A], B],
    items: Iterable[A],
    waited: Callable[[], float] = _waited,
    most: int = READ_THREADS,
) -> list[B]:
    """As map_parallel, for jobs that are short where the storage is near.

    This thread does them one after the other: threads that have nothing to wait for only take the interpreter from each
    other. As soon as three of them have waited for LONG_WAIT, and most of all, the others are run concurrently. (Where
    other processes have the processor, few short jobs wait.)

    Args:
        function: the job.
        items: the arguments, one for each job.
        waited: the seconds in which this thread did not compute, counted from some time on.
        most: the most jobs to run concurrently.

    Raises:
        Exception: the error of the first job, in the order of the items, that failed.
    """
    given, done = list(items), list[B]()
    slow = 0
    for item in given:
        began = waited()
        done.append(function(item))
        slow += waited() - began >= LONG_WAIT
        if slow >= 3 and 2 * slow > len(done):
            break
    return done + map_parallel(function, given[len(done) :], most)


def map_near_or_far(function: Callable[[A], B], items: Iterable[A], is_far: bool, most: int = READ_THREADS) -> list[B]:
    """As map_parallel_if_slow, for jobs of storage; as map_parallel if it is far, where each job waits."""
    return map_parallel(function, items, most) if is_far else map_parallel_if_slow(function, items, most=most)


class Background:
    """One thread that runs jobs in the order of submission. Only one thread may submit jobs.

    The first error of a job is raised by every later call, so the caller cannot continue as if the job had succeeded.

    A few short jobs are not worth a thread: to start one takes longer than to encode some rows. They are kept until
    there are more jobs, or until the caller waits, who does them then.
    """

    def __init__(self, limit: int, most_short: int = 0) -> None:
        """Starts no thread yet.

        Args:
            limit: the most jobs that may be queued or running; submitting one more blocks, which bounds their memory.
            most_short: the most short jobs that are kept without a thread.
        """
        self._limit = limit
        self._most_short = most_short
        self._threads: ThreadPoolExecutor | None = None
        self._short: deque[Callable[[], None]] = deque()  # not begun; none as soon as there is a thread
        self._jobs: deque[Future[None]] = deque()
        self._error: BaseException | None = None

    def run(self, job: Callable[[], None], is_short: bool = False) -> None:
        """Submits a job; returns before it is done.

        Args:
            is_short: whether it takes about as long as a thread takes to start.
        """
        self._raise_error()
        if is_short and self._threads is None and len(self._short) < self._most_short:
            self._short.append(job)
            return
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1)
        while self._short:
            self._submit(self._threads, self._short.popleft())
        self._submit(self._threads, job)

    def wait(self) -> None:
        """Returns when all jobs are done."""
        self._raise_error()
        while self._short:
            try:
                self._short.popleft()()
            except BaseException as error:
                self._error = error
                raise
        while self._jobs:
            self._wait_for_one()
        self._raise_error()

    def stop(self) -> None:
        """Returns when no job is running; queued jobs are not begun. Raises nothing."""
        self._short.clear()
        for job in self._jobs:
            job.cancel()
        self._jobs.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None

    def _submit(self, threads: ThreadPoolExecutor, job: Callable[[], None]) -> None:
        while len(self._jobs) >= self._limit:
            self._wait_for_one()
        self._jobs.append(submitted(threads, self._guarded, job))

    def _guarded(self, job: Callable[[], None]) -> None:
        if self._error is None:  # jobs after a failed one are not run
            job()

    def _wait_for_one(self) -> None:
        error = self._jobs.popleft().exception()
        self._error = self._error or error
        self._raise_error()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
