"""How much faster several executors of one core are than one: a merged read, a write of all rows, a full compaction.

Executors are processes of this machine. Those that are more than its cores take them from each other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import tables
from executors_session import BUCKETS, WORKS
from measure import Results

EXECUTORS = (1, 2, 4)
GOAL = 0.8
"""Of the number of executors, or of the cores if they are fewer."""


def seconds(executors: int, folder: Path, table: str, files: str) -> dict[str, float]:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, str(Path(__file__).with_name("executors_session.py"))]
    command += [str(executors), str(folder), table, files]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run(results: Results, root: Path, scale: float) -> None:
    count, upserts = int(5e6 * scale), int(2e5 * scale)
    merged = tables.primary_key_table(root / "bench.db", "int64 dense", count, upserts, 8, BUCKETS)
    source = tables.append_table(root / "bench.db", count)
    taken = {n: seconds(n, root / "executors", merged.location, source.location) for n in EXECUTORS}
    cores = os.cpu_count() or 1
    for what in WORKS:
        for number in EXECUTORS[1:]:
            faster = taken[1][what] / taken[number][what]
            note = f"{taken[number][what]:.2f} s, one executor {taken[1][what]:.2f} s, {cores} cores"
            goal = GOAL * min(number, cores)
            results.higher(f"{what} by {number} executors of one core: speed / one", faster, "x", goal, note)
