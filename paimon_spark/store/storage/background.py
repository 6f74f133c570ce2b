"""Runs jobs concurrently with the caller: encoding and syncing files while the next rows are sorted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Background:
    """One thread that runs jobs in the order of submission. Only one thread may submit jobs.

    The first error of a job is raised by every later call, so the caller cannot continue as if the job had succeeded.
    """

    def __init__(self, limit: int) -> None:
        """Starts no thread yet.

        Args:
            limit: the most jobs that may be queued or running; submitting one more blocks, which bounds their memory.
        """
        self._limit = limit
        self._threads: ThreadPoolExecutor | None = None
        self._jobs: deque[Future[None]] = deque()
        self._error: BaseException | None = None

    def run(self, job: Callable[[], None]) -> None:
        """Submits a job; returns before it is done."""
        while len(self._jobs) >= self._limit:
            self._wait_for_one()
        self._raise_error()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(1)
        self._jobs.append(self._threads.submit(self._guarded, job))

    def wait(self) -> None:
        """Returns when all jobs are done."""
        while self._jobs:
            self._wait_for_one()
        self._raise_error()

    def stop(self) -> None:
        """Returns when no job is running; queued jobs are not begun. Raises nothing."""
        for job in self._jobs:
            job.cancel()
        self._jobs.clear()
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None

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
