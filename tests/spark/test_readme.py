"""The examples of README.md run as they stand: classic Spark, Spark Connect, and spark-submit on two workers."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pyspark
import pytest
from readme_job import python_blocks

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
JOB = ROOT / "tests" / "readme_job.py"
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
EXPECTED = "orders: [(8, '2026-11-01', 3.5), (11, '2026-11-02', 7.0), (12, '2026-11-03', 8.0)]"
LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}
TIMEOUT = 300


def run(command: Sequence[str | Path], directory: Path, environment: dict[str, str]) -> str:
    # a directory of its own: nothing is imported from the checkout by accident
    done = subprocess.run(
        [str(word) for word in command],
        cwd=directory,
        env={**os.environ, **LOCAL, **environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """What --py-files takes: the package and the module that registers it."""
    archive = tmp_path / "paimon_spark.zip"
    with zipfile.ZipFile(archive, "w") as target:
        for path in [*(ROOT / "paimon_spark").rglob("*.py"), ROOT / "pyspark_paimon.py"]:
            target.write(path, path.relative_to(ROOT))
    return archive


@pytest.mark.parametrize("remote", [[], ["local[2]"]], ids=["classic", "connect"])
def test_readme(remote: list[str], tmp_path: Path) -> None:
    said = run(
        [sys.executable, JOB, ROOT / "README.md", tmp_path / "lake", *remote], tmp_path, {"PYTHONPATH": str(ROOT)}
    )
    assert EXPECTED in said


def test_readme_by_spark_submit(package: Path, tmp_path: Path) -> None:
    options = ["--master", "local-cluster[2,1,1024]", "--py-files", package]
    said = run([SUBMIT, *options, JOB, ROOT / "README.md", tmp_path / "lake"], tmp_path, {"PYTHONPATH": ""})
    assert EXPECTED in said


def test_readme_has_examples() -> None:
    assert len(python_blocks((ROOT / "README.md").read_text())) >= 8
