"""Turns errors of a store into StorageErrors with one sentence that names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from paimon_spark.errors import StorageError

Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def named_faults(doing: str, path: str) -> Iterator[None]:
    """Turns OSErrors within the block into StorageErrors, except the FileNotFoundError of a missing file.

    Args:
        doing: "reading", "writing", ... A file that is written cannot be missing, so FileNotFoundError means its
            directory then, and becomes a StorageError.
        path: the file, for messages.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or (isinstance(error, FileNotFoundError) and doing != "writing"):
            raise
        raise StorageError.of(doing, path, error) from error


@contextmanager
def named_location(doing: str, location: str) -> Iterator[None]:
    """Lets an error of a store as a whole name what the user named, and not a file that was looked for within it.

    Args:
        doing: "opening", "listing", ...
        location: as the user gave it.
    """
    try:
        yield
    except StorageError as error:
        if not error.of_store:
            raise
        raise type(error)(f"{doing} {location}: {error.of_store}", of_store=error.of_store) from None


def names_faults(doing: str) -> Callable[[Method], Method]:
    """A decorator that runs a method, whose first argument is the path, within ``named_faults``."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def named(self: Any, path: str, *args: Any, **more: Any) -> Any:
            with named_faults(doing, path):
                return method(self, path, *args, **more)

        return cast(Method, named)

    return decorate
