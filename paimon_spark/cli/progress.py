"""Progress bars of long operations, on stderr if it is a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from paimon_spark.store.reporting.result import Progress as Report


@contextmanager
def progress_bars() -> Iterator[Report | None]:
    """A bar for each kind of work that is reported; None where stderr is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        known: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in known:
                known[what] = bars.add_task(what)
            bars.update(known[what], completed=done, total=total)

        yield tell


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says what is being done, where nobody knows how long it takes."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield
