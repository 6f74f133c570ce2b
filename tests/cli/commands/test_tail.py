"""``paimon-spark tail``: rows as they come."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from support.programs.command_line import ENVIRONMENT, PROGRAM, command
from support.tables.compacted_tables import append, new_table


def test_changes_until_now(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 10, "a"), (2, 20, "b")])
    append(table, [(1, 11, "c")], [3])
    begins = ("-o", "scan.snapshot-id=1", "--until-now", "--output", "json")
    found = command("tail", tmp_path / "t", "--row-kinds", *begins).documents
    assert [(row["k"], row["a"], row["_row_kind"]) for row in found] == [(1, 10, "+I"), (2, 20, "+I"), (1, 11, "-D")]
    assert [row["k"] for row in command("tail", tmp_path / "t", "--where", "k > 1", *begins).documents] == [2]
    assert command("tail", tmp_path / "t", "--until-now").out == ""
    assert command("tail", tmp_path / "t", "-o", "scan.mode=latest-full", "--until-now").cells == [["2", "20", "b"]]


def test_ctrl_c_ends_it(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    append(table, [(1, 10, "a")])
    arguments = ["tail", str(tmp_path / "t"), "-o", "scan.snapshot-id=1", "--output", "json"]
    with subprocess.Popen(
        [*PROGRAM, *arguments], env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"}, stdout=-1, stderr=-1
    ) as run:
        assert run.stdout is not None
        assert b'"k": 1' in run.stdout.readline()
        os.kill(run.pid, signal.SIGINT)
        assert run.wait(30) == 130
        assert run.stderr is not None
        assert b"Traceback" not in run.stderr.read()
