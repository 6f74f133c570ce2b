"""The border to Spark, which shows an error with all that was called below it, twice, and with the errors it came from.

What a PaimonError has to say is in its text. So only the frame of the border goes with it: the rest, with which nobody
who reads the sentence can do anything, is in the log, at level DEBUG.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

from paimon_spark.errors import PaimonError

_log = logging.getLogger(__name__)
Function = TypeVar("Function", bound=Callable[..., Any])


def plainly(function: Function) -> Function:
    """A function that Spark calls: a PaimonError leaves it, and the iterator that it returns, without its history."""

    @wraps(function)
    def call(*args: Any, **more: Any) -> Any:
        try:
            found = function(*args, **more)
        except PaimonError as error:
            raise _plain(error) from None
        return _each(found) if isinstance(found, Iterator) else found

    return cast(Function, call)


def _each(values: Iterator[Any]) -> Iterator[Any]:
    try:
        yield from values
    except PaimonError as error:
        raise _plain(error) from None


def _plain(error: PaimonError) -> PaimonError:
    """The error under the class that the documentation names: a subclass of ours is not in it."""
    _log.debug("a PaimonError goes to Spark", exc_info=error)
    public = next(kind for kind in type(error).__mro__ if kind.__module__ == PaimonError.__module__)
    return error.with_traceback(None) if type(error) is public else public(str(error))
