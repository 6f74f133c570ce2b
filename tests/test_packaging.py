"""What goes to a package index: a page that it can show, and a source distribution of the package alone."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.paths import ROOT

README = (ROOT / "README.md").read_text()
DESCRIPTION: str = runpy.run_path(str(ROOT / "setup.py"))["description"](README)


def links(text: str) -> list[str]:
    """Where the links and pictures of Markdown lead, those in code left out."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL))


def test_the_page_has_no_link_that_only_a_repository_can_follow() -> None:
    assert [link for link in links(README) if not link.startswith(("https://", "#"))] != []
    assert [link for link in links(DESCRIPTION) if not link.startswith(("https://", "#"))] == []


def test_the_page_says_the_same() -> None:
    code = re.compile(r"```.*?```", re.DOTALL)
    assert code.findall(DESCRIPTION) == code.findall(README)
    assert [line for line in README.splitlines() if line.startswith("#")] == [
        line for line in DESCRIPTION.splitlines() if line.startswith("#")
    ]
    assert len(README.splitlines()) - len(DESCRIPTION.splitlines()) <= 2 * README.count("![")


def test_the_source_distribution(tmp_path: Path) -> None:
    """All of the package and what builds it, and no tests: some of them, as setuptools takes by itself, cannot run."""
    pytest.importorskip("setuptools", "77")
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for name in files:
        if name.startswith(("paimon_spark/", "tests/test_")) or "/" not in name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, "dist"], cwd=tmp_path, check=True, capture_output=True)
    (built,) = (tmp_path / "dist").iterdir()
    with tarfile.open(built) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    package = {name for name in files if name.startswith("paimon_spark/")}
    assert package | {"pyproject.toml", "setup.py", "pyspark_paimon.py", "README.md", "LICENSE"} <= found
    assert [name for name in found if name.startswith(("tests", "conftest"))] == []
