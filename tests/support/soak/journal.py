"""What a process is about to do and what became of it, line by line; each line is on the disk before it goes on.

An operation without an outcome is one whose answer was not seen: the process was killed, or the storage gave none.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

Row = dict[int, Any]
"""Values by the ids of their columns, the key among them; NULLs are left out."""


class Outcome(StrEnum):
    """What is known of an operation."""

    OPEN = "open"
    DONE = "done"
    NOTHING = "nothing"
    """It has changed nothing and never will."""


@dataclass(frozen=True)
class Effect:
    """What an operation makes of the rows of its owner. puts: rows by their keys, whole. gone: keys without a row."""

    puts: Mapping[int, Row] = field(default_factory=dict)
    gone: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.puts or self.gone)

    def on(self, state: Mapping[int, Row]) -> dict[int, Row]:
        """The rows that it leaves of a state."""
        changed = dict(state)
        self.change(changed)
        return changed

    def change(self, state: dict[int, Row]) -> None:
        """Changes a state in place."""
        state.update(self.puts)
        for key in self.gone:
            state.pop(key, None)


@dataclass(frozen=True)
class Step:
    """An operation.

    Attributes:
        number: of it in its process, from 1 on.
        kind: what it does; mode: how an unknown outcome is decided.
        call: what repeats it.
        began, ended: seconds since the epoch; ended is that of its first outcome.
        snapshot: that it made; None: it is not known.
        by: a snapshot in which it was seen; None: it was not.
        decided: how an unknown outcome was decided; "": it was never unknown.
    """

    number: int
    table: str
    kind: str
    mode: str
    call: Mapping[str, Any]
    effect: Effect
    began: float
    outcome: Outcome = Outcome.OPEN
    ended: float | None = None
    snapshot: int | None = None
    by: int | None = None
    decided: str = ""
    why: str = ""


class Journal:
    """The journal of a process, which it alone writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists():  # a line without an end was not written: what it tells of had not begun, or is unknown
            data = path.read_bytes()
            os.truncate(path, data.rfind(b"\n") + 1)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self.reader = JournalReader(path)
        self.reader.read()

    @property
    def steps(self) -> list[Step]:
        return self.reader.steps

    def begin(
        self, table: str, kind: str, mode: str = "", call: Mapping[str, Any] | None = None, effect: Effect = Effect()
    ) -> Step:
        number = len(self.steps) + 1
        puts = [[*row.items()] for row in effect.puts.values()]
        self._write(
            {
                **{"begin": number, "table": table, "kind": kind, "mode": mode, "call": dict(call or {})},
                **{"puts": puts, "gone": effect.gone, "at": time.time()},
            }
        )
        return self.steps[-1]

    def done(self, step: Step, snapshot: int | None = None, by: int | None = None, decided: str = "") -> None:
        self._end(step, Outcome.DONE, snapshot=snapshot, by=by, decided=decided)

    def nothing(self, step: Step, why: str = "", decided: str = "") -> None:
        self._end(step, Outcome.NOTHING, why=why, decided=decided)

    def unknown(self, step: Step, why: str) -> None:
        """The outcome stays open, and the process knows it."""
        self._end(step, Outcome.OPEN, why=why)

    def _end(self, step: Step, outcome: Outcome, **more: Any) -> None:
        self._write({"end": step.number, "outcome": outcome, "at": time.time(), **more})

    def _write(self, line: Mapping[str, Any]) -> None:
        os.write(self._file, json.dumps(line).encode() + b"\n")
        os.fsync(self._file)
        self.reader.read()


class JournalReader:
    """The journal of a process, which may go on; each call of ``read`` takes what is new."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[Step] = []
        self._offset = 0

    def read(self) -> list[Step]:
        if not self.path.exists():
            return self.steps
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for text in whole.splitlines():
            self._take(json.loads(text))
        return self.steps

    def _take(self, line: dict[str, Any]) -> None:
        if "begin" in line:
            assert line["begin"] == len(self.steps) + 1, f"{self.path}: {line['begin']} after {len(self.steps)}"
            rows = [dict(pairs) for pairs in line["puts"]]
            effect = Effect({row[0]: row for row in rows}, tuple(line["gone"]))
            call = line["table"], line["kind"], line["mode"], line["call"]
            self.steps.append(Step(line["begin"], *call, effect, line["at"]))
            return
        step = self.steps[line["end"] - 1]
        outcome_details = {key: line[key] for key in ("snapshot", "by", "decided", "why") if line.get(key) is not None}
        ended = line["at"] if step.ended is None else step.ended
        self.steps[line["end"] - 1] = replace(step, outcome=Outcome(line["outcome"]), ended=ended, **outcome_details)


def open_steps(steps: Iterable[Step]) -> list[Step]:
    """Those whose outcome is not known."""
    return [step for step in steps if step.outcome == Outcome.OPEN]
