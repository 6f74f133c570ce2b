"""``paimon-spark check``: what it prints, and its exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.faults.damage import edit_json, snapshot_file
from support.programs.command_line import command, on_a_terminal
from support.tables.golden_tables import GoldenTable

GOOD, PROBLEMS, NOT_CHECKED = 0, 1, 2


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)


def test_a_good_table(table: Path) -> None:
    printed = command("check", table)
    assert printed.code == GOOD
    *notes, told = printed.out.splitlines()
    assert all(note.startswith(f"note: of {table}$branch_") for note in notes)
    assert told.startswith(f"{table}: 3 snapshots, 3 data files of 3 rows and ")
    assert told.endswith(" bytes, 3 of them read: no problem")
    assert printed.err == ""


def test_a_table_with_problems(table: Path) -> None:
    edit_json(snapshot_file(table, 2), totalRecordCount=17)
    printed = command("check", table)
    assert printed.code == PROBLEMS
    lines = printed.out.splitlines()
    assert lines[0] == ("[totals] snapshot 2: it records 17 rows in total, its live files have 2 (snapshot 2)")
    assert lines[-1].endswith("1 problem")


def test_json(table: Path) -> None:
    edit_json(snapshot_file(table, 2), totalRecordCount=17, deltaRecordCount=17)
    printed = command("check", table, "--output", "json")
    assert printed.code == PROBLEMS
    told = printed.document
    assert (told["good"], told["problem_count"], told["snapshots"]) == (False, 2, [1, 2, 3])
    assert {problem["rule"] for problem in told["problems"]} == {"totals"}
    assert {problem["snapshot"] for problem in told["problems"]} == {"snapshot 2"}


def test_what_to_look_at(table: Path) -> None:
    edit_json(snapshot_file(table, 2), totalRecordCount=17)
    told = command("check", table, "--latest", "--metadata-only", "--output", "json").document
    assert (told["good"], told["snapshots"], told["files"], told["files_read"]) == (True, [3], 3, 0)


def test_a_branch_and_options(table: Path) -> None:
    ways = (
        (table, "--option", "branch=br1"),
        (f"{table}$branch_br1",),
        (table, "--branch", "br1"),
        (table, "-o", "branch=br1"),
    )
    told = [command("check", *way, "--output", "json") for way in ways]
    assert {printed.code for printed in told} == {GOOD}
    assert len({printed.out for printed in told}) == 1
    assert told[0].document["files"] == 2


def test_no_table(tmp_path: Path) -> None:
    printed = command("check", tmp_path / "none")
    assert (printed.code, printed.out) == (NOT_CHECKED, "")
    assert printed.err.startswith(f"paimon-spark check: no Paimon table at {tmp_path}/none: ")
    assert printed.err.count("\n") == 1


def test_the_program_shows_a_bar_on_a_terminal_alone(table: Path) -> None:
    printed = on_a_terminal("check", table)
    assert printed.code == GOOD
    assert printed.out.endswith("no problem\n")
    assert "snapshots" in printed.err
    assert "files" in printed.err
