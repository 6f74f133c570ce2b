"""A pipeline of streams is kept alive: each of its jobs is killed (``kill -9``) now and then, with all its processes, and
started again, while the tables are compacted and expire. At the end every table is what the batches make of it.

Generator, key table with a lookup changelog, stream, sums, stream, states of the sums. It runs where PAIMON_LONG=1;
PAIMON_PIPELINE_SECONDS says how long the jobs are killed.
"""  # noqa: E501

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from support.long_runs import LONG, tries
from support.oracles.checker import check_table
from support.paths import ROOT
from support.programs.pipeline_job import GROUPS, TABLES, changes, create_tables, written

from paimon_spark.tables.open import open_table

SECONDS = tries("PAIMON_PIPELINE_SECONDS", ci=0, long=1800)
JOBS = ("generate", "add", "deliver", "maintain")
LIVES = 20.0, 60.0  # seconds between two kills
ENDS = 240  # seconds that the last run of a job takes at most
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Job:
    """A job that is started again whenever it ends."""

    def __init__(self, name: str, folder: Path, chance: random.Random) -> None:
        self._name, self._folder, self._chance = name, folder, chance
        self.ended: Counter[str] = Counter()
        self.resident: list[tuple[float, int]] = []  # (when, MB of all its processes)
        self.start()

    def start(self, *more: str) -> None:
        program = ROOT / "tests/support/programs/pipeline_job.py"
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/tests", "PYSPARK_PYTHON": sys.executable}
        with (self._folder / f"{self._name}.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(program), self._name, str(self._folder), *more],
                env=environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        self.due = time.monotonic() + self._chance.uniform(*LIVES)

    def look(self) -> None:
        """Kills it if its time is up, and starts it if it has ended."""
        self.resident.append((time.monotonic(), group_memory(self.process.pid)))
        if self.process.poll() is not None:
            self.ended[f"ended with {self.process.returncode}"] += 1
        elif time.monotonic() < self.due:
            return
        self.kill()
        self.ended["killed"] += 1
        self.start()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def group_memory(group: int) -> int:
    """MB of all processes of a group."""
    pages = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = stat.read_text().rpartition(")")[2].split()
            pages += int(words[21]) if int(words[2]) == group else 0
    return pages * _PAGE // 2**20


@pytest.mark.skipif(not LONG, reason="keeps three JVMs busy: set PAIMON_LONG=1")
@pytest.mark.spark
def test_every_table_is_right_at_the_end(tmp_path: Path) -> None:
    create_tables(str(tmp_path))
    chance, until = random.Random(), time.monotonic() + SECONDS
    jobs = [Job(name, tmp_path, chance) for name in JOBS]
    try:
        while time.monotonic() < until:
            with suppress(subprocess.TimeoutExpired):
                jobs[0].process.wait(1)
            for job in jobs:
                job.look()
        for job in jobs:
            job.kill()
        for job in jobs[:3]:
            job.start("end")
            assert job.process.wait(ENDS) == 0, (tmp_path / f"{JOBS[jobs.index(job)]}.log").read_text()[-3000:]
    finally:
        for job in jobs:
            job.kill()
    last = written(str(tmp_path))
    for name, job in zip(JOBS, jobs, strict=True):
        third = len(job.resident) // 3
        highest = [max(mb for _, mb in part) for part in (job.resident[:third], job.resident[-third:])]
        print(f"  {name}: {dict(job.ended)}, at most {highest[0]} MB in the first third, {highest[1]} MB in the last")
    print(f"  {last + 1} batches, snapshots: {[open_table(str(tmp_path / t)).snapshots.latest_id() for t in TABLES]}")
    orders = model(last)
    assert rows_of(tmp_path / "orders", "k", "g", "v") == sorted((k, g, v) for k, (g, v) in orders.items())
    sums = [
        (g, sum(v for at, v in orders.values() if at == g), sum(at == g for at, _ in orders.values()))
        for g in range(GROUPS)
    ]
    assert rows_of(tmp_path / "sums", "g", "v", "n") == sums
    assert rows_of(tmp_path / "delivered", "g", "v", "n") == sums
    for name in TABLES:
        check_table(str(tmp_path / name))


def model(last: int) -> dict[int, tuple[int, int]]:
    """Group and value by key, after the batches."""
    found: dict[int, tuple[int, int]] = {}
    for number in range(last + 1):
        for k, g, v, op in changes(number):
            if op == "-D":
                found.pop(k, None)
            else:
                found[k] = g, v
    return found


def rows_of(path: Path, *columns: str) -> list[tuple[int, ...]]:
    rows = open_table(str(path)).scan(list(columns)).to_arrow().to_pylist()
    return sorted(tuple(row[name] for name in columns) for row in rows)
