"""Several small jobs at a time: in order, bounded, and over when the call returns. (At the end of a process: see
test_async_maintenance.)
"""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from support.faults.faulty_store import exit_code_of

from paimon_spark.errors import ResourcesExhausted
from paimon_spark.store.storage import parallel
from paimon_spark.store.storage.parallel import (
    LONG_WAIT,
    Background,
    begin,
    map_near_or_far,
    map_parallel,
    map_parallel_if_slow,
    submitted,
)


class Broken(Exception):
    pass


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_results_are_in_the_order_of_the_items(count: int) -> None:
    assert map_parallel(lambda n: n * n, iter(range(count))) == [n * n for n in range(count)]


def test_so_many_are_under_way() -> None:
    """A barrier opens when so many are there; with fewer threads it never does."""
    three = threading.Barrier(3)
    map_parallel(lambda n: three.wait(30), range(3), most=3)
    busy, most, lock, pair = [0], [0], threading.Lock(), threading.Barrier(2)

    def count(number: int) -> None:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        pair.wait(30)
        with lock:
            busy[0] -= 1

    map_parallel(count, range(200), most=2)
    assert most[0] == 2


def test_one_job_needs_no_thread() -> None:
    assert map_parallel(lambda n: threading.current_thread(), [1]) == [threading.current_thread()]


def test_a_job_may_have_jobs_of_its_own() -> None:
    """More than there are threads, three deep."""

    def inner(depth: int) -> int:
        return 1 if depth == 0 else sum(map_parallel(inner, [depth - 1] * 9))

    assert inner(3) == 9**3


def test_a_forked_process_has_threads_of_its_own() -> None:
    barrier = threading.Barrier(2)
    map_parallel(lambda _: barrier.wait(10), range(2))

    def meet() -> None:
        again = threading.Barrier(3)
        map_parallel(lambda _: again.wait(10), range(3))

    assert exit_code_of(meet) == 0


def test_the_first_error_by_order_is_raised_and_what_waits_is_not_begun() -> None:
    begun, never = [], threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        if number < 2:
            raise Broken(number)
        never.wait(0.2)  # so that the others still wait when the error is seen

    with pytest.raises(Broken) as raised:
        map_parallel(work, range(500), most=2)
    assert raised.value.args == (0,)
    assert len(begun) < 100


def clock(waits: list[bool]) -> Callable[[], float]:
    """A clock for jobs, of which these wait; it is looked at before and after each."""
    steps = (step for waits_long in waits for step in (0.0, LONG_WAIT * (2 if waits_long else 0.5)))
    times = itertools.accumulate(itertools.chain(steps, itertools.repeat(0.0)))
    return lambda: next(times)


@pytest.mark.parametrize("waits", [[], [True], [True] * 50, [True, False] * 50])
def test_results_are_in_order_however_long_jobs_wait(waits: list[bool]) -> None:
    assert map_parallel_if_slow(lambda n: n * n, range(100), clock(waits)) == [n * n for n in range(100)]


@pytest.mark.parametrize(
    ("waits", "here"),
    [
        ([], 40),
        ([True] * 40, 3),
        ([True, True] + [False] * 38, 40),
        ([False, False] + [True] * 38, 5),
        ([True, False, True, False, True], 5),
        ([True, False, False] * 13, 40),
    ],
)
def test_this_thread_does_the_jobs_until_most_of_them_wait(waits: list[bool], here: int) -> None:
    """The job behind these waits for the one behind it, which one thread could not do."""
    has_begun = threading.Event()

    def job(number: int) -> bool:
        if number == here:
            return has_begun.wait(30)
        if number == here + 1:
            has_begun.set()
        return number > here or threading.current_thread() is threading.main_thread()

    assert all(map_parallel_if_slow(job, range(40), clock(waits)))


def test_waiting_is_distinguished_from_computing() -> None:
    """Three jobs wait; then two wait for each other, which one thread could not do."""
    pair, never = threading.Barrier(2), threading.Event()
    jobs = [*[lambda: never.wait(2 * LONG_WAIT)] * 3, *[lambda: pair.wait(30)] * 2]
    map_parallel_if_slow(lambda job: job(), jobs)
    assert not pair.broken


def test_jobs_of_a_store_that_is_far_run_concurrently_from_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = threading.Barrier(2)
    assert sorted(map_near_or_far(lambda _: pair.wait(30), range(2), is_far=True)) == [0, 1]
    monkeypatch.setattr(time, "perf_counter", lambda: 0.0)  # nothing waits
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    threads = map_near_or_far(lambda _: threading.current_thread(), range(100), is_far=False)
    assert set(threads) == {threading.current_thread()}


def test_an_error_of_the_first_jobs_ends_all() -> None:
    begun = []

    def work(number: int) -> None:
        begun.append(number)
        raise Broken(number)

    with pytest.raises(Broken) as raised:
        map_parallel_if_slow(work, range(9), lambda: 0.0)
    assert (raised.value.args, begun) == ((0,), [0])


def fail() -> None:
    raise Broken


def test_jobs_are_done_in_order() -> None:
    done: list[int] = []
    work = Background(limit=3)
    for n in range(50):
        work.run(lambda n=n: done.append(n))
    work.wait()
    assert done == list(range(50))


