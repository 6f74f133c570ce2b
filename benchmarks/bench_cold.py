"""Cold sessions: the first write and the first read of 1,000 rows, against the JVM connector and a source that does nothing.

A session is a process of its own. ``PAIMON_JVM_PYTHON`` names a Python with the PySpark that the connector is for, and
``PAIMON_JVM_JAR`` the connector; without them its lines are left out.
"""  # noqa: E501

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import Results

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.programs.cold_steps import STEPS, run_steps

ROUNDS = 5
QUANTITIES = ("first write", "first read", "second read")


def seconds(kind: str) -> dict[str, float]:
    """What one new session took."""
    jvm = kind == "jvm"
    python = os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(Path(__file__).with_name("cold_session.py")), kind, folder]
        command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
        env = {key: value for key, value in os.environ.items() if not jvm or key != "PYTHONPATH"}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True, check=True
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def sessions(results: Results, rounds: int) -> None:
    kinds = ["paimon", "catalog", "nothing"] + (["jvm"] if "PAIMON_JVM_JAR" in os.environ else [])
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            runs[kind].append(seconds(kind))
    for what in QUANTITIES:
        taken = {kind: [run[what] for run in runs[kind]] for kind in kinds}
        middle = {kind: statistics.median(values) for kind, values in taken.items()}
        note = "; ".join(f"{kind} " + ", ".join(f"{s:.2f}" for s in sorted(values)) for kind, values in taken.items())
        results.lower(
            f"{what} of a session: over a source that does nothing", middle["paimon"] - middle["nothing"], "s", 1, note
        )
        if "jvm" in kinds:
            for kind, by in {"paimon": "by path", "catalog": "by name"}.items():
                ratio = middle[kind] / middle["jvm"]
                results.lower(f"{what} of a session, {by}: time / JVM connector", ratio, "x", 1.5, note)


def processes(results: Results) -> None:
    """What each Python process of Spark's spends beyond Spark's own imports."""
    with tempfile.TemporaryDirectory() as folder:
        steps = run_steps(Path(folder))
    parts = (f"{n} {steps[n].our_millis} ms, {steps[n].own} of {len(steps[n].modules)} modules ours" for n in STEPS)
    total = sum(step.our_millis for step in steps.values()) / 1000
    results.lower("processor time of the seven steps of a first write and read", total, "s", 3, "; ".join(parts))


def run(results: Results, root: Path, scale: float) -> None:
    processes(results)
    sessions(results, max(1, round(ROUNDS * scale)))
