"""A process of a soak: it does one operation after the other until it is told to rest, and tells what must not be."""

from __future__ import annotations

import json
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

from paimon_spark.errors import (
    CommitConflict,
    CommitStateUnknown,
    CompactionFailed,
    PaimonError,
    RetriesExhausted,
    RowsNotVisible,
    SnapshotNotFound,
    TableChanged,
)
from support.soak.journal import Journal, Step
from support.soak.place import Place

REFUSED: tuple[type[Exception], ...] = (
    CommitConflict,
    RetriesExhausted,
    CompactionFailed,
    SnapshotNotFound,
    TableChanged,
)
"""What an operation may end with because others work on the table too: it has changed nothing."""

FINDING = 3
"""The exit status of a process that has found what must not be."""


class Process:
    """One of the processes, by name; what it draws next depends on the seed, its name and how much it has done."""

    def __init__(self, place: Place, name: str) -> None:
        self.place, self.name = place, name
        self.journal = Journal(place.journal(name))
        self._drawn: Counter[int] = Counter()

    def random(self) -> Random:
        """Draws the next operation; another one where the last draw has led to none."""
        number = len(self.journal.steps) + 1
        self._drawn[number] += 1
        return Random(f"{self.place.seed} {self.name} {number} {self._drawn[number]}")

    def recover(self) -> None:
        """Decides what the process before this one left open."""

    def step(self) -> None:
        """Does one operation."""
        raise NotImplementedError

    def run(self) -> None:
        """Works until the soak rests."""
        self.recover()
        while not self.place.is_paused:
            self.step()

    @contextmanager
    def journaled(self, table: str, kind: str, tolerated: tuple[type[Exception], ...] = ()) -> Iterator[Step]:
        """An operation that changes no rows. What others may make it end with is noted; any other error is told."""
        step = self.journal.begin(table, kind)
        try:
            yield step
        except (*REFUSED, *tolerated) as error:
            self.journal.nothing(step, message_of(error))
        except (CommitStateUnknown, RowsNotVisible) as error:
            self.journal.unknown(step, message_of(error))
        else:
            self.journal.done(step)


def message_of(error: BaseException) -> str:
    """An error in a line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:400]}"


def run_process(process: Process) -> int:
    """Runs a process to its end. Returns: its exit status."""
    try:
        process.run()
    except Exception as error:
        finding = {"process": process.name, "at": time.time(), "error": message_of(error), "text": str(error)}
        if isinstance(error, PaimonError) or not isinstance(error, AssertionError):
            finding["traceback"] = traceback.format_exc()
        last = process.journal.steps[-1:]
        finding["step"] = str(last[0])[:2000] if last else ""
        (process.place.folder / f"finding-{process.name}.json").write_text(json.dumps(finding, indent=1))
        return FINDING
    return 0