def test_giving_out_waits_when_enough_jobs_wait() -> None:
    gate = threading.Event()
    work = Background(limit=2)
    work.run(gate.wait)
    work.run(gate.wait)
    third = threading.Thread(target=lambda: work.run(lambda: None))
    third.start()
    third.join(0.05)
    assert third.is_alive()
    gate.set()
    third.join()
    work.wait()


def test_an_error_stays_and_what_follows_is_not_done() -> None:
    done: list[int] = []
    work = Background(limit=10)
    work.run(fail)
    work.run(lambda: done.append(1))
    with pytest.raises(Broken):
        work.wait()
    with pytest.raises(Broken):
        work.run(lambda: done.append(2))
    with pytest.raises(Broken):
        work.wait()
    assert done == []


def test_a_few_short_jobs_are_done_by_the_caller_who_waits() -> None:
    done: list[tuple[int, str]] = []
    work = Background(limit=3, most_short=2)
    for number in range(2):
        work.run(lambda number=number: done.append((number, threading.current_thread().name)), is_short=True)
    assert done == []
    work.wait()
    assert done == [(0, threading.current_thread().name), (1, threading.current_thread().name)]


@pytest.mark.parametrize("is_short", [True, False], ids=["one more", "a long one"])
def test_short_jobs_keep_their_place_before_others(is_short: bool) -> None:
    done: list[tuple[int, str]] = []
    work = Background(limit=1, most_short=3)
    for number in range(6):
        short = number != 2 or is_short
        work.run(lambda number=number: done.append((number, threading.current_thread().name)), is_short=short)
    work.wait()
    assert [number for number, _ in done] == list(range(6))
    assert threading.current_thread().name not in {name for _, name in done}
    work.stop()


def test_an_error_of_a_short_job_stays() -> None:
    done: list[int] = []
    work = Background(limit=3, most_short=3)
    work.run(fail, is_short=True)
    work.run(lambda: done.append(1), is_short=True)
    for _ in range(2):
        with pytest.raises(Broken):
            work.wait()
    with pytest.raises(Broken):
        work.run(lambda: done.append(2), is_short=True)
    work.stop()
    assert done == []


def test_stopped_short_jobs_are_not_done() -> None:
    work = Background(limit=3, most_short=3)
    work.run(fail, is_short=True)
    work.stop()
    work.wait()


def test_stop_waits_for_the_running_job_only() -> None:
    started, gate, done = threading.Event(), threading.Event(), []

    def slow() -> None:
        started.set()
        gate.wait()
        done.append("slow")

    work = Background(limit=10)
    work.run(slow)
    work.run(lambda: done.append("never"))
    started.wait()
    threading.Timer(0.01, gate.set).start()
    work.stop()
    assert done == ["slow"]
    Background(limit=1).stop()
    Background(limit=1).wait()


class Interrupted(ThreadPoolExecutor):
    """Ctrl-C comes while it takes a job, and its lock."""

    is_whole = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        os.kill(os.getpid(), signal.SIGINT)
        found = super().submit(fn, *args, **kwargs)
        self.is_whole = True
        return found


def test_ctrl_c_comes_behind_a_submit() -> None:
    done: list[int] = []
    found = signal.signal(signal.SIGINT, signal.default_int_handler)  # one of the program may be there
    try:
        with Interrupted(1) as pool, pytest.raises(KeyboardInterrupt):
            submitted(pool, done.append, 1)
        assert pool.is_whole
        assert done == [1]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, found)


def test_another_thread_submits_as_ever() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: submitted(pool, len, "abc")).result().result() == 3


@contextmanager
def no_new_threads() -> Iterator[None]:
    """No machine has room for such a stack, so that Python can start no thread."""
    before = threading.stack_size(2**46)
    try:
        yield
    finally:
        threading.stack_size(before)


def test_where_no_thread_can_be_started_the_caller_does_all() -> None:
    parallel._threads.cache_clear()
    with no_new_threads():
        assert map_parallel(lambda n: n * n, range(100)) == [n * n for n in range(100)]
        assert [begin(partial(pow, n, 2))() for n in range(3)] == [0, 1, 4]


def test_a_job_is_done_once_though_the_executor_keeps_it() -> None:
    """Python puts a job into its queue first, and starts a thread then: another thread finds the job there later."""
    parallel._threads.cache_clear()
    is_busy, may_end, done = threading.Event(), threading.Event(), list[int]()

    def hold() -> None:
        is_busy.set()
        may_end.wait(30)

    begin(hold)
    assert is_busy.wait(30)
    with no_new_threads():
        end = begin(partial(done.append, 1))
        end()
    may_end.set()
    parallel._threads().shutdown(wait=True)  # when all that is in the queue is done
    parallel._threads.cache_clear()
    assert done == [1]


def test_a_job_in_the_background_for_which_there_is_no_thread() -> None:
    done = list[int]()
    with (
        no_new_threads(),
        pytest.raises(ResourcesExhausted, match=r"can start no thread .*; raise its limits of threads \(ulimit -u\)"),
    ):
        Background(2).run(partial(done.append, 1))
    assert not done
