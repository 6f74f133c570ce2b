"""``./dev bench --compare COMMIT``: the short set in turns with another commit, and a failure where this one is slower.

Each turn is a new process, with the package of one of the two on its path. The turns of a round are old, new, new, old:
what drifts on the machine meets both alike. A line is slower if it is so in each pair of turns, by more than
MOST_SLOWER. While a line seems slower, another round follows before it counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MOST_SLOWER = 1.1
ROUNDS = 3
"""At most: another one follows only while a line seems slower."""
Times = Mapping[str, float]


@dataclass(frozen=True)
class Compared:
    """One line: seconds of both commits, in pairs of turns. No old ones: the other commit does not have the line."""

    what: str
    old: tuple[float, ...]
    new: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The best of the new commit over the best of the old one."""
        return min(self.new) / min(self.old)

    @property
    def is_slower(self) -> bool:
        """True if it is slower in each pair of turns, and by their best: noise does not come in every pair."""
        if not self.old:
            return False
        pairs = zip(self.old, self.new, strict=True)
        return self.ratio > MOST_SLOWER and all(new > MOST_SLOWER * old for old, new in pairs)


def compared(old: Sequence[Times], new: Sequence[Times]) -> list[Compared]:
    """The lines of the new commit, by the turns of both: the first of one belongs to the first of the other."""
    lines = dict.fromkeys(what for turn in new for what in turn)
    pairs = list(zip(old, new, strict=True))
    found = list[Compared]()
    for what in lines:
        both = [(before[what], after[what]) for before, after in pairs if what in before and what in after]
        alone = tuple(after[what] for after in new if what in after)
        found.append(Compared(what, tuple(o for o, _ in both), tuple(n for _, n in both) or alone))
    return found


def report(lines: Sequence[Compared], commit: str) -> str:
    """The table of all lines."""
    head = [f"| what | {commit} | here | here / {commit} | |", "|---|---|---|---|---|"]
    return "\n".join([*head, *map(_line, lines)])


def _line(line: Compared) -> str:
    here = f"{min(line.new):.3f} s"
    if not line.old:
        return f"| {line.what} | - | {here} | - | new |"
    verdict = "SLOWER" if line.is_slower else ""
    return f"| {line.what} | {min(line.old):.3f} s | {here} | {line.ratio:.2f} x | {verdict} |"


def in_turns(old: Callable[[], Times], new: Callable[[], Times]) -> Iterator[list[Compared]]:
    """All lines after each round; the last round is the one after which no line seems slower, or the ROUNDS-th.

    Args:
        old, new: a turn of each commit.
    """
    before: list[Times] = []
    after: list[Times] = []
    for _ in range(ROUNDS):
        before.append(old())
        after += [new(), new()]
        before.append(old())
        lines = compared(before, after)
        yield lines
        if not any(line.is_slower for line in lines):
            return


def run_compare(commit: str) -> bool:
    """Compares with another commit, and prints a table after each round. True: no line is slower."""
    here = HERE.parent
    with tempfile.TemporaryDirectory() as temporary, checkout(here, commit, Path(temporary) / "checkout") as other:
        compiled = Path(temporary) / "compiled"
        for package in (other, here):
            turn(package, compiled)  # compiles what is imported
        for lines in in_turns(lambda: turn(other, compiled), lambda: turn(here, compiled)):
            print(f"\n{report(lines, commit)}", flush=True)
    slower = [line.what for line in lines if line.is_slower]
    if slower:
        print(f"\nslower than {commit} by more than {MOST_SLOWER - 1:.0%} in every turn: {', '.join(slower)}")
    return not slower


@contextmanager
def checkout(repository: Path, commit: str, place: Path) -> Iterator[Path]:
    """The files of a commit in a directory of their own, while the block runs."""
    git = ["git", "-C", str(repository), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(place), commit], check=True)
    try:
        yield place
    finally:
        subprocess.run([*git, "remove", "--force", str(place)], check=True)


def turn(package: Path, compiled: Path) -> Times:
    """Processor seconds of each line, with the package that lies in a directory."""
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONPYCACHEPREFIX": str(compiled)}
    with tempfile.TemporaryDirectory() as place:
        found: dict[str, float] = _printed(environment, "short_session.py", place, str(package))
    with tempfile.TemporaryDirectory() as place:
        steps = _printed(environment, "cold_session.py", "name", "rows", place)
    return found | {f"Spark, {step} of a session": sum(one["processor"].values()) for step, one in steps.items()}


def _printed(environment: Mapping[str, str], *program: str) -> dict[str, Any]:
    """The JSON that a program of this directory prints last."""
    command = [sys.executable, str(HERE / program[0]), *program[1:]]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        package = environment["PYTHONPATH"]
        raise SystemExit(f"--compare: {program[0]} cannot run with the package of {package}: see its error above")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
