"""Jobs that end, are interrupted or forked while snapshots expire: an expiry in the background is never half-way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.oracles.checker import check_table
from support.paths import TESTS
from support.tables.expiring import KEEP_TWO, copied, live_on, new_table, stored

from paimon_spark.store.expire.snapshots import expire_snapshots
from paimon_spark.store.metadata.table import Table

COMPACTIONS = 12


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Each compaction leaves files to delete: enough for several threads."""
    table = new_table(tmp_path_factory.mktemp("lived") / "t", {**KEEP_TWO, "snapshot.expire.limit": "100"})
    live_on(table, "wc" * COMPACTIONS)
    return table


@pytest.fixture
def table(lived: Table, tmp_path: Path) -> Table:
    return copied(lived, tmp_path / "t")


def job(table: Table, what: str) -> subprocess.Popen[str]:
    paths = os.pathsep.join([str(TESTS), str(TESTS.parent)])
    command = [sys.executable, str(TESTS / "support/programs/expiring_job.py"), table.location, what]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, **pipes, env={**os.environ, "PYTHONPATH": paths}, text=True)


def interrupt(child: subprocess.Popen[str]) -> str:
    """Ctrl-C when the job is ready; what it said of it."""
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert child.returncode not in (0, None)
    assert "KeyboardInterrupt" in told
    return told


def assert_expired(table: Table) -> None:
    """Two snapshots are left, and nothing of the others."""
    assert table.snapshots.ids() == [2 * COMPACTIONS - 1, 2 * COMPACTIONS]
    assert not [path for path in stored(table) if Path(path).name.startswith(".expiring")]
    files = [path for path in stored(table) if path.startswith("bucket-")]
    assert len(files) == 3, "the last compaction, and what it replaced"
    check_table(table.location)


@pytest.mark.parametrize("what", ["ends", "forks", "late"])
def test_the_end_of_a_job_waits(table: Table, what: str) -> None:
    child = job(table, what)
    _, told = child.communicate(timeout=60)
    assert (child.returncode, told) == (0, "")
    assert_expired(table)


def test_an_interrupted_job_waits_too(table: Table) -> None:
    told = interrupt(job(table, "waits"))
    assert "broke off" not in told
    assert_expired(table)


def test_an_interrupted_expiry_is_finished_by_the_next(table: Table) -> None:
    interrupt(job(table, "interrupted"))
    check_table(table.location)
    assert table.snapshots.ids()[-1] == 2 * COMPACTIONS
    expire_snapshots(table)
    assert_expired(table)
