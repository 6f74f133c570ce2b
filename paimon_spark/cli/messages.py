"""What is said to the user beside the output: on stderr, so that stdout holds the output alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from paimon_spark.cli.texts import printable

STOPPED = 130


def say(text: str) -> None:
    """One line on stderr."""
    print(printable(text), file=sys.stderr, flush=True)


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
