"""Trying again: how often, how long, and what comes out in the end."""

from __future__ import annotations

import pytest

from paimon_spark.store.storage.retrying import FailedTry, RetryRules, retry


class Lost(Exception):
    """Another was faster."""


class Calls:
    """A call that fails a number of times. seen: the numbers that it was called with."""

    def __init__(self, failures: int, error: type[Exception] = Lost) -> None:
        self.failures, self.error = failures, error
        self.seen: list[int] = []

    def __call__(self, number: int) -> str:
        self.seen.append(number)
        if number <= self.failures:
            raise self.error(number)
        return f"try {number}"


def test_tries_until_the_call_returns() -> None:
    calls = Calls(2)
    assert retry(calls, RetryRules(3), Lost) == "try 3"
    assert calls.seen == [1, 2, 3]


def test_the_last_error_is_raised() -> None:
    calls = Calls(5)
    with pytest.raises(Lost, match="3"):
        retry(calls, RetryRules(3), Lost)
    assert calls.seen == [1, 2, 3]


def test_other_errors_are_not_tried_again() -> None:
    calls = Calls(5, ValueError)
    with pytest.raises(ValueError, match="1"):
        retry(calls, RetryRules(3), (Lost, OSError))
    assert calls.seen == [1]


def test_no_try_begins_after_the_time_is_up() -> None:
    calls = Calls(5)
    with pytest.raises(Lost, match="1"):
        retry(calls, RetryRules(3, seconds=0.0), Lost)


def test_waits_are_those_of_the_rules_or_of_the_caller() -> None:
    waited: list[float] = []
    retry(Calls(2), RetryRules(3, shortest=0.5, longest=0.5), Lost, sleep=waited.append)
    assert waited == [0.5, 0.5]
    waited.clear()

    def wait(failed: FailedTry) -> float:
        assert isinstance(failed.error, Lost)
        return failed.number * 10.0

    retry(Calls(2), RetryRules(3), Lost, wait, waited.append)
    assert waited == [10.0, 20.0]
    asked: list[int] = []
    with pytest.raises(Lost):
        retry(Calls(2), RetryRules(2), Lost, lambda failed: asked.append(failed.number) or 0.0, waited.append)
    assert (asked, waited) == ([1], [10.0, 20.0])  # none is asked for after the last try, and no time is none to wait


def test_a_wait_grows_with_the_tries_and_the_time_they_take() -> None:
    rules = RetryRules(9, shortest=0.1, longest=5.0)
    waits = {n: [rules.wait(FailedTry(n, 0.0, Lost())) for _ in range(200)] for n in (1, 4, 9)}
    assert all(0.1 <= wait <= 0.2 for wait in waits[1])
    assert all(0.1 <= wait <= 0.9 for wait in waits[4])
    assert max(waits[4]) > 0.3
    assert max(waits[9]) == 5.0
    assert max(rules.wait(FailedTry(1, 3.0, Lost())) for _ in range(200)) > 1.0
    assert rules.wait(FailedTry(10_000, 0.0, Lost())) <= 5.0
