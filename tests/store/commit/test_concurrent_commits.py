"""Section 7: processes commit to one table at once; every commit is there once, ids have no gap."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.long_runs import LONG, tries
from support.programs.commits_at_once import commit_at_once
from support.programs.s3_server import s3_server

COMMITS = tries("PAIMON_COMMITS", ci=4, long=50)
COMMITS_S3 = tries("PAIMON_COMMITS", ci=2, long=50)  # the server of the test answers one request after the other


@pytest.mark.parametrize("keyed", [False, True], ids=["append", "primary key"])
def test_local_disk(tmp_path: Path, keyed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    told = commit_at_once(str(tmp_path / "table"), {}, keyed, COMMITS)
    with capsys.disabled():
        print(f"\n  {told}", end="")


@pytest.mark.parametrize(
    "keyed", [False, True] if LONG else [True], ids=lambda keyed: "primary key" * keyed or "append"
)
def test_s3(keyed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with s3_server("lake") as options:
        told = commit_at_once("s3://lake/table", options, keyed, COMMITS_S3)
    with capsys.disabled():
        print(f"\n  {told}", end="")
