"""Timing for noisy machines: candidates run in turn, the best round counts, results are ratios in one run."""

from __future__ import annotations

import gc
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

ROUNDS = 5


@dataclass(frozen=True)
class Figure:
    """One line of the result table. goal is the bar the project set itself; better tells its direction."""

    what: str
    value: float
    unit: str
    goal: float
    better: str  # "lower" or "higher"
    note: str = ""

    @property
    def met(self) -> bool:
        return self.value <= self.goal if self.better == "lower" else self.value >= self.goal


@dataclass
class Results:
    figures: list[Figure] = field(default_factory=list)

    def lower(self, what: str, value: float, unit: str, goal: float, note: str = "") -> None:
        self._add(Figure(what, value, unit, goal, "lower", note))

    def higher(self, what: str, value: float, unit: str, goal: float, note: str = "") -> None:
        self._add(Figure(what, value, unit, goal, "higher", note))

    def _add(self, figure: Figure) -> None:
        self.figures.append(figure)
        print(_line(figure), flush=True)


def has_peer(part: str) -> bool:
    """True if the JVM connector is named, which the part is compared with; else says so."""
    if "PAIMON_JVM_JAR" in os.environ:
        return True
    print(f"{part}: its lines beside the JVM connector are left out; name it by PAIMON_JVM_PYTHON and PAIMON_JVM_JAR")
    return False


def _line(figure: Figure) -> str:
    sign = "<=" if figure.better == "lower" else ">="
    verdict = "met" if figure.met else "MISSED"
    return (
        f"| {figure.what} | {figure.value:.2f} {figure.unit} | {sign} {figure.goal:g} {figure.unit} "
        f"| {verdict} | {figure.note} |"
    )


def fastest(candidates: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of each candidate: the minimum over rounds; the candidates take turns, so drift hits all alike."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(rounds):
        for name, run in candidates.items():
            gc.collect()
            began = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def machine() -> str:
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores {model}, {platform.system()}, Python {platform.python_version()}"


def versions() -> str:
    names = ("paimon-spark", "pyspark", "pyarrow", "numpy", "pypaimon-rust", "fastavro")
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return ", ".join(f"{name} {version}" for name, version in found.items())


def printed_apart(call: str) -> Any:
    """The JSON that a call such as ``bench_memory.read('/t')`` prints in a process with peaks of its own."""
    code, here = f"import {call.partition('.')[0]}; {call}", Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def resident_peak() -> int:
    """Peak resident set in bytes of this process itself (ru_maxrss may count its parent)."""
    status = Path("/proc/self/status")
    if not status.exists():
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * 1024
    return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def write_results(results: Results, target: Path, minutes: float) -> None:
    """The table as Markdown, with what it was measured on."""
    head = [
        "# Benchmark results",
        "",
        "Written by `./dev bench`. Ratios compare candidates that ran in turn in one process; the best round",
        "counts. The machine may be shared: trust ratios, not seconds.",
        "",
        f"- machine: {machine()}",
        f"- versions: {versions()}",
        f"- took {minutes:.1f} minutes",
        "",
        "| what | measured | goal | | note |",
        "|---|---|---|---|---|",
    ]
    target.write_text("\n".join(head + [_line(figure) for figure in results.figures]) + "\n")
