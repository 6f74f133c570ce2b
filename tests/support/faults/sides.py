"""Faulty stores of jobs that run on a driver and in tasks: one side fails, the other has the store inside."""

from __future__ import annotations

import copy
import fcntl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from paimon_spark.file_io import DirectoryIO
from support.faults.faulty_store import FaultyFileIO, When, fail

T = TypeVar("T")


@dataclass
class DriverFaults(FaultyFileIO):
    """A store that fails in this process; tasks get the one inside."""

    def __reduce__(self) -> tuple[Any, ...]:
        return copy.copy, (self.inner,)


@dataclass
class Between(DriverFaults):
    """A store in whose process something else happens once, just before the first snapshot is published."""

    happens: Callable[[], object] | None = None

    def run(self, name: str, half: Callable[[], object], whole: Callable[[], T]) -> T:
        happens = self.happens
        if name == "!create" and happens is not None:
            self.happens = None
            happens()
        return super().run(name, half, whole)


@dataclass
class TaskFaults(FaultyFileIO):
    """A store that fails in tasks only; their operations are counted together.

    Attributes:
        marks: a file with a line for each operation so far.
        in_task: whether this is the store of a task.
    """

    marks: str = ""
    in_task: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_task, (self.inner, self.at, self.when, self.act, self.marks)

    @property
    def names(self) -> list[str]:
        """The operations of all tasks."""
        path = Path(self.marks)
        return path.read_text().splitlines() if path.exists() else []

    def run(self, name: str, half: Callable[[], object], whole: Callable[[], T]) -> T:
        if not self.in_task or self._number(name) != self.at:
            return whole()
        if self.when == When.HALF:
            half()
        if self.when == When.AFTER:
            whole()
        return self.act()

    def _number(self, name: str) -> int:
        with open(self.marks, "a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            number = len(file.readlines())
            file.write(f"{name}\n")
        return number


def _in_task(
    inner: DirectoryIO, at: int | None, when: When, act: Callable[[], NoReturn] = fail, marks: str = ""
) -> TaskFaults:
    return TaskFaults(inner, at, when, act, marks=marks, in_task=True)
