"""The quick start in every kind of session: Spark Connect, and spark-submit to a cluster of two workers."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest
from support.paths import ROOT

pytestmark = pytest.mark.spark
QUICKSTART = ROOT / "examples" / "quickstart.py"
EXPECTED = [
    "|  7|2026-11-01| 99.0|",  # the upserted row
    "|  true|",  # what CALL shows
    "|  7|2026-11-01| 12.5|",  # as it was in snapshot 1
    "rows=1, files=1",  # the overwrite of a partition
    "| 11|  1.0|",
    "|          3|  OVERWRITE|",
    "[{'id': 7, 'total': 99.0}]",
]


def run(command: list[str], cwd: Path, **environment: str) -> str:
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHONPATH"))}
    env = {**inherited, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **environment}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-8000:]
    return done.stdout


def missing(output: str) -> list[str]:
    return [line for line in EXPECTED if line not in output]


def test_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    program = ROOT / "tests/support/programs/connect_session.py"
    output = run([sys.executable, str(program), str(tmp_path), str(QUICKSTART)], tmp_path, PYTHONPATH=str(ROOT))
    assert "errors are as they should be" in output
    assert missing(output) == []


def test_spark_finds_the_source_from_any_folder(tmp_path: Path) -> None:
    """As Spark looks for it; ./dev installs this checkout so that it is found."""
    look = "import pkgutil; print('pyspark_paimon' in {module.name for module in pkgutil.iter_modules()})"
    assert run([sys.executable, "-c", look], tmp_path).strip() == "True"


def test_spark_submit_with_py_files_to_a_cluster_of_two_workers(tmp_path: Path) -> None:
    package = tmp_path / "paimon_spark.zip"
    with zipfile.ZipFile(package, "w") as archive:
        for path in [*(ROOT / "paimon_spark").rglob("*.py"), ROOT / "pyspark_paimon.py"]:
            archive.write(path, path.relative_to(ROOT))
    home = Path(pyspark.__file__).parent
    settings = ["--conf", "spark.ui.enabled=false", "--conf", "spark.driver.memory=1g"]
    master = ["--master", "local-cluster[2,1,1024]"]
    command = [str(home / "bin" / "spark-submit"), *master, *settings, "--py-files", str(package)]
    output = run([*command, str(QUICKSTART), str(tmp_path / "lake")], tmp_path, SPARK_HOME=str(home))
    assert missing(output) == []


STOPPED = [
    "the Spark session of this table was stopped; make a new one, spark = SparkSession.builder.getOrCreate(), and "
    "open the table, such as PaimonTable.forPath(spark, '<path>'), in it again",
    "the Spark session of this catalog was stopped; make a new one, spark = SparkSession.builder.getOrCreate(), "
    "and open the catalog, such as paimon_spark.catalog(spark, '<warehouse>'), in it again",
]


@pytest.mark.parametrize(("kind", "last"), [([], ["the new session works"]), (["connect"], [])])
def test_calls_after_the_session_was_stopped(tmp_path: Path, kind: list[str], last: list[str]) -> None:
    if kind:
        pytest.importorskip("grpc")
    program = str(ROOT / "tests/support/programs/stopped_session.py")
    settings = "--conf spark.ui.enabled=false --driver-memory 1g pyspark-shell"
    environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT}/tests", "PYSPARK_SUBMIT_ARGS": settings}
    output = run([sys.executable, program, str(tmp_path), *kind], tmp_path, **environment)
    said = [*STOPPED, *last]
    assert output.splitlines()[-len(said) :] == said
