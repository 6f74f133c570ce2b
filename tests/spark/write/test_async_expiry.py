"""`snapshot.expire.execution-mode` async in a Spark job that ends with its last commit: the process waits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.oracles.checker import check_table
from support.paths import ROOT

from paimon_spark import open_table

pytestmark = pytest.mark.spark


def test_a_job_that_ends_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(ROOT / "tests/support/programs/expiring_writes.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    for road in ("df.write", "append"):
        location = f"{tmp_path}/{road}"
        store = open_table(location).snapshots
        latest = store.latest_id()
        assert latest is not None
        assert latest >= 4
        assert store.ids() == [latest - 1, latest]
        assert not list(Path(location, "snapshot").glob(".expiring*"))
        check_table(location)
