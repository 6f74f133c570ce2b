"""The commands that make tables and branches out of others, and the one that empties a table."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.oracles.checker import check_table
from support.programs.command_line import command
from support.tables.compacted_tables import append, new_table, rows_of

from paimon_spark import open_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three snapshots with the keys 0, 1 and 2, and a tag of the second."""
    made = new_table(tmp_path / "t", {"write-only": "true"})
    for number in range(3):
        append(made, [(number, number, "x")])
    command("create-tag", tmp_path / "t", "second", "--at", "2")
    return tmp_path / "t"


def branches(table: Path) -> list[str]:
    return [row["branch_name"] for row in command("branches", table, "--output", "json").document]


def ids(table: Path, branch: str = "main") -> list[int]:
    return open_table(str(table), {"branch": branch}).snapshots.ids()


def files(table: Path) -> set[Path]:
    return {path for path in table.rglob("*") if path.is_file()}


def test_a_branch_of_a_branch(table: Path) -> None:
    """It has what the branch has, and not what the table has (Java: FileSystemBranchManager.createBranch)."""
    command("create-branch", table, "b", "--at", "second")
    command("alter", f"{table}$branch_b", "set-comment", "a", "of the branch")
    empty = command("create-branch", f"{table}$branch_b", "c").out
    assert (
        empty == f"branch 'c' has the columns of {table}$branch_b and no rows: --at makes one with those of a state\n"
    )
    assert command("create-branch", f"{table}$branch_b", "d", "--at", "second").out.endswith("snapshot 2\n")
    schemas = [open_table(str(table), {"branch": name}).schema for name in ("b", "c", "main")]
    assert schemas[1] == schemas[0] != schemas[2]


def test_branches_come_and_go(table: Path) -> None:
    made = command("create-branch", table, "b").out
    assert made == f"branch 'b' has the columns of {table} and no rows: --at makes one with those of a state\n"
    assert command("create-branch", table, "tagged", "--at", "second").out == "branch 'tagged' begins with snapshot 2\n"
    assert command("create-branch", table, "first", "--at", "1", "--output", "json").document["snapshot_id"] == 1
    assert (ids(table, "b"), ids(table, "tagged"), ids(table, "first")) == ([], [2], [1])
    assert [row[0] for row in command("tags", table, "--branch", "tagged").cells] == ["second"]
    assert branches(table) == ["b", "first", "tagged"]
    before = files(table)
    shown = command("delete-branch", table, "b", "first", "--dry-run").out
    assert shown.startswith("would go: 2 branches (b, first), 3 files of metadata\n")
    assert command("delete-branch", table, "b", answer="n\n").code == 1
    assert files(table) == before
    assert command("delete-branch", table, "b", "first", "--yes").out.startswith("gone: 2 branches (b, first), ")
    assert branches(table) == ["tagged"]


def test_fast_forward(table: Path) -> None:
    command("create-branch", table, "b", "--at", "second")
    append(open_table(str(table), {"branch": "b"}), [(7, 7, "b")])
    append(open_table(str(table), {"branch": "b"}), [(8, 8, "b")])
    command("create-tag", table, "third", "--at", "3")
    to_main = command("fast-forward", f"{table}$branch_b", "main", "--yes")
    assert (to_main.code, to_main.err.strip()[-46:]) == (2, "to 'main': name another branch than main and b")
    before = files(table)
    told = "2 snapshots (2 to 3), 1 tag (third); what comes: 3 snapshots (2 to 4), 1 tag (second)\n"
    assert command("fast-forward", table, "b", "--dry-run").out == f"would go: {told}"
    assert files(table) == before
    planned = command("fast-forward", table, "b", "--dry-run", "--output", "json").document
    assert command("fast-forward", table, "b", "--yes", "--output", "json").document == planned
    assert [row[0] for row in rows_of(open_table(str(table)))] == [0, 1, 7, 8]
    check_table(str(table))


def test_copy(table: Path, tmp_path: Path) -> None:
    told = command("copy", table, tmp_path / "u").out
    assert told.startswith(f"{tmp_path}/u made: 3 files of 3 rows, ")
    assert ", of snapshot 3, committed as snapshot 1 after " in told
    assert rows_of(open_table(str(tmp_path / "u"))) == rows_of(open_table(str(table)))
    again = command("copy", table, tmp_path / "u", "--output", "json").document
    assert (again["created"], again["snapshot_id"], again["rows"]) == (False, 2, 3)
    assert len(rows_of(open_table(str(tmp_path / "u")))) == 3
    new_table(tmp_path / "empty")
    assert command("copy", tmp_path / "empty", tmp_path / "v").out == f"{tmp_path}/v made: nothing to copy\n"


def test_purge(table: Path) -> None:
    command("create-branch", table, "b", "--at", "1")
    before = files(table)
    assert command("purge", table, "--dry-run").out.startswith("would go: 3 snapshots, 1 tag, 1 branch, ")
    assert command("purge", table, answer="n\n").code == 1
    assert files(table) == before
    assert command("purge", table, "--yes").out.startswith("gone: 3 snapshots, 1 tag, 1 branch, ")
    assert (branches(table), rows_of(open_table(str(table))), len(ids(table))) == ([], [], 1)
    append(open_table(str(table)), [(1, 1, "x")])
    check_table(str(table))
    new_table(table.parent / "empty")
    assert command("purge", table.parent / "empty").out == "nothing to do\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["create-branch", "b"], "has a branch 'b' already; choose another name"),
        (["create-branch", "12"], "'12' is no name for a branch"),
        (["create-branch", "b$files"], "'b$files' is no name for a branch"),
        (["create-branch", "c", "--at", "t9"], "'t9' is neither a tag of the table, nor a snapshot id, nor a time"),
        (["delete-branch", "main", "--yes"], "it is the table itself, which always has it; purge_files"),
        (["delete-branch", "b", "c", "--yes"], "has no branch 'c'; its branches: b"),
        (["fast-forward", "c"], "has no branch 'c'; its branches: b"),
        (["fast-forward", "b"], "the branch 'b' has no snapshot"),
        (
            ["copy", "none$files"],
            "`$files` is the name of a system table, which cannot be written, and there is no table",
        ),
        (["copy", "none$Files"], "none: give the path of a table without `$Files`"),
        (["copy", "none$branch_x"], "`$branch_x` is the name of a branch, and there is no table at "),
        (["copy", "t"], "that is the table itself"),
        (["copy", "u", "--where", "k = 1"], "k is no partition column"),
        (["purge", "--orphans-older-than", "2999-01-01"], "it must be past"),
    ],
)
def test_what_is_wrong_changes_nothing(
    table: Path, arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("create-branch", table, "b")
    before = files(table)
    monkeypatch.chdir(table.parent)
    name, *more = arguments
    printed = command(name, table, *more)
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith(f"paimon-spark {name}: ")
    assert told in printed.err
    assert files(table.parent) == before
