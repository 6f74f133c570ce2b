"""Two actors on one table, one at a time, with their operations on storage in an order that the test chooses."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from paimon_spark.file_io import FileIO
from support.faults.faulty_store import FaultyFileIO


@dataclass
class _Paused(FaultyFileIO):
    """Stops before one operation until it may go on."""

    pause: int = -1
    reached: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def run(self, name: str, half: Callable[[], object], whole: Callable[[], Any]) -> Any:
        if len(self.log) == self.pause:
            self.reached.set()
            assert self.go.wait(60)
        return super().run(name, half, whole)


class Actor:
    """Runs an action in a thread, up to an operation of its store and later to its end."""

    def __init__(self, inner: FileIO, action: Callable[[FileIO], object], pause: int) -> None:
        self._store = _Paused(inner, pause=pause)
        self._action = action
        self._thread = threading.Thread(target=self._run)
        self.error: Exception | None = None

    def start(self) -> None:
        """Runs up to the pause, or to the end if there are fewer operations."""
        self._thread.start()
        assert self._store.reached.wait(60)

    def finish(self) -> None:
        self._store.go.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._action(self._store)
        except Exception as error:
            self.error = error
        finally:
            self._store.reached.set()


def in_turns(
    inner: FileIO, first: tuple[Callable[[FileIO], object], int], second: tuple[Callable[[FileIO], object], int]
) -> list[Exception | None]:
    """The first actor up to its pause, the second up to its own, the first to its end, the second to its end."""
    actors = [Actor(inner, action, pause) for action, pause in (first, second)]
    for actor in actors:
        actor.start()
    for actor in actors:
        actor.finish()
    return [actor.error for actor in actors]


def operations(inner: FileIO, action: Callable[[FileIO], object]) -> list[str]:
    """The operations of an action that nobody disturbs."""
    log = FaultyFileIO(inner)
    action(log)
    return log.log
