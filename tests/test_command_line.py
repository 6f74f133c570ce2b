"""``python -m paimon_spark check``: what it prints, and its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from damage import edit_json, snapshot_file
from golden_tables import GoldenTable

from paimon_spark.__main__ import GOOD, NOT_CHECKED, PROBLEMS, main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)


def test_a_good_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(table)]) == GOOD == 0
    printed = capsys.readouterr()
    *notes, told = printed.out.splitlines()
    assert all(note.startswith(f"note: not looked at: {table}$branch_") for note in notes)
    assert told.startswith(f"{table}: 3 snapshots, 3 data files of 3 rows and ")
    assert told.endswith(" bytes, 3 of them read: no problem")
    assert printed.err == ""


def test_a_table_with_problems(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_json(snapshot_file(table, 2), totalRecordCount=17)
    assert main(["check", str(table)]) == PROBLEMS == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ("[totals] snapshot 2: it records 17 rows in total, its live files have 2 (snapshot 2)")
    assert lines[-1].endswith("1 problem")


def test_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_json(snapshot_file(table, 2), totalRecordCount=17, deltaRecordCount=17)
    assert main(["check", str(table), "--output", "json"]) == PROBLEMS
    told = json.loads(capsys.readouterr().out)
    assert (told["good"], told["problem_count"], told["snapshots"]) == (False, 2, [1, 2, 3])
    assert {problem["rule"] for problem in told["problems"]} == {"totals"}
    assert {problem["snapshot"] for problem in told["problems"]} == {"snapshot 2"}


def test_what_to_look_at(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit_json(snapshot_file(table, 2), totalRecordCount=17)
    assert main(["check", str(table), "--latest", "--metadata-only", "--output", "json"]) == GOOD
    told = json.loads(capsys.readouterr().out)
    assert (told["snapshots"], told["files"], told["files_read"]) == ([3], 3, 0)


def test_a_branch_and_options(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(table), "--option", "branch=br1", "--output", "json"]) == GOOD
    of_option = capsys.readouterr().out
    assert main(["check", f"{table}$branch_br1", "--output", "json"]) == GOOD
    assert capsys.readouterr().out == of_option


def test_no_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "none")]) == NOT_CHECKED == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "could not be checked: no Paimon table at" in printed.err


@pytest.mark.parametrize("arguments", [[], ["check"], ["check", "t", "--option", "x"], ["check", "t", "--output", "x"]])
def test_wrong_arguments(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == NOT_CHECKED
    assert "usage: python -m paimon_spark" in capsys.readouterr().err


def test_the_program_shows_a_bar_on_a_terminal_alone(table: Path) -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "paimon_spark", "check", str(table)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "TERM": "xterm", "COLUMNS": "100"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment, check=False)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == GOOD
    assert done.stdout.endswith("no problem\n")
    assert "snapshots" in shown
    assert "files" in shown
