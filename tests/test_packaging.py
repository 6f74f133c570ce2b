"""What goes to a package index: a page that it can show, and a source distribution of the package alone."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import pytest
from support.paths import ROOT

from paimon_spark import __version__

README = (ROOT / "README.md").read_text()
DESCRIPTION: str = runpy.run_path(str(ROOT / "setup.py"))["description"](README)
WANTED = (".py", ".pyi", "py.typed", "page.html", "page.css", "page.js")


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


def copy_checkout(folder: Path) -> list[str]:
    """What a build takes, copied: it leaves files behind. Returns the names of all files of the checkout."""
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    for name in files:
        wanted = name.startswith(("paimon_spark/", "tests/test_")) or "/" not in name
        if wanted and (ROOT / name).exists():  # git lists a file that was deleted, and is not committed yet
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    return files


def test_the_source_distribution(tmp_path: Path) -> None:
    """All of the package and what builds it, and no tests: some of them, as setuptools takes by itself, cannot run."""
    pytest.importorskip("setuptools", "77")
    files = copy_checkout(tmp_path)
    build = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, "dist"], cwd=tmp_path, check=True, capture_output=True)
    (built,) = (tmp_path / "dist").iterdir()
    with tarfile.open(built) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    package = {name for name in files if name.startswith("paimon_spark/")}
    assert package | {"pyproject.toml", "setup.py", "pyspark_paimon.py", "README.md", "LICENSE"} <= found
    assert [name for name in found if name.startswith(("tests", "conftest"))] == []


WORKS = """
import sys
import paimon_spark, pyspark_paimon
assert pyspark_paimon.DefaultSource.name() == "paimon"
assert pyspark_paimon.__file__.startswith(sys.argv[1]), pyspark_paimon.__file__
print(paimon_spark.PaimonTable, paimon_spark.__file__)
"""


@pytest.mark.parametrize("kind", ["whl", "tar.gz"])
def test_what_is_built_works_elsewhere(kind: str, built: Path, tmp_path: Path) -> None:
    """Installed in a directory of its own, without the checkout. ./dev matrix does it in empty environments."""
    (package,) = built.glob(f"*.{kind}")
    target, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    elsewhere.mkdir()
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", *install, str(package)], check=True, cwd=elsewhere)
    env = {**os.environ, "PYTHONPATH": str(target)}
    run = partial(subprocess.check_output, cwd=elsewhere, env=env, text=True)
    assert str(target) in run([sys.executable, "-c", WORKS, str(target)])
    version = run([sys.executable, "-m", "paimon_spark", "--version"])
    assert version.startswith(f"paimon-spark {__version__} (")
    assert run([str(target / "bin" / "paimon-spark"), "--version"]) == version


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``python -m build`` makes: the source distribution, and the wheel from it."""
    pytest.importorskip("build")
    pytest.importorskip("setuptools", "77")
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    copy_checkout(source)
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    return out


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        found = {name for name in archive.namelist() if ".dist-info/" not in name}
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).splitlines()
    wanted = {name for name in files if name.startswith("paimon_spark/") and name.endswith(WANTED)}
    assert found == {name for name in wanted if (ROOT / name).exists()} | {"pyspark_paimon.py"}


def test_the_demo_finds_its_flights() -> None:
    """The package with the flights cannot be imported since setuptools has no pkg_resources; its file is read."""
    demo = runpy.run_path(str(ROOT / "examples" / "flights_demo.py"))
    assert demo["flights_file"]().stat().st_size > 1_000_000
