"""Measures how many small mistakes in the code the tests notice.

Two steps, each a command; the packages ``coverage`` and ``pytest-cov`` are needed for the first:

    python tests/release/mutation_share.py map        # which test runs which line; some 20 minutes
    python tests/release/mutation_share.py measure --places 300 --seed 1
    python tests/release/mutation_share.py measure --places 100 --seed 2 --folders store

The second changes one random place at a time in a copy of the checkout, runs the tests that run this line until one
fails, and prints the share that was caught, of all places and of each package. A line that no test runs counts as not
caught. Tests with a Spark session or with the genuine Java system, and slow ones, do not take part: the true share is
higher.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import multiprocessing as mp
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest
from source_changes import Mutation, count_places, mutate

ROOT = Path(__file__).parents[2]
FOLDERS = ("merge", "store", "format")
TESTS = (
    "tests/format",
    "tests/arrow",
    "tests/merge",
    "tests/store",
    "tests/test_golden_tables.py",
    "tests/catalogs/rest",
)
SECONDS_A_PLACE = 60.0  # of tests, in the order of how near and how short they are
CAUGHT = ("caught", "timeout")
SLOW = 6.0  # seconds of a test that does not take part


@dataclass(frozen=True)
class TestMap:
    """Which tests ran which line, and how long each took.

    Attributes:
        folder: where the first step left it.
        existing: the tests that there are; None: those of the first step.
    """

    folder: Path
    existing: frozenset[str] | None = None

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Seconds by test."""
        found = {}
        for case in ET.parse(self.folder / "durations.xml").iter("testcase"):
            module, _, owner = (case.get("classname") or "").rpartition(".")
            if owner.startswith("Test"):
                name = f"{module.replace('.', '/')}.py::{owner}::{case.get('name')}"
            else:
                name = f"{module}.{owner}".replace(".", "/") + f".py::{case.get('name')}"
            found[name] = float(case.get("time") or 0)
        return found

    def tests_of(self, path: str, line: int) -> list[str]:
        """The tests that run a line, those of its own room first, then the short ones, SECONDS_A_PLACE long.

        For a line that runs while its module is imported: the tests that run anything of the module.
        """
        from coverage.numbits import numbits_to_nums

        with sqlite3.connect(self.folder / "coverage.db") as db:
            rows = db.execute(
                "select context.context, line_bits.numbits from line_bits"
                " join context on context.id = line_bits.context_id join file on file.id = line_bits.file_id"
                " where file.path like ?",
                (f"%/{path}",),
            ).fetchall()
        lines: dict[str, set[int]] = defaultdict(set)
        for context, bits in rows:  # a test has one context for its fixtures, and another one for itself
            lines[context.partition("|")[0]].update(numbits_to_nums(bits))
        lines.pop("", None)
        at_import = _runs_at_import((ROOT / path).read_text(encoding="utf-8"), line)
        names = [test for test, ran in lines.items() if at_import or line in ran]
        names = [test for test in names if self.existing is None or test in self.existing]
        room = str(Path("tests", *Path(path).parts[1:-1]))
        known = sorted((not test.startswith(room), self.seconds.get(test, 1.0), test) for test in names if test)
        chosen, total = [], 0.0
        for _, seconds, test in known:
            total += seconds
            if total > SECONDS_A_PLACE and chosen:
                break
            chosen.append(test)
        return chosen


def _runs_at_import(source: str, line: int) -> bool:
    """True if a line is in no function: the first step does not see it run where the module was imported before."""
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    return not any(node.body[0].lineno <= line <= (node.end_lineno or line) for node in functions)


