"""The JVM of a stream is killed at random times (``kill -9``), and a supervisor starts it again: sums are right.

It runs where PAIMON_LONG=1; PAIMON_STREAM_KILLS says how many times it kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.long_runs import LONG, tries
from support.oracles.checker import check_table
from support.paths import ROOT

from paimon_spark.store.open import find_table, open_table

KILLS = tries("PAIMON_STREAM_KILLS", ci=0, long=20)
BATCHES = 200
KEYS = 20


@pytest.mark.skipif(not LONG, reason="starts a JVM for each kill: set PAIMON_LONG=1")
@pytest.mark.spark
def test_sums_are_right_after_each_kill(tmp_path: Path) -> None:
    events = tmp_path / "events"
    events.mkdir()
    for number in range(BATCHES):
        lines = (json.dumps({"id": key, "v": number}) for key in range(KEYS))
        (events / f"{number:04d}.json").write_text("\n".join(lines))
    chance, killed = random.Random(), 0
    table, pid = tmp_path / "t", tmp_path / "pid"
    while killed < KILLS and written(table) < BATCHES:
        process = start(tmp_path)
        enough = written(table) + chance.randrange(1, max(2, 2 * BATCHES // (KILLS + 1)))
        while written(table) < enough and process.poll() is None:
            time.sleep(0.02)
        time.sleep(chance.random() * 0.7)
        if process.poll() is None:
            os.kill(int(pid.read_text()), signal.SIGKILL)
            killed += 1
        process.wait()
        pid.unlink(missing_ok=True)
    assert start(tmp_path).wait() == 0
    rows = open_table(str(table)).scan().to_arrow().to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [(key, sum(range(BATCHES))) for key in range(KEYS)]
    store = open_table(str(table)).snapshots
    numbers = [s.commit_identifier for s in map(store.load, store.ids()) if s.commit_kind != "COMPACT"]
    assert numbers == sorted(set(numbers))
    check_table(str(table))
    print(f"  {killed} kills; {numbers[-1] + 1} batches")


def start(folder: Path) -> subprocess.Popen[bytes]:
    """The program, with its process id file and its output in the folder."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    program = ROOT / "tests" / "support" / "programs" / "killed_stream.py"
    arguments = [str(folder / name) for name in ("events", "t", "checkpoint", "pid")]
    environment = {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable}
    with (folder / "output").open("ab") as output:
        return subprocess.Popen(
            [sys.executable, str(program), *arguments], env=environment, stdout=output, stderr=output
        )


def written(table: Path) -> int:
    """How many batches the note knows."""
    if find_table(str(table)) is None:
        return 0
    notes = list((table / "stream-sink").glob("spark-*.json"))
    return int(json.loads(notes[0].read_text())["batch"]) + 1 if notes else 0
