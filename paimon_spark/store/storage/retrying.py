"""Trying again what failed: how often, and how long one waits in between.

For calls that may simply be made again. A loop that looks at a changed table each time, and goes on with what it knows
by then, stands where it is needed.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_attempt, stop_after_delay, stop_any
from tenacity.nap import sleep as nap

T = TypeVar("T")


@dataclass(frozen=True)
class FailedTry:
    """A try that another one may follow.

    Attributes:
        number: from 1.
        seconds: since the first try began.
        error: what it raised.
    """

    number: int
    seconds: float
    error: BaseException


@dataclass(frozen=True)
class RetryRules:
    """How often something is tried, and how long one waits in between.

    Attributes:
        tries: at most so many.
        shortest, longest: bounds of a wait, in seconds; without them the next try follows at once.
        seconds: none begins when so many have passed since the first; None: they may take any time.
    """

    tries: int
    shortest: float = 0.0
    longest: float = 0.0
    seconds: float | None = None

    def wait(self, failed: FailedTry) -> float:
        """Seconds to wait after a lost race: at random up to as long again as the tries have taken so far.

        That fits a disk, where a try takes milliseconds, as well as a slow object store.
        """
        if not self.longest:
            return 0.0
        doubled = self.shortest * 2 ** min(failed.number - 1, 30)
        return min(self.longest, self.shortest + random.uniform(0, max(doubled, failed.seconds)))


def retry(
    call: Callable[[int], T],
    rules: RetryRules,
    on: type[Exception] | tuple[type[Exception], ...],
    wait: Callable[[FailedTry], float] | None = None,
    sleep: Callable[[float], None] = nap,
) -> T:
    """Calls until it returns, as often as the rules allow.

    Args:
        call: gets the number of the try, from 1.
        on: errors that another try follows.
        wait: how many seconds to wait after a failed try; None: as the rules say.
        sleep: lets seconds pass.

    Raises:
        What the last try raised, or any that raised something else.
    """
    trials = Retrying(
        stop=stop_any(
            stop_after_attempt(rules.tries), *([] if rules.seconds is None else [stop_after_delay(rules.seconds)])
        ),
        wait=lambda state: (wait or rules.wait)(_failed(state)) if state.attempt_number < rules.tries else 0.0,
        retry=retry_if_exception_type(on),
        sleep=lambda seconds: sleep(seconds) if seconds else None,
        reraise=True,
    )
    for trial in trials:
        with trial:
            return call(trial.retry_state.attempt_number)
    raise AssertionError("unreachable: every trial returns or raises")


def _failed(state: RetryCallState) -> FailedTry:
    error = None if state.outcome is None else state.outcome.exception()
    assert error is not None, "only a try that raised is followed by a wait"
    return FailedTry(state.attempt_number, state.seconds_since_start or 0.0, error)
