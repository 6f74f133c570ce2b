"""The rule of conftest.py: where PAIMON_CI=1, a skipped test with Java or a real storage server is a failed one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support.paths import ROOT
from support.shares import ONE_OF, ROOMS, SHARES, left_out

pytest_plugins = ["pytester"]
QUICK = "[pytest]\naddopts = -p no:unraisableexception"
"""pytest looks for lost exceptions by collecting garbage five times, which takes long beside thousands of tests."""

TESTS = """
import pytest

@pytest.mark.interop
def test_with_java():
    pytest.skip("no java here")

@pytest.fixture
def jar():
    pytest.skip("no jar here")

@pytest.mark.interop
def test_with_jar(jar):
    pass

@pytest.mark.server
def test_with_server():
    pytest.skip("no server here")

def test_other():
    pytest.skip("some reason")
"""


@pytest.mark.parametrize(("in_ci", "failed", "skipped"), [("1", 3, 1), ("0", 0, 4)])
def test_skipped_interop_tests(
    in_ci: str, failed: int, skipped: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAIMON_CI", in_ci)
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))  # conftest.py imports from support
    pytester.makeconftest((ROOT / "conftest.py").read_text())
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    outcomes = result.parseoutcomes()
    # a fixture that skips counts as an error of the set-up
    assert outcomes.get("failed", 0) + outcomes.get("errors", 0) == failed
    assert outcomes.get("skipped", 0) == skipped
    if failed:
        for kind in ("interop", "server"):
            result.stdout.fnmatch_lines([f"*PAIMON_CI=1 allows no skipped {kind} test*"])


def test_the_shares_name_modules_that_are_there() -> None:
    named = [module for modules in SHARES.values() for module in modules]
    assert [module for module in named if not (ROOT / "tests" / module).is_file()] == []
    assert len(named) == len(set(named))
    for module, _, test in (name.partition("::") for group in ONE_OF for name in group):
        assert f"\ndef {test}(" in (ROOT / "tests" / module).read_text("utf-8")


def test_a_whole_run_tries_one_test_of_a_group(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.shares.ROOT", pytester.path)
    monkeypatch.setenv("PAIMON_SHARES", "1")
    (group, *_) = ONE_OF
    names = [name.partition("::") for name in group]
    pytester.makeini(QUICK)
    items = pytester.getitems("\n".join(f"def {test}(): pass" for _, _, test in names))
    for item, (module, _, _) in zip(items, names, strict=True):
        item.path = pytester.path / module
    assert len(left_out(items)) == len(group) - 1
    monkeypatch.setenv("PAIMON_SHARES", "0")
    assert left_out(items) == []


@pytest.mark.parametrize(
    ("module", "of_run", "tried"),
    [
        ("test_long.py", "1", 3),
        ("test_long.py", "0", 12),
        ("spark/test_long.py", "1", 3),
        ("spark/test_other.py", "1", 6),
        ("format/test_other.py", "1", 12),
    ],
)
def test_a_whole_run_tries_a_share_of_a_module(
    module: str, of_run: str, tried: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.shares.ROOT", pytester.path)
    monkeypatch.setitem(SHARES, 4, ("test_long.py", "spark/test_long.py"))
    monkeypatch.setitem(ROOMS, "spark", 2)
    monkeypatch.setenv("PAIMON_SHARES", of_run)
    pytester.makeini(QUICK)
    items = pytester.getitems("import pytest\n@pytest.mark.parametrize('n', range(12))\ndef test_n(n): pass")
    for item in items:
        item.path = pytester.path / module
    assert len(items) - len(left_out(items)) == tried
    assert left_out(items) == left_out(items)


def test_a_whole_run_tries_few_of_the_tests_with_a_server(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.shares.ROOT", pytester.path)
    monkeypatch.setenv("PAIMON_SHARES", "1")
    pytester.makeini(QUICK + "\nmarkers = server")
    items = pytester.getitems(
        "import pytest\n@pytest.mark.parametrize('n', range(3))\ndef test_n(n): pass\n"
        "@pytest.mark.server\n@pytest.mark.parametrize('n', range(12))\ndef test_server(n): pass"
    )
    for item in items:
        item.path = pytester.path / "file_io" / "test_other.py"
    left = left_out(items)
    assert len(left) == 10
    assert all("test_server" in item.name for item in left)


def test_a_module_of_few_tests_is_tried_by_some_seeds(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.shares.ROOT", pytester.path)
    monkeypatch.setitem(ROOMS, "spark", 3)
    monkeypatch.setenv("PAIMON_SHARES", "1")
    pytester.makeini(QUICK)
    (item,) = pytester.getitems("def test_alone(): pass")
    item.path = pytester.path / "spark" / "test_few.py"
    tried = 0
    for seed in range(60):
        monkeypatch.setenv("PAIMON_SEED", str(seed))
        tried += left_out([item]) == []
    assert 10 < tried < 30


DRAWING = """
from hypothesis import given, strategies as st
from support.long_runs import draws

@given(st.integers())
def test_drawn(number):
    print("drawn", number, draws().random())
"""


def test_a_seed_repeats_a_run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"))
    pytester.makeconftest((ROOT / "conftest.py").read_text())
    pytester.makepyfile(DRAWING)

    def drawn(seed: str) -> list[str]:
        monkeypatch.setenv("PAIMON_SEED", seed)
        result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-s")
        result.stdout.fnmatch_lines([f"PAIMON_SEED={seed} draws *"])
        return [line for line in result.outlines if "drawn" in line]

    assert len(drawn("7")) > 5
    assert drawn("7") == drawn("7") != drawn("8")


def test_the_files_of_a_commit_draw_its_tests(tmp_path: Path) -> None:
    """In CI, whose seed a person may still set."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "dev").write_text("#!/bin/sh\necho $PAIMON_CI $PAIMON_SEED\n")
    (tmp_path / "dev").chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PAIMON_", "GIT_"))}

    def seed(**given: str) -> str:
        done = subprocess.run([".ci/run"], cwd=tmp_path, env=env | given, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.removeprefix("1 ").strip()

    def commit() -> None:
        for command in (
            "init -q",
            "add .",
            "-c user.name=a -c user.email=a@example.org commit -qm change --allow-empty",
        ):
            subprocess.run(["git", *command.split()], cwd=tmp_path, env=env, check=True)

    assert seed() == "1"  # there is no commit
    commit()
    first = seed()
    commit()
    assert seed() == first != "1"
    (tmp_path / "dev").open("a").write("# changed\n")
    commit()
    assert seed() not in (first, "1")
    assert seed(PAIMON_SEED="7") == "7"
