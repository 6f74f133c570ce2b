"""``paimon-spark read`` and ``diff``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.programs.command_line import command
from support.tables.compacted_tables import append, new_table
from support.tables.golden_tables import GoldenTable
from support.tables.staging import put

from paimon_spark.cli.commands.rows import SHOWN as SHOWN_ROWS
from paimon_spark.cli.values import cell, json_values
from paimon_spark.format.paths import schema_path
from paimon_spark.format.schema import encode_schema
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.history.tags import create_tag
from paimon_spark.tables.open import open_table


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three commits: new keys; one changed, one deleted, one new; one changed back."""
    made = new_table(tmp_path / "t", {"write-only": "true"})
    append(made, [(1, 10, "a"), (2, 20, None), (3, 30, "c")])
    append(made, [(1, 10, "b"), (3, 0, None), (4, 40, "")], [0, 3, 0])
    append(made, [(2, 20, "")])
    return tmp_path / "t"


def test_rows_as_text(table: Path) -> None:
    assert command("read", table).cells == [["1", "10", "b"], ["2", "20"], ["4", "40"]]
    assert command("read", table, "--at", "1").cells == [["1", "10", "a"], ["2", "20", "NULL"], ["3", "30", "c"]]


def test_rows_as_json_are_one_a_line(table: Path) -> None:
    chosen = ["--where", "k > 1", "--columns", "b,k"]
    assert command("read", table, *chosen, "--output", "json").documents == [{"b": "", "k": 2}, {"b": "", "k": 4}]
    assert command("read", table, *chosen, "--output", "json", "--limit", "1").documents == [{"b": "", "k": 2}]
    assert command("read", table, "--where", "k > 9", "--output", "json").out == ""


def test_the_state_by_time(table: Path) -> None:
    (first, *_) = command("snapshots", table, "--output", "json").document
    time = first["commit_time"]
    assert command("read", table, "--at", time, "--limit", "1").cells == [["1", "10", "a"]]
    assert command("read", table, "--at", "2001-01-01").code == 2


@pytest.mark.parametrize(
    "option", ["scan.snapshot-id=1", "scan.tag-name=t", "Scan.Version=1", "scan.timestamp=2026-01-01"]
)
def test_the_state_is_chosen_once(table: Path, option: str) -> None:
    for name in ("read", "count", "info"):
        printed = command(name, table, "-o", option, "--at", "1")
        assert printed.code == 2
        assert f"--at and the option '{option.partition('=')[0]}' both choose what is read; leave one" in printed.err


def test_a_tag_that_only_the_branch_has(table: Path) -> None:
    create_branch(open_table(str(table)), "b", snapshot=1)
    create_tag(open_table(f"{table}$branch_b"), "own")
    first = [["1", "10", "a"], ["2", "20", "NULL"], ["3", "30", "c"]]
    assert command("read", f"{table}$branch_b", "--at", "own").cells == first
    assert command("read", table, "--branch", "b", "--at", "own").cells == first
    assert command("read", f"{table}$branch_b$files", "--at", "own", "--columns", "record_count").cells == [["3"]]
    assert "neither a tag" in command("read", f"{table}$files", "--at", "own").err


def test_a_system_table(table: Path) -> None:
    assert len(command("read", f"{table}$manifests").cells) == 3
    kinds = [row["rowkind"] for row in command("read", f"{table}$audit_log", "--output", "json").documents]
    assert set(kinds) <= {"+I", "-D", "+U", "-U"}
    assert command("read", f"{table}$manifest").err.count("did you mean $manifests?") == 1


def test_many_rows_are_cut_and_said_so(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(i, i, "x") for i in range(SHOWN_ROWS + 1)])
    cut = command("read", tmp_path / "t")
    assert len(cut.cells) == SHOWN_ROWS
    assert cut.err == f"the first {SHOWN_ROWS} rows; --limit 0 shows all\n"
    for more in (["--limit", "0"], ["--limit", "1000"]):
        whole = command("read", tmp_path / "t", *more)
        assert len(whole.cells) == SHOWN_ROWS + 1
        assert whole.err == ""
    exact = command("read", tmp_path / "t", "--where", f"k < {SHOWN_ROWS}")
    assert (len(exact.cells), exact.err) == (SHOWN_ROWS, "")
    assert len(command("read", tmp_path / "t", "--output", "json").documents) == SHOWN_ROWS + 1


def test_pages_have_one_head_and_the_same_widths(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(i, i, "x") for i in range(1200)])
    lines = command("read", tmp_path / "t", "--limit", "0").out.splitlines()
    assert len(lines) == 1202
    assert len({len(line) for line in lines}) == 1


def test_what_does_not_fit_becomes_records(table: Path) -> None:
    narrow = command("read", table, "--limit", "1", columns=5).out.splitlines()
    assert [line.split() for line in narrow] == [["row", "1"], ["k", "1"], ["a", "10"], ["b", "b"]]


def test_the_widest_columns_are_cut_first(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(1, 123456, "x" * 40)])
    *_, row = command("read", tmp_path / "t", columns=30).out.splitlines()
    assert row == "1   123456   " + "x" * 16 + "…"


def test_texts_cannot_move_the_cursor(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(1, 1, "\x1b[31m[red]\n\u202e")])
    assert command("read", tmp_path / "t").cells == [["1", "1", r"\x1b[31m[red]\n\u202e"]]
    assert command("read", tmp_path / "t", "--output", "json").documents[0]["b"] == "\x1b[31m[red]\n\u202e"


