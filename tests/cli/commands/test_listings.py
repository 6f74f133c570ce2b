"""The commands that list: system tables for people, and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.programs.command_line import command
from support.tables.golden_tables import GoldenTable, of_another_format

from paimon_spark import open_table
from paimon_spark.cli.commands.listings import SHOWN


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)


def test_snapshots(table: Path) -> None:
    cells = command("snapshots", table).cells
    assert [(row[0], row[2], row[3]) for row in cells] == [
        ("1", "APPEND", "1"),
        ("2", "APPEND", "2"),
        ("3", "APPEND", "3"),
    ]


@pytest.mark.parametrize("name", SHOWN)
def test_json_has_all_columns_and_rows(table: Path, name: str) -> None:
    whole = open_table(str(table)).system_table(name).to_arrow()
    found = command(name, table, "--output", "json").document
    assert len(found) == whole.num_rows > 0
    assert all(list(row) == whole.schema.names for row in found)


@pytest.mark.parametrize("name", SHOWN)
def test_text_shows_columns_that_exist(table: Path, name: str) -> None:
    printed = command(name, table, columns=400)
    assert printed.code == 0
    known = open_table(str(table)).system_table(name).arrow_schema.names
    assert set(printed.out.splitlines()[0].split()) == set(SHOWN[name][1] or known)


def test_what_is_chosen(table: Path) -> None:
    chosen = ["--columns", "snapshot_id, commit_kind", "--where", "snapshot_id > 1"]
    assert command("snapshots", table, *chosen).cells == [["2", "APPEND"], ["3", "APPEND"]]
    assert command("snapshots", table, *chosen, "--limit", "1").cells == [["3", "APPEND"]]
    assert command("snapshots", table, *chosen, "--limit", "0").cells == [["2", "APPEND"], ["3", "APPEND"]]
    assert command("snapshots", table, *chosen, "--limit", "1", "--output", "json").document == [
        {"snapshot_id": 3, "commit_kind": "APPEND"}
    ]
    assert len(command("snapshots", table, "--limit", "9").cells) == 3


def test_the_state_that_is_listed(table: Path) -> None:
    counts = [len(command("files", table, *at).cells) for at in ((), ("--at", "2"), ("--at", "t1"))]
    assert counts == [3, 2, 1]
    (row,) = command("partitions", table, "--at", "t1", "--output", "json").document
    assert (row["record_count"], row["file_count"]) == (1, 1)


def test_a_branch(table: Path) -> None:
    ways = ((table, "--branch", "br1"), (f"{table}$branch_br1",), (table, "-o", "branch=br1"))
    listed = [command("snapshots", *way, "--output", "json").document for way in ways]
    assert listed[0] == listed[1] == listed[2]
    assert len(listed[0]) == 2


def test_sizes_are_for_people_and_numbers_for_programs(table: Path) -> None:
    text = command("files", table, "--columns", "file_size_in_bytes", "--limit", "1").cells
    (value,) = command("files", table, "--columns", "file_size_in_bytes", "--limit", "1", "--output", "json").document
    assert isinstance(value["file_size_in_bytes"], int)
    assert text == [[f"{value['file_size_in_bytes'] / 1024:.1f} KiB"]]


def test_of_a_path_the_end_is_shown(table: Path) -> None:
    (row, *_) = command("files", table, "--columns", "file_path", columns=20).cells
    assert row[0].startswith("…")
    assert row[0].endswith(".parquet")
    assert len(row[0]) == 20


def test_a_table_that_cannot_be_read_is_listed(tmp_path: Path) -> None:
    table = of_another_format(GoldenTable("java-2.1", "fmt_row").unpack(tmp_path))
    assert command("read", table).code == 2
    assert command("snapshots", table).code == 0
    assert command("files", table, "--output", "json").document


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["snapshots", "--columns", "snapshotid"], "no column 'snapshotid', did you mean 'snapshot_id'?"),
        (["files", "--where", "lvl = 0"], "there is no column 'lvl', did you mean 'level'?"),
        (["files", "--at", "t9"], "'t9' is neither a tag of the table, nor a snapshot id, nor a time"),
        (["files", "--at", "17"], "snapshots 1 to 3"),
        (["tags", "--branch", "nosuch"], "no branch 'nosuch'"),
        (["tags", "-o", "bucketz=1"], "'bucketz'"),
    ],
)
def test_what_is_wrong_is_one_sentence(table: Path, arguments: list[str], told: str) -> None:
    name, *more = arguments
    printed = command(name, table, *more)
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith(f"paimon-spark {name}: ")
    assert told in printed.err
    assert printed.err.count("\n") == 1
