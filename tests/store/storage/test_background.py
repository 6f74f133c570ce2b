"""Jobs beside the caller: in order, bounded, and never silently undone."""

from __future__ import annotations

import threading

import pytest

from paimon_spark.store.storage.background import Background


class Broken(Exception):
    pass


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
