"""Runs small jobs on storage in parallel."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_log = logging.getLogger(__name__)

A = TypeVar("A")
B = TypeVar("B")

READ_THREADS = 16


def map_parallel(function: Callable[[A], B], items: Iterable[A], most: int = READ_THREADS) -> list[B]:
    """The results of a function for each item, in order. No job is running on return, even after an error.

    While the interpreter shuts down, thread pools accept no jobs, but background work may continue: then this thread
    runs the jobs.

    Args:
        function: the job.
        items: the arguments, one for each job.
        most: the most jobs to run concurrently.

    Raises:
        Exception: the error of the first job, in the order of the items, that failed.
    """
    given = list(items)
    if len(given) <= 1:
        return [function(item) for item in given]
    jobs: list[Future[B]] = []
    with ThreadPoolExecutor(min(most, len(given))) as threads:
        try:
            for item in given:
                jobs.append(threads.submit(function, item))
        except RuntimeError:  # from submit: the interpreter is shutting down
            _log.debug("the interpreter is ending: jobs are done one after the other")
        try:
            return [*(job.result() for job in jobs), *(function(item) for item in given[len(jobs) :])]
        finally:
            for job in jobs:  # after an error, queued jobs are not begun
                job.cancel()
