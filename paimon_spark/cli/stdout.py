"""What becomes of the program when its output cannot be written."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO


class OutputFailed(OSError):
    """The output could not be written, which is not the fault of the table."""


class Stdout:
    """A stream whose own errors are distinct from those of the storage; a reader that went away stays an EPIPE."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _as_output():
            return self._stream.write(text)

    def flush(self) -> None:
        with _as_output():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> None:
    """Lets the program write on closed streams, and tell what is wrong with its output."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - until the process ends
    sys.stdout = Stdout(sys.stdout)


def write_no_more() -> None:
    """The output goes nowhere from here on, so that the end of Python does not complain about it either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _as_output() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputFailed(f"the output could not be written: {error.strerror}") from None
