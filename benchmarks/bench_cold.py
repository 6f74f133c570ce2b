"""Cold sessions: the first write, the first read and the first call of each other door of a session.

Beside them stand the JVM connector and a Python data source that does nothing. A session is a process of its own; its
modules are compiled, as those of an installed package are. ``PAIMON_JVM_PYTHON`` names a Python with the PySpark that
the connector is for, and ``PAIMON_JVM_JAR`` the connector; without them its lines are left out.

The best of some sessions counts: what else a machine does makes each longer. Processor seconds are of all processes of
the session, the compiler of the JVM included.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import Results

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.programs.cold_steps import STEPS, run_steps

from paimon_spark import create_table

ROUNDS = 5
BY_PATH, BY_NAME = 0.5, 1.2
"""Seconds above a source that does nothing, and times the JVM connector."""
STEPS_OF_ROWS = ("first write", "first read", "second read")
DOORS = {"select": "first SELECT", "files": "first read of $files by SQL", "call": "first CALL", "merge": "first MERGE"}
COLUMNS = {"id": "BIGINT NOT NULL", "dt": "STRING", "total": "DOUBLE"}
_WORDS = {"path": "by path", "name": "by the catalog of Spark", "catalog": "by paimon_spark.catalog"}
Found = Mapping[str, Any]


def session(kind: str, door: str, warehouse: Path, modules: str) -> dict[str, Found]:
    """What the steps of one new session took.

    Args:
        modules: where compiled modules are.
    """
    jvm = kind == "jvm"
    command = [os.environ["PAIMON_JVM_PYTHON"] if jvm else sys.executable]
    command += [str(Path(__file__).with_name("cold_session.py")), kind, door, str(warehouse)]
    command += [os.environ["PAIMON_JVM_JAR"]] if jvm else []
    env = {**os.environ, "PYTHONPYCACHEPREFIX": modules}
    if jvm:
        env.pop("PYTHONPATH", None)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True, check=True)
    found: dict[str, Found] = json.loads(done.stdout.splitlines()[-1])
    return found


def best(kinds: Sequence[str], door: str, rounds: int, modules: str, table: Path | None) -> dict[str, dict[str, Found]]:
    """By kind and step, of each number the least over rounds of sessions in turn.

    Args:
        table: a warehouse of which each session gets a copy; None: an empty one.
    """
    runs: dict[str, list[dict[str, Found]]] = {kind: [] for kind in kinds}
    for number in range(rounds + 1):
        for kind in kinds:
            with tempfile.TemporaryDirectory() as folder:
                if table is not None:
                    shutil.copytree(table, folder, dirs_exist_ok=True)
                found = session(kind, door, Path(folder), modules)
            if number:  # the first one compiles
                runs[kind].append(found)
    return {kind: {step: _least([run[step] for run in of]) for step in of[0]} for kind, of in runs.items()}


def _least(found: Sequence[Found]) -> Found:
    names = {name for one in found for name in one["processor"]}
    spent = {name: min(one["processor"].get(name, 0) for one in found) for name in sorted(names - {""})}
    fastest = min(one["seconds"] for one in found)
    total = min(sum(one["processor"].values()) for one in found)
    return {"seconds": fastest, "total": total, "processor": spent, "round trips": found[0]["round trips"]}


def _note(found: Mapping[str, Found]) -> str:
    def told(kind: str, one: Found) -> str:
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in one["processor"].items() if seconds >= 0.02)
        trips = f", {one['round trips']} round trips" if kind != "jvm" else ""
        return f"{kind} {one['seconds']:.2f} s, processor {one['total']:.2f} s ({parts}{trips})"

    return "; ".join(told(kind, one) for kind, one in found.items())


def compare(results: Results, what: str, found: Mapping[str, Found]) -> None:
    note = _note(found)
    for kind, words in _WORDS.items():
        if kind == "path" and kind in found and "nothing" in found:
            above = found[kind]["seconds"] - found["nothing"]["seconds"]
            results.lower(f"{what}, {words}: over a source that does nothing", above, "s", BY_PATH, note)
        elif kind in found and "jvm" in found:
            ratio = found[kind]["seconds"] / found["jvm"]["seconds"]
            results.lower(f"{what}, {words}: time / JVM connector", ratio, "x", BY_NAME, note)
            ratio = found[kind]["total"] / found["jvm"]["total"]
            results.lower(f"{what}, {words}: processor time / JVM connector", ratio, "x", BY_NAME)


def sessions(results: Results, rounds: int) -> None:
    jvm = ["jvm"] if "PAIMON_JVM_JAR" in os.environ else []
    with tempfile.TemporaryDirectory() as modules, tempfile.TemporaryDirectory() as warehouse:
        found = best(["path", "nothing", "name", "catalog", *jvm], "rows", rounds, modules, None)
        for step in STEPS_OF_ROWS:
            compare(results, f"{step} of a session", {kind: steps[step] for kind, steps in found.items()})
        table = create_table(f"{warehouse}/default.db/t", COLUMNS, "id", options={"bucket": "2"})
        table.append({"id": range(1000), "dt": [f"d{i % 28}" for i in range(1000)], "total": [0.5] * 1000})
        for door, what in DOORS.items():
            found = best(["name", "catalog", *jvm], door, rounds, modules, Path(warehouse))
            compare(results, f"{what} of a session", {kind: steps[door] for kind, steps in found.items()})
        found = best(["name", *jvm], "stream", rounds, modules, Path(warehouse))
        compare(results, "first stream of a session", {kind: steps["stream"] for kind, steps in found.items()})


def processes(results: Results) -> None:
    """What each Python process of Spark's spends beyond Spark's own imports."""
    with tempfile.TemporaryDirectory() as folder:
        run_steps(Path(folder) / "compiled", folder)
        steps = run_steps(Path(folder) / "measured", folder)
    parts = (f"{n} {steps[n].our_millis} ms, {steps[n].own} of {len(steps[n].modules)} modules ours" for n in STEPS)
    total = sum(step.our_millis for step in steps.values()) / 1000
    results.lower("processor time of the seven steps of a first write and read", total, "s", 3, "; ".join(parts))


READS = "paimon_spark.spark.spark_catalog.registration", "paimon_spark.spark.spark_catalog.scan_builder"
IMPORTS = """
import time; import pyspark.sql; began = time.process_time(); import pyarrow, pyarrow.compute
arrow = time.process_time(); import {}; print(time.process_time() - began, arrow - began)"""


def imports(results: Results, rounds: int) -> None:
    """What a catalog of Spark imports until its first read, beyond PySpark."""
    with tempfile.TemporaryDirectory() as modules:
        env = {**os.environ, "PYTHONPYCACHEPREFIX": modules}
        command = [sys.executable, "-c", IMPORTS.format(", ".join(READS))]
        texts = [subprocess.check_output(command, env=env, text=True) for _ in range(2 * rounds + 1)]
    total, arrow = min(tuple(map(float, text.split())) for text in texts)
    note = f"processor time beyond PySpark, of which PyArrow with NumPy {arrow:.2f} s"
    results.lower("import of paimon_spark with what a read needs", total, "s", 0.25, note)


def run(results: Results, root: Path, scale: float) -> None:
    imports(results, max(1, round(ROUNDS * scale)))
    processes(results)
    sessions(results, max(1, round(ROUNDS * scale)))
