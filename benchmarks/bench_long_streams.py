"""Streams of 10,000 micro-batches: memory and time of the last ones beside the first ones. It takes most of an hour."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench_streams import COLUMNS
from long_stream_session import TABLE
from measure import Results
from streams_session import DATABASE

from paimon_spark.catalogs.create import create_table, new_schema

BATCHES = 10_000
BASE = 0.1  # of the batches, after which Java and Python have loaded what they need
OPTIONS = {"bucket": "2", "changelog-producer": "input", "snapshot.num-retained.max": "100"}
MOST = 1.1


def run(results: Results, root: Path, scale: float) -> None:
    folder, batches = root / "long-streams", max(int(BATCHES * scale), 100)
    shutil.rmtree(folder, ignore_errors=True)
    create_table(str(folder / f"{DATABASE}.db" / TABLE), new_schema(COLUMNS, ("id",), (), OPTIONS))
    command = [sys.executable, str(Path(__file__).with_name("long_stream_session.py")), str(folder), str(batches)]
    found: list[dict[str, float]] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ, text=True
    ) as session:
        for line in session.stdout or ():
            if line.startswith("{"):
                found.append(json.loads(line))
                print(line.strip(), flush=True)
    if session.returncode:
        raise SystemExit(f"long streams: the session ended with {session.returncode}")
    shutil.rmtree(folder)
    base = next(step for step in found if step["batch"] >= batches * BASE)
    last = found[-1]
    for what, word, unit in (("python", "memory of the Python processes", "MB"), ("java", "heap of the JVM", "MB")):
        note = f"{last[what]:.0f} {unit}, {base[what]:.0f} after {base['batch']:.0f} batches"
        results.lower(f"{batches:,} micro-batches: {word}, last / first", last[what] / base[what], "x", MOST, note)
    note = f"{last['millis']:.0f} ms, {base['millis']:.0f}; {last['read']:.0f} batches of the stream that reads"
    results.lower(f"{batches:,} micro-batches: time, last / first", last["millis"] / base["millis"], "x", MOST, note)
