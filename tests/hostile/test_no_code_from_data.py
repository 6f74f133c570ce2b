"""No module runs what data hold: no text is evaluated, and no bytes of a table, a server or a message are unpickled."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import paimon_spark

ROOT = Path(paimon_spark.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
RUNS_BYTES = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "yaml", "jsonpickle", "joblib", "runpy", "code"}
RUNS_PROGRAMS = {"subprocess", "os.system", "os.popen", "pty"}
BETWEEN_TASKS = {  # what one process of a job hands to another of the same job, through Spark
    "spark/adapters/tasks.py",
    "spark/jobs/cluster_job.py",
    "spark/jobs/compact_job.py",
    "spark/jobs/format_job.py",
    "spark/jobs/engine_work.py",
    "spark/write/cross_partition_write.py",
}
STARTS_PROGRAMS = {"spark/console/quiet_session.py"}  # takes a constant of it: where the output of Spark's JVM goes


def uses(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported, and the functions that are called by their name or as one of a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name.partition(".")[0] for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module.partition(".")[0]
            case ast.Call(func=ast.Name(id=name)):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=attribute)):
                yield f"{owner}.{attribute}"
                if attribute in ("read_pickle", "extractall", "unsafe_load"):
                    yield "pickle"
                if attribute == "load" and any(k.arg == "allow_pickle" for k in node.keywords):
                    yield "pickle"


def found_in(path: Path) -> set[str]:
    return set(uses(ast.parse(path.read_text(encoding="utf-8"))))


def test_there_are_modules() -> None:
    assert len(MODULES) > 500


def test_nothing_runs_text_or_bytes_of_others() -> None:
    found = {str(path.relative_to(ROOT)): found_in(path) for path in MODULES}
    assert {name: hits for name, used in found.items() if (hits := used & RUNS_TEXT)} == {}
    assert {name for name, used in found.items() if used & RUNS_BYTES} == BETWEEN_TASKS
    assert {name for name, used in found.items() if used & RUNS_PROGRAMS} == STARTS_PROGRAMS


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from yaml import load", "eval('1')", "np.load(f, allow_pickle=True)", "os.system('x')",
     "pd.read_pickle(f)", "from subprocess import run"],
)  # fmt: skip
def test_what_is_found(source: str) -> None:
    assert set(uses(ast.parse(source))) & (RUNS_TEXT | RUNS_BYTES | RUNS_PROGRAMS)
