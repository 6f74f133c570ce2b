"""Writes and reads without Spark, beside other libraries of Python.

``PAIMON_PEERS_PYTHON`` names a Python that has pypaimon, deltalake or pylance; the lines of those that it lacks, or
that fail, are left out. All sessions run in turn, and the best of ROUNDS counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Results

ROUNDS = 2
PEERS = ("pypaimon", "deltalake", "lance")
BARS = {"append of 1 million rows": 1 / 1.5, "upsert of 10,000 rows into 5 million": 1 / 1.5, "point read": 1 / 1.5}


def session(kind: str, scale: float) -> dict[str, float]:
    """Seconds by step, and the peak of memory in MB; fewer steps where the library cannot do one."""
    python = sys.executable if kind == "ours" else os.environ["PAIMON_PEERS_PYTHON"]
    env = {key: value for key, value in os.environ.items() if kind == "ours" or key != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(Path(__file__).with_name("here_session.py")), kind, folder, str(scale)]
        done = subprocess.run(command, capture_output=True, env=env, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        print(f"here: {kind} ended early: {done.stderr.strip().splitlines()[-1:]}", flush=True)
    found = {line["what"]: line["seconds"] for line in lines if "what" in line}
    peaks = [line["peak"] for line in lines if "peak" in line]
    return {**found, "peak": peaks[-1]} if peaks else found


def run(results: Results, root: Path, scale: float) -> None:
    kinds = ["ours", *(PEERS if "PAIMON_PEERS_PYTHON" in os.environ else ())]
    best: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    for _ in range(ROUNDS):
        for kind in kinds:
            for what, seconds in session(kind, scale).items():
                best[kind][what] = min(seconds, best[kind].get(what, seconds))
    for what, ours in best["ours"].items():
        others = {kind: found[what] for kind, found in best.items() if kind != "ours" and what in found}
        if what == "peak":
            note = ", ".join(f"{kind} {megabytes:.0f} MB" for kind, megabytes in others.items())
            results.lower("without Spark: peak of memory", ours, "MB", 3000, note)
            continue
        note = ", ".join(f"{kind} {seconds:.3f} s" for kind, seconds in {"ours": ours, **others}.items())
        if what.startswith("100 commits"):
            results.lower("without Spark: a commit of one row", ours * 10, "ms", 15, note)
        elif others:
            results.lower(
                f"without Spark: {what}: time / fastest peer", ours / min(others.values()), "x", BARS.get(what, 1), note
            )
        else:
            print(f"without Spark: {what}: {note}", flush=True)
