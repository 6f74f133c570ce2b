"""``paimon-spark info``: what it tells, what it warns of, and its picture."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.faults.damage import edit_json, snapshot_file
from support.programs.command_line import command
from support.tables.compacted_tables import append, new_table
from support.tables.golden_tables import GoldenTable, of_another_format

from paimon_spark import open_table
from paimon_spark.cli.facts import view_table
from paimon_spark.store.history.consumers import reset_consumer
from paimon_spark.store.holds.marks import write_mark

OLD = 1_600_000_000_000


def told(*arguments: str | Path) -> dict[str, str]:
    """The lines of the text by their names; under "!" the problems."""
    printed = command("info", *arguments, columns=400)
    assert printed.code == 0
    split = (line.split("  ", 1) for line in printed.out.splitlines() if line[0] != "!")
    lines = {name.strip(): "".join(rest).strip() for name, *rest in split}
    problems = [line[2:].strip() for line in printed.out.splitlines() if line[0] == "!"]
    return {**lines, "!": "\n".join(problems)}


def old_snapshots(table: Path) -> None:
    for path in (table / "snapshot").glob("snapshot-*"):
        edit_json(path, timeMillis=OLD + int(path.name.removeprefix("snapshot-")))


def test_a_key_table(tmp_path: Path) -> None:
    lines = told(GoldenTable("java-2.1", "expire").unpack(tmp_path))
    assert lines["columns"] == "3: k INT NOT NULL, v STRING, d DOUBLE"
    assert lines["merge engine"] == "deduplicate, changelog by input"
    assert lines["buckets"] == "1 by k"
    assert lines["snapshots"].startswith("2: 8 (")
    assert lines["changelogs"] == "2 that outlive their snapshots"
    assert lines["retention"] == "snapshots of the last 1 h, 2 at least, 2 at most; expired after each commit"
    assert lines["rows"] == "8 in files, before equal keys are merged"
    assert lines["levels"].startswith("L0: 3 files, ")
    assert "  L5: 1 file, " in lines["levels"]
    assert lines["level 0"] == "3 files wait, 4 sorted runs at most in a bucket; 5 start a compaction"
    assert any(line.startswith("no problem in the metadata; ") for line in lines)


def test_tags_branches_and_consumers(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)
    lines = told(table)
    assert lines["tags"].startswith("2: t1 (snapshot 1), t2 (snapshot 2 until 20")
    assert (lines["branches"], lines["consumers"]) == ("2: br1, br_empty", lines["consumers"])
    assert lines["consumers"].startswith("1: c1 reads snapshot 2 next")
    assert told(f"{table}$branch_br1")["table"] == f"{table}, branch br1"


def test_an_earlier_state(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)
    assert told(table, "--at", "t1")["state shown"].startswith("snapshot 1 (")
    assert told(table, "--at", "t1")["files"].startswith("1, ")
    assert "state shown" not in told(table)


def test_json_tells_the_same(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "expire").unpack(tmp_path)
    facts = command("info", table, "--output", "json").document
    assert [level["level"] for level in facts["stored"]["levels"]] == [0, 5]
    assert [level["runs"] for level in facts["stored"]["levels"]] == [3, 1]
    assert (facts["stored"]["files"], facts["stored"]["rows"]) == (4, 8)
    assert facts["stored"]["bytes"] == sum(
        row["file_size_in_bytes"] for row in command("files", table, "--output", "json").document
    )
    assert (facts["first"]["id"], facts["last"]["id"], facts["snapshots"], facts["problems"]) == (8, 9, 2, [])


LOOKED_AT = (
    "append_dv32", "data_dir", "drop_part", "dyn_bucket", "fmt_row", "part_date_new", "pk_dv64", "pk_first_row_l0",
    "pk_part_buckets", "postpone", "schema_evo", "variant",
)  # fmt: skip


@pytest.mark.parametrize("name", LOOKED_AT)
def test_files_are_those_of_the_system_table(name: str, tmp_path: Path) -> None:
    facts = view_table(str(GoldenTable("java-2.1", name).unpack(tmp_path)), {}, None).facts
    files = command("files", facts.location, "--columns", "level,file_size_in_bytes", "--output", "json").document
    assert (facts.stored.files, facts.stored.bytes) == (len(files), sum(row["file_size_in_bytes"] for row in files))
    if facts.primary_keys:
        assert {level.level: level.files for level in facts.stored.levels} == Counter(row["level"] for row in files)


def test_an_empty_table(tmp_path: Path) -> None:
    new_table(tmp_path / "t")
    lines = told(tmp_path / "t")
    assert lines["snapshots"] == "none: nothing was written yet"
    assert lines["files"] == "0, 0 B"
    assert command("info", tmp_path / "t", "--output", "json").document["snapshot"] is None


def test_runs_that_pile_up(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"write-only": "true", "num-sorted-run.compaction-trigger": "3"})
    for i in range(2):
        append(made, [(1, i, "x")])
    assert told(tmp_path / "t")["!"] == ""
    append(made, [(1, 3, "x")])
    assert told(tmp_path / "t")["!"].startswith("3 sorted runs or more in 1 bucket, 3 at most, ")
    assert "write-only" in told(tmp_path / "t")["!"]
    assert "the next write" in told(tmp_path / "t", "-o", "write-only=false")["!"]
    command("compact", tmp_path / "t")
    assert told(tmp_path / "t")["!"] == ""


def test_rows_that_nobody_sees(tmp_path: Path) -> None:
    append(new_table(tmp_path / "t", {"deletion-vectors.enabled": "true"}), [(1, 1, "x"), (2, 1, "x")])
    assert told(tmp_path / "t")["!"] == "2 rows in level 0 are not visible to readers yet: compact the table"
    postponed = GoldenTable("java-2.1", "postpone").unpack(tmp_path / "golden")
    assert "wait for a bucket: compact the table, readers do not see them" in told(postponed)["!"]
    assert "compact the table, each read sorts them" in told(postponed, "-o", "postpone.merge-on-read=true")["!"]


def test_small_files_of_an_append_table(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"bucket": "-1"}, keys=())
    for i in range(10):
        assert told(tmp_path / "t")["!"] == ""
        append(made, [(i, i, "x")])
    assert told(tmp_path / "t")["!"] == "10 of 10 files are smaller than 25.6 MiB: compact the table"


def test_snapshots_that_stay_too_long(tmp_path: Path) -> None:
    """Ten are kept whatever their age; of eleven old ones more the newest is younger than its next one says."""
    made = new_table(tmp_path / "t", {"write-only": "true", "num-sorted-run.compaction-trigger": "99"})
    for i in range(20):
        append(made, [(1, i, "x")])
    assert told(tmp_path / "t")["!"] == ""
    old_snapshots(tmp_path / "t")
    assert told(tmp_path / "t")["!"].startswith("10 snapshots are older than the retention and still there: ")
    assert len(command("expire", tmp_path / "t", "--dry-run", "--output", "json").document["ids"]) == 10
    assert "the next commit expires some" in told(tmp_path / "t", "-o", "write-only=false")["!"]
    reset_consumer(open_table(str(tmp_path / "t")), "slow", 3)
    assert "the consumer 'slow' reads snapshot 3 next and holds them" in told(tmp_path / "t")["!"]
    reset_consumer(open_table(str(tmp_path / "t")), "slow", 15)
    assert "slow" not in told(tmp_path / "t")["!"]


def test_work_that_broke_off(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t")
    append(made, [(1, 1, "x")])
    write_mark(made.snapshots, 1, None)
    assert told(tmp_path / "t")["!"].startswith("an expiry of the snapshots below 1 is under way, or broke off")


def test_a_table_that_this_release_cannot_read(tmp_path: Path) -> None:
    lines = told(of_another_format(GoldenTable("java-2.1", "fmt_row").unpack(tmp_path)))
    assert lines["!"].startswith("cannot read the table: its option 'file.format' is 'lance'")
    assert lines["snapshots"].startswith("1: ")


def test_no_table(tmp_path: Path) -> None:
    printed = command("info", tmp_path)
    assert (printed.code, printed.out) == (2, "")
    assert printed.err.startswith(f"paimon-spark info: no Paimon table at {tmp_path}: ")


def test_damaged_metadata_are_one_sentence(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)
    snapshot_file(table, 7).write_text(json.dumps({"version": 3}))
    printed = command("info", table)
    assert printed.code == 2
    assert printed.err.count("\n") == 1


def test_a_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(new_table(tmp_path / "t"), [(1, 1, "x")])
    for name in [name for name in sys.modules if name.startswith(("matplotlib", "paimon_spark.cli.picture.draw"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    printed = command("info", tmp_path / "t", "--plot", tmp_path / "t.png")
    assert printed.code == 2
    assert printed.err == "paimon-spark info: --plot needs matplotlib: pip install 'paimon-spark[plot]'\n"
