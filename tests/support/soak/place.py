"""Where a soak runs, as all of its processes know it: a folder on the local disk, and the tables on a storage."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from paimon_spark import open_table

LOCAL = "local"
"""The storage that is a folder of the local disk."""
_SETTINGS = "soak.json"
_PAUSE = "pause"
_LOCK = "lock"


@dataclass(frozen=True)
class Place:
    """What each process of a soak is settings.

    Attributes:
        folder: of journals and logs, on the local disk.
        root: below it lie the tables.
        options: of the storage.
        storage: its name, one of STORAGES.
        seed: of all choices.
        owners: how many processes write rows; each has one of so many shares of the keys.
        java: the number of the owner that is the genuine Java; None: there is none.
        runner: the number of the process that has saved this and starts the others; 0: none.
    """

    folder: Path
    root: str
    options: Mapping[str, str]
    storage: str
    seed: int
    owners: int
    java: int | None = None
    runner: int = 0

    def save(self) -> None:
        (self.folder / "journals").mkdir(parents=True, exist_ok=True)
        settings = {**asdict(self), "folder": str(self.folder), "runner": os.getpid()}
        (self.folder / _SETTINGS).write_text(json.dumps(settings))

    @staticmethod
    def is_in(folder: Path) -> bool:
        """True if a soak has begun in a folder."""
        return (folder / _SETTINGS).exists()

    @staticmethod
    def load(folder: Path) -> Place:
        settings: dict[str, Any] = json.loads((folder / _SETTINGS).read_text())
        return Place(**{**settings, "folder": folder})

    @property
    def shared_with_java(self) -> bool:
        """True if Java writes tables of others too. It cannot where its commits are no conditional puts."""
        return self.storage == LOCAL

    def location(self, table: str) -> str:
        return f"{self.root}/{table}"

    def open(self, table: str, version: int | str | None = None) -> Any:
        """The table as it is now, or at a snapshot or tag."""
        return open_table(self.location(table), dict(self.options), version=version)

    def journal(self, process: str) -> Path:
        return self.folder / "journals" / f"{process}.jsonl"

    def log(self, process: str) -> Path:
        return self.folder / f"{process}.log"

    @contextmanager
    def locked(self) -> Iterator[int]:
        """Keeps the folder for one run and the processes that inherit the descriptor; waits until it is free."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / _LOCK).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file.fileno()

    @property
    def is_paused(self) -> bool:
        """True if the processes are to end after their operation, as they do when the one that started them is gone."""
        return (self.folder / _PAUSE).exists() or self.runner != os.getppid()

    def pause(self) -> None:
        (self.folder / _PAUSE).touch()

    def go_on(self) -> None:
        (self.folder / _PAUSE).unlink(missing_ok=True)
