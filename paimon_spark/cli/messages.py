"""What is said to the user beside the output: on stderr, so that stdout holds the output alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from paimon_spark.cli.texts import printable
from paimon_spark.errors import OptionError, PaimonError

STOPPED = 130


class OutputFailed(OSError):
    """The output could not be written, which is not the fault of the table."""


@contextmanager
def output_of_done_work(is_done: bool = True) -> Iterator[None]:
    """What is printed inside tells of work that is done, and so does the error if that cannot be written.

    Args:
        is_done: False: of a dry run, whose output is all there is.
    """
    try:
        yield
        sys.stdout.flush()
    except OutputFailed as error:
        raise OutputFailed(f"{error}; the work of the command was done before") if is_done else error from None


def say(text: str) -> None:
    """One line on stderr."""
    print(printable(text), file=sys.stderr, flush=True)


def in_flags(error: PaimonError, parameters: Iterable[Any]) -> str:
    """The message on one line. Arguments of Python that it names are called by the flags of the command.

    Args:
        parameters: of the command, as typer has them; each has the name of the argument that it is passed on as.
    """
    text = " ".join(str(error).split())
    wanted = error.arguments if isinstance(error, OptionError) else ()
    flags = {p.name: flag for p in parameters for flag in p.opts if flag.startswith("--") and p.name in wanted}
    if not flags:
        return text
    return re.sub(rf"\b({'|'.join(map(re.escape, flags))})\b", lambda found: flags[found[0]], text)


@contextmanager
def if_stopped(left: str) -> Iterator[None]:
    """Tells what state is left when Ctrl-C ends what stands inside.

    Args:
        left: the state, as the end of a sentence.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; {left}")
        raise typer.Exit(STOPPED) from None