def make_map(folder: Path, durations: Path | None) -> None:
    """Runs the tests once and keeps which lines each ran."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "coverage.ini"
    sources = ",".join(f"paimon_spark/{name}" for name in FOLDERS)
    settings.write_text(f"[run]\nsource = {sources}\ndata_file = {folder}/coverage.db\n", encoding="utf-8")
    slow = [] if durations is None else [t for t, s in TestMap(durations).seconds.items() if s > SLOW]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not spark and not interop"]
    command += ["-p", "pytest_cov", f"--cov-config={settings}", "--cov", "--cov-context=test", "--cov-report="]
    command += [f"--junitxml={folder}/durations.xml", *(f"--deselect={test}" for test in slow), *TESTS]
    subprocess.run(command, cwd=ROOT, check=False)
    for part in folder.glob("coverage.db.*"):  # a run that was stopped leaves it under a name of its own
        part.replace(folder / "coverage.db")


def existing_tests() -> frozenset[str]:
    """The tests of today: pytest refuses to run one that is gone, which would count as caught."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *TESTS]
    return frozenset(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n"))


def places(count: int, seed: int, folders: Sequence[str]) -> list[tuple[str, Mutation]]:
    """Draws places of folders, each as likely as any other; deterministic."""
    sources = {}
    for name in folders:
        for file in sorted((ROOT / "paimon_spark" / name).rglob("*.py")):
            sources[str(file.relative_to(ROOT))] = file.read_text(encoding="utf-8")
    everything = [(path, index) for path, source in sources.items() for index in range(count_places(source))]
    return [(path, mutate(sources[path], index)) for path, index in random.Random(seed).sample(everything, count)]


def _run_tests(checkout: str, tests: Sequence[str]) -> None:
    """In a process of its own: ends with what pytest returns."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.chdir(checkout)
    sys.path[:0] = [checkout, f"{checkout}/tests"]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0"]
    os._exit(int(pytest.main([*options, f"--rootdir={checkout}", *tests])))


def is_caught(checkout: Path, path: str, mutation: Mutation, tests: Sequence[str], limit: float) -> str:
    """Says how the tests ended with a mutation in place: "caught", "timeout" or "survived"."""
    file = checkout / path
    before = file.read_text(encoding="utf-8")
    file.write_text(mutation.source, encoding="utf-8")
    try:
        process = mp.get_context("fork").Process(target=_run_tests, args=(str(checkout), tests))
        process.start()
        process.join(limit)
        if process.is_alive():
            process.kill()
            process.join()
            return "timeout"
        return "survived" if process.exitcode == 0 else "caught"
    finally:
        file.write_text(before, encoding="utf-8")


def import_libraries() -> None:
    """Imports what every test needs and no change touches, so that the processes of the tests need not."""
    for name in ("numpy", "pyarrow.compute", "pyarrow.parquet", "pyarrow.orc", "hypothesis", "fastavro", "pyroaring"):
        importlib.import_module(name)
    for name in ("pyspark.sql", "tenacity", "sqlglot", "typer", "rich.table", "_hypothesis_pytestplugin"):
        importlib.import_module(name)


def measure(known: TestMap, count: int, seed: int, folders: Sequence[str], out: Path) -> None:
    """Tries every place, prints how it ended, and at the end the share, also of each package."""
    import_libraries()
    ends: Counter[str] = Counter()
    packages: dict[str, list[bool]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as temporary, out.open("a", encoding="utf-8") as log:
        checkout = Path(temporary, "checkout")
        shutil.copytree(
            ROOT, checkout, ignore=shutil.ignore_patterns(".git", ".venv", ".*cache", "build", "__pycache__")
        )
        for number, (path, mutation) in enumerate(places(count, seed, folders)):
            tests, began = known.tests_of(path, mutation.line), time.monotonic()
            expected = sum(known.seconds.get(test, 1.0) for test in tests)
            how = is_caught(checkout, path, mutation, tests, 30 + 3 * expected) if tests else "no test"
            ends[how] += 1
            packages["/".join(Path(path).parts[1:-1])].append(how in CAUGHT)
            place = f"{path}:{mutation.line} {mutation.kind}: {mutation.before[:70]} -> {mutation.after[:70]}"
            print(f"{number} {how} {time.monotonic() - began:.1f} s, {len(tests)} tests: {place}", flush=True)
            told = {"path": path, "line": mutation.line, "kind": mutation.kind, "how": how, "tests": len(tests)}
            print(json.dumps({**told, "before": mutation.before, "after": mutation.after}), file=log, flush=True)
    for package, caught in sorted(packages.items()):
        print(f"{package}: caught {sum(caught)} of {len(caught)}")
    total = sum(ends[how] for how in CAUGHT)
    print(f"caught {total} of {count}: {total / count:.1%}; {dict(ends)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["map", "measure"])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--durations", type=Path, help="a folder with durations.xml of an earlier run: slow tests")
    parser.add_argument("--places", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folders", nargs="+", choices=FOLDERS, default=FOLDERS, help="where the places are drawn")
    given = parser.parse_args()
    if given.step == "map":
        make_map(given.folder, given.durations)
    else:
        known = TestMap(given.folder, existing_tests())
        measure(known, given.places, given.seed, given.folders, given.folder / f"seed-{given.seed}.jsonl")


if __name__ == "__main__":
    main()
