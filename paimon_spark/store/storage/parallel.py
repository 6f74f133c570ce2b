"""Small jobs on storage, several at a time."""

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
    """What the function gives for each, in order. No job is under way on return, also when one failed.

    While Python ends, its pools take no more jobs, but work in the background may go on: then jobs are done here.

    Args:
        function: what each job is.
        items: what it is done with.
        most: so many jobs are under way at a time.

    Raises:
        Exception: of the first job, by the order of the items, that failed.
    """
    given = list(items)
    if len(given) <= 1:
        return [function(item) for item in given]
    jobs: list[Future[B]] = []
    with ThreadPoolExecutor(min(most, len(given))) as threads:
        try:
            for item in given:
                jobs.append(threads.submit(function, item))
        except RuntimeError:  # of submit: the interpreter is ending
            _log.debug("the interpreter is ending: jobs are done one after the other")
        try:
            return [*(job.result() for job in jobs), *(function(item) for item in given[len(jobs) :])]
        finally:
            for job in jobs:  # after an error those that wait are not begun
                job.cancel()
