"""What a store refuses or fails at becomes one sentence that names the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from paimon_spark.errors import StorageError

Method = TypeVar("Method", bound=Callable[..., Any])


@contextmanager
def named_faults(doing: str, path: str) -> Iterator[None]:
    """OSErrors become StorageErrors, but for the FileNotFoundError of a file that is not there.

    Args:
        doing: "reading", "writing", ...; what is written cannot be missing, then its place is.
        path: of the file.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, StorageError) or (isinstance(error, FileNotFoundError) and doing != "writing"):
            raise
        raise StorageError.of(doing, path, error) from error


def names_faults(doing: str) -> Callable[[Method], Method]:
    """As named_faults, for a method whose first argument is the path."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def named(self: Any, path: str, *args: Any, **more: Any) -> Any:
            with named_faults(doing, path):
                return method(self, path, *args, **more)

        return cast(Method, named)

    return decorate
