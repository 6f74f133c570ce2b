"""What a soak has come to, over all of its runs: it is kept in the folder, so that the next run goes on from there."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

_SUMMARY = "summary.json"
_KILLS = "kills.jsonl"


@dataclass(frozen=True)
class Kill:
    """A process that was killed, and when: seconds since the epoch."""

    process: str
    at: float


@dataclass
class Totals:
    """The counts of a soak.

    Attributes:
        seconds: how long it has run, up to its last comparison.
        stops: how often a process was stopped for a while.
        rests: how often all tables were compared.
        orphans: files that killed processes have left.
        finding: what was not as it must be; "": nothing.
        kills: each is in the folder at once, so that a run that is itself cut off loses none.
    """

    folder: Path
    seconds: float = 0.0
    stops: int = 0
    rests: int = 0
    orphans: int = 0
    finding: str = ""
    kills: list[Kill] = field(default_factory=list)

    @staticmethod
    def load(folder: Path) -> Totals:
        """The totals of a folder; those of a new soak where it has none."""
        path, kills = folder / _SUMMARY, folder / _KILLS
        counts = json.loads(path.read_text()) if path.exists() else {}
        lines = kills.read_text().splitlines() if kills.exists() else []
        return Totals(folder, **counts, kills=[Kill(**json.loads(line)) for line in lines])

    def save(self) -> None:
        counts = {key: value for key, value in asdict(self).items() if key not in ("folder", "kills")}
        new = self.folder / f".{_SUMMARY}"
        new.write_text(json.dumps(counts))
        os.replace(new, self.folder / _SUMMARY)

    def add_kill(self, kill: Kill) -> None:
        self.kills.append(kill)
        with (self.folder / _KILLS).open("a") as file:
            file.write(json.dumps(asdict(kill)) + "\n")
