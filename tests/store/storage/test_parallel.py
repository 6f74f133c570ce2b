"""Several small jobs at a time: in order, bounded, and over when the call returns. (At the end of a process: see
test_async_maintenance.)"""

from __future__ import annotations

import threading

import pytest

from paimon_spark.store.storage.parallel import map_parallel


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
