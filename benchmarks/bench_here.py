"""Writes and reads without Spark, beside other libraries of Python.

``PAIMON_PEERS_PYTHON`` names a Python that has pypaimon, deltalake or pylance; the lines of those that it lacks, or
that fail, are left out. All sessions run in turn, and the best of ROUNDS counts. The modules of each are compiled, as
those of an installed package are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from measure import Results

ROUNDS = 2
PEERS = ("pypaimon", "deltalake", "lance")
BARS = {"append of 1 million rows": 1 / 1.5, "upsert of 10,000 rows into 5 million": 1 / 1.5, "point read": 1 / 1.5}


SECONDS = {"a new process reads a small table": 0.5, "paimon-spark info": 0.7}
NEW_PROCESS = "a new process reads a small table"
PROGRAMS = {
    "ours": "import paimon_spark; print(paimon_spark.open_table('{folder}/warm').scan().to_arrow().num_rows)",
    "pypaimon": "from pypaimon import CatalogFactory; "
    "builder = CatalogFactory.create({{'warehouse': '{folder}'}}).get_table('d.warm').new_read_builder(); "
    "print(builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows)",
    "deltalake": "from deltalake import DeltaTable; print(DeltaTable('{folder}/warm').to_pyarrow_table().num_rows)",
    "lance": "import lance; print(lance.dataset('{folder}/warm').to_table().num_rows)",
}
"""A whole program that reads the table `warm` of a session, which has a few rows."""
STARTS = 5


def new_process(arguments: list[str], env: Mapping[str, str]) -> float:
    """The least seconds of a new process, its start and its end among them."""
    best = float("inf")
    for _ in range(STARTS):
        began = time.perf_counter()
        done = subprocess.run(arguments, capture_output=True, env=env, check=False)
        best = min(best, time.perf_counter() - began)
        if not done.stdout:  # deltalake aborts at its end, after its answer
            raise AssertionError(f"{arguments} printed nothing: {done.stderr.decode()}")
    return best


def session(kind: str, scale: float, modules: str) -> dict[str, float]:
    """Seconds by step, and the peak of memory in MB; fewer steps where the library cannot do one.

    Args:
        modules: where compiled modules are.
    """
    python = sys.executable if kind == "ours" else os.environ["PAIMON_PEERS_PYTHON"]
    env = {**os.environ, "PYTHONPYCACHEPREFIX": modules}
    if kind != "ours":
        env.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(Path(__file__).with_name("here_session.py")), kind, folder, str(scale)]
        done = subprocess.run(command, capture_output=True, env=env, text=True, check=False)
        cold = {}
        if not done.returncode:
            cold[NEW_PROCESS] = new_process([python, "-c", PROGRAMS[kind].format(folder=folder)], env)
        if kind == "ours":
            program = str(Path(python).with_name("paimon-spark"))
            cold["paimon-spark info"] = new_process([program, "info", f"{folder}/warm"], env)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        print(f"here: {kind} ended early: {done.stderr.strip().splitlines()[-1:]}", flush=True)
    found = {line["what"]: line["seconds"] for line in lines if "what" in line}
    peaks = [line["peak"] for line in lines if "peak" in line]
    return {**found, **cold, "peak": peaks[-1]} if peaks else found


def run(results: Results, root: Path, scale: float) -> None:
    kinds = ["ours", *(PEERS if "PAIMON_PEERS_PYTHON" in os.environ else ())]
    best: dict[str, dict[str, float]] = {kind: {} for kind in kinds}
    with tempfile.TemporaryDirectory() as modules:
        for kind in kinds * ROUNDS:
            for what, seconds in session(kind, scale, modules).items():
                best[kind][what] = min(seconds, best[kind].get(what, seconds))
    for what, ours in best["ours"].items():
        others = {kind: found[what] for kind, found in best.items() if kind != "ours" and what in found}
        if what == "peak":
            note = ", ".join(f"{kind} {megabytes:.0f} MB" for kind, megabytes in others.items())
            results.lower("without Spark: peak of memory", ours, "MB", 3000, note)
            continue
        note = ", ".join(f"{kind} {seconds:.3f} s" for kind, seconds in {"ours": ours, **others}.items())
        if what in SECONDS:
            results.lower(f"without Spark: {what}", ours, "s", SECONDS[what], note)
        elif what.startswith("100 commits"):
            one = what.replace("100 commits", "a commit")
            results.lower(f"without Spark: {one}", ours * 10, "ms", 15, note)
        elif others:
            fastest = min(others.values())
            results.lower(f"without Spark: {what}: time / fastest peer", ours / fastest, "x", BARS.get(what, 1), note)
            if "pypaimon" in others and what.startswith("append"):  # the others keep no keys
                ratio = ours / others["pypaimon"]
                results.lower(f"without Spark: {what}: time / pypaimon, which sorts it too", ratio, "x", 1 / 1.5, note)
        else:
            print(f"without Spark: {what}: {note}", flush=True)
