"""The JVM of a stream is killed (``kill -9``), and a supervisor starts it again: sums are right (S2).

It is killed by the commit process at each point of a commit, and by the supervisor at random times. It runs where
PAIMON_LONG=1; PAIMON_STREAM_KILLS says how many random times there are.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.long_runs import LONG, tries
from support.oracles.checker import check_table
from support.paths import ROOT

from paimon_spark.tables.open import open_table

KILLS = tries("PAIMON_STREAM_KILLS", ci=0, long=20)
KEYS = 20
POINTS = ("before-note", "before-snapshot", "after-snapshot", "before-done")
SECONDS = 120  # a run takes at most
pytestmark = [pytest.mark.skipif(not LONG, reason="starts a JVM for each kill: set PAIMON_LONG=1"), pytest.mark.spark]


@pytest.mark.parametrize("point", POINTS)
def test_killed_in_a_commit(point: str, tmp_path: Path) -> None:
    add_events(tmp_path, 3)
    with started(tmp_path, point) as process:
        assert process.wait(SECONDS) != 0
    assert last_batch(tmp_path / "checkpoint") == 0, "the second batch was not finished"
    with started(tmp_path) as process:
        assert process.wait(SECONDS) == 0
    assert_sums(tmp_path, 3)


def test_killed_at_random_times(tmp_path: Path) -> None:
    batches = 8 * KILLS + 8
    add_events(tmp_path, batches)
    chance, killed = random.Random(), 0
    while killed < KILLS:
        with started(tmp_path) as process:
            assert process.stdout is not None
            jvm = int(process.stdout.readline().split()[1])
            for _ in range(chance.randrange(1, 8)):
                process.stdout.readline()
            with suppress(subprocess.TimeoutExpired):
                process.wait(chance.random() * 0.7)
            if process.poll() is not None:
                break  # all events are in the table
            os.kill(jvm, signal.SIGKILL)
            killed += 1
            process.wait(SECONDS)
    with started(tmp_path) as process:
        assert process.wait(SECONDS) == 0
    assert_sums(tmp_path, batches)
    print(f"  {killed} kills; {batches} batches")


def add_events(folder: Path, batches: int) -> None:
    (folder / "events").mkdir()
    for number in range(batches):
        lines = (json.dumps({"id": key, "v": number}) for key in range(KEYS))
        (folder / "events" / f"{number:04d}.json").write_text("\n".join(lines))


def assert_sums(folder: Path, batches: int) -> None:
    """Each batch is in the table once, with one snapshot. A batch after a kill may hold the file of the one before."""
    table = str(folder / "t")
    rows = open_table(table).scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [(key, sum(range(batches))) for key in range(KEYS)]
    store = open_table(table).snapshots
    numbers = [s.commit_identifier for s in map(store.load, store.ids()) if s.commit_kind != "COMPACT"]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == last_batch(folder / "checkpoint")
    check_table(table)


def last_batch(checkpoint: Path) -> int:
    """The last batch that Spark knows as finished."""
    return max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdigit())


@contextmanager
def started(folder: Path, *point: str) -> Iterator[subprocess.Popen[str]]:
    """The program; all its processes are ended when the block is left."""
    program = ROOT / "tests/support/programs/killed_stream.py"
    arguments = [str(folder / name) for name in ("events", "t", "checkpoint")]
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    with (
        (folder / "errors").open("ab") as errors,
        subprocess.Popen(
            [sys.executable, str(program), *arguments, *point],
            env={**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