def test_wide_cells_are_cut_on_a_terminal_alone(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t"), [(1, 1, "x" * 20_000)])
    assert command("read", tmp_path / "t", columns=None).cells == [["1", "1", "x" * 20_000]]
    (cut,) = command("read", tmp_path / "t", columns=200).cells
    assert cut[2].endswith("xxx…")
    assert 180 < len(cut[2]) < 200


def test_difference(table: Path) -> None:
    printed = command("diff", table, "1", "3")
    assert sorted(printed.cells) == [
        ["added", "4", "40"],
        ["changed", "1", "10", "a → b"],
        ["changed", "2", "20", "NULL →"],
        ["removed", "3", "30", "c"],
    ]
    assert printed.err == "1 added, 1 removed, 2 changed\n"


def test_difference_as_json(table: Path) -> None:
    changes = command("diff", table, "1", "2", "--columns", "a,b", "--output", "json").documents
    assert sorted(changes, key=lambda change: str(change["change"])) == [
        {"change": "added", "row": {"a": 40, "b": ""}},
        {"change": "changed", "row": {"a": 10, "b": "b"}, "before": {"a": 10, "b": "a"}},
        {"change": "removed", "row": {"a": 30, "b": "c"}},
    ]


def test_difference_from_the_beginning_and_of_equal_states(table: Path) -> None:
    assert {row[0] for row in command("diff", table, "0", "3").cells} == {"added"}
    assert command("diff", table, "0").cells == command("diff", table, "0", "3").cells
    nothing = command("diff", table, "3", "3")
    assert (nothing.cells, nothing.err) == ([], "0 added, 0 removed, 0 changed\n")
    assert "swap them" in command("diff", table, "3", "1").err


def test_difference_of_tags(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)
    assert command("diff", table, "t1", "t2").cells == command("diff", table, "1", "t2").cells != []


def test_difference_without_a_key(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"bucket": "-1"}, keys=())
    append(made, [(1, 1, "a"), (1, 1, "a")])
    append(made, [(1, 1, "a")])
    assert command("diff", tmp_path / "t", "1", "2").cells == [["added", "1", "1", "a"]]


def test_difference_of_rows_that_wait_for_a_compaction(tmp_path: Path) -> None:
    """They are not read yet, and count as changes, as in Java: so they count for what was before, too."""
    made = new_table(tmp_path / "t", {"deletion-vectors.enabled": "true", "write-only": "true"})
    append(made, [(1, 1, "a")])
    append(made, [(1, 1, "b"), (2, 2, "b")])
    printed = command("diff", tmp_path / "t", "1", "2")
    assert sorted(printed.cells) == [["added", "2", "2", "b"], ["changed", "1", "1", "a → b"]]


def test_difference_from_before_the_sequence_field_was_there(tmp_path: Path) -> None:
    """The old state alone cannot be read in its own columns."""
    made = new_table(tmp_path / "t", {"write-only": "true"})
    append(made, [(1, 1, "a")])
    added = replace(made.schema.fields[1], id=9, name="s")
    schema = replace(
        made.schema,
        id=1,
        fields=(*made.schema.fields, added),
        highest_field_id=9,
        options={**made.schema.options, "sequence.field": "s"},
    )
    made.file_io.write_bytes(schema_path(made.location, 1), encode_schema(schema))
    put(open_table(made.location), [(1, 1, "b", 5)])
    assert command("diff", tmp_path / "t", "1", "2").cells == [["changed", "1", "1", "a → b", "NULL → 5"]]


def test_difference_across_schemas(tmp_path: Path) -> None:
    """The state before is read in the columns of today: those that came later are null in it."""
    table = GoldenTable("java-2.1", "schema_evo").unpack(tmp_path)
    last = str(command("snapshots", table, "--output", "json").document[-1]["snapshot_id"])
    printed = command("diff", table, "1", last, "--output", "json")
    assert printed.code == 0
    assert {tuple(change["row"]) for change in printed.documents} == {("k", "a", "n", "c", "r", "b")}


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1.5, float("nan"), float("-inf"), None, -0.0], pa.float64(), [1.5, "NaN", "-Infinity", None, -0.0]),
        ([0.1, None], pa.float32(), [0.1, None]),
        ([b"\x00\xff", b"", None], pa.binary(), ["AP8=", "", None]),
        ([1, None], pa.decimal128(38, 10), ["1.0000000000", None]),
        ([0, -1, 2932897], pa.date32(), ["1970-01-01", "1969-12-31", "10000-01-01"]),
        ([86_399_999], pa.time32("ms"), ["23:59:59.999"]),
        ([-1, None], pa.timestamp("ns"), ["1969-12-31T23:59:59.999999999", None]),
        ([[(1, "a")], None, []], pa.map_(pa.int32(), pa.string()), [[[1, "a"]], None, []]),
        ([[b"a", None], None, []], pa.list_(pa.binary()), [["YQ==", None], None, []]),
        ([{"x": float("nan")}, None], pa.struct([("x", pa.float64())]), [{"x": "NaN"}, None]),
        ([9007199254740993], pa.int64(), [9007199254740993]),
    ],
)
def test_values_of_json(values: list[object], kind: pa.DataType, expected: list[object]) -> None:
    array = pa.array([*values, None], kind)
    assert json_values(array) == [*expected, None]
    assert json_values(array[1:]) == [*expected[1:], None]
    assert all(isinstance(cell(value), str) for value in json_values(array) if value is not None)
