"""The same DataFrames on Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.paths import ROOT

pytestmark = pytest.mark.spark


def test_native_reads_on_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    program = ROOT / "tests/support/programs/native_on_connect.py"
    env = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHONPATH"))}
    env.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1", PYTHONPATH=f"{ROOT}{os.pathsep}{ROOT}/tests")
    command = [sys.executable, str(program), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-8000:]
    assert "native reads are as they should be" in done.stdout
