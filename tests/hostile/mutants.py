"""Many mutants, in child processes: what came of them, and which of them broke the process.

``python mutants.py FIRST COUNT KIND`` tells of the mutants FIRST to FIRST + COUNT - 1, of all so far after each batch;
KIND is metadata or data: what is wrong with them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BATCH = 500
SECONDS = 120.0  # of wall time: the machine may have other work
MOST_BYTES = 6 * 2**30
HERE = Path(__file__).parent


@dataclass
class Tally:
    """What came of many mutants.

    Attributes:
        lived: how many.
        results: how often each came of each thing that was done.
        wrong: (seed, what was wrong with the mutant, what must not have happened).
        peak_kib: the most memory that a process used.
    """

    lived: int = 0
    results: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[tuple[int, str, str]] = field(default_factory=list)
    peak_kib: int = 0

    def add(self, line: str) -> None:
        if line.startswith("peak "):
            self.peak_kib = max(self.peak_kib, int(line.split()[1]))
            return
        outcome: dict[str, Any] = json.loads(line)
        self.lived += 1
        self.results.update(outcome["results"].items())
        self.wrong += ((outcome["seed"], outcome["what"], wrong) for wrong in outcome["wrong"])

    def __str__(self) -> str:
        by_result = Counter[str]()
        for (_, result), count in self.results.items():
            by_result[result] += count
        lines = [f"{self.lived} mutants, peak {self.peak_kib / 1024:.0f} MiB, {len(self.wrong)} wrong"]
        lines += [f"  {result}: {count}" for result, count in by_result.most_common()]
        return "\n".join([*lines, *(f"  seed {seed}: {wrong}\n    {what}" for seed, what, wrong in self.wrong)])


def live_through(
    first: int, count: int, tell: Callable[[Tally], None] = lambda tally: None, kind: str = "metadata"
) -> Tally:
    """Mutants first to first + count - 1; a number is a seed, which makes the same mutant again.

    tell: is called after each process. kind: metadata or data, what is wrong.
    """
    tally, seed, end = Tally(), first, first + count
    while seed < end:
        seed = _batch(tally, seed, min(BATCH, end - seed), kind)
        tell(tally)
    return tally


def _batch(tally: Tally, first: int, count: int, kind: str) -> int:
    """One process; the next seed to go on with."""
    with tempfile.TemporaryDirectory(dir=_memory_disk()) as folder, tempfile.TemporaryFile("w+") as errors:
        seed = first
        for line in _lines(folder, first, count, kind, errors):
            if line.startswith("> "):
                seed = int(line[2:])
            else:
                tally.add(line)
        if tally.lived and seed == first + count - 1 and line.startswith("peak "):
            return first + count
        errors.seek(0)
        tally.wrong.append((seed, "", f"the process ended: {errors.read()[-3000:]}"))
        tally.lived += 1
        return seed + 1


def _lines(folder: str, first: int, count: int, kind: str, errors: Any) -> Iterator[str]:
    command = [
        sys.executable,
        str(HERE / "mutant_worker.py"),
        folder,
        str(first),
        str(count),
        str(SECONDS),
        str(MOST_BYTES),
        kind,
    ]
    path = os.pathsep.join([str(HERE.parents[1]), str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment) as child:
        assert child.stdout is not None
        yield from child.stdout
    if child.returncode:
        errors.write(f"exit code {child.returncode}")


def _memory_disk() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


if __name__ == "__main__":
    live_through(int(sys.argv[1]), int(sys.argv[2]), lambda tally: print(tally, flush=True), *sys.argv[3:])
