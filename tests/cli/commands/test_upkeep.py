"""The commands that change a table: what would go is shown, then they ask."""

from __future__ import annotations

import datetime as dt
import os
import re
from pathlib import Path

import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.programs.command_line import command, on_a_terminal
from support.tables.compacted_tables import append, files_of, new_table, rows_of
from support.tables.golden_tables import GoldenTable

from paimon_spark import expire_snapshots, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite

RETAIN = ("--retain-max", "1", "--retain-min", "1")
LONG_AGO = 1_600_000_000
SHOWS_CURSOR = "\x1b[?25h"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Seven snapshots, the last of which is a full compaction."""
    return GoldenTable("java-2.1", "pk_dedup").unpack(tmp_path)


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    return GoldenTable("java-2.1", "tags_branches").unpack(tmp_path)


def snapshots(table: Path) -> list[int]:
    return open_table(str(table)).snapshots.ids()


def paths(table: Path) -> set[Path]:
    return {path for path in table.rglob("*") if path.is_file()}


def test_expire_shows_asks_and_expires(table: Path) -> None:
    before = paths(table)
    refused = command("expire", table, *RETAIN, answer="n\n")
    assert (refused.code, paths(table)) == (1, before)
    assert refused.out.startswith("would go: 6 snapshots (1 to 6), 6 data files, 12 manifest files, ")
    assert [refused.err[:13], refused.err[13:].strip()] == ["Go on? [y/N]:", "nothing was changed"]
    unanswered = command("expire", table, *RETAIN, answer="")
    assert (unanswered.code, unanswered.err.endswith("nothing was changed\n")) == (1, True)
    assert paths(table) == before
    agreed = command("expire", table, *RETAIN, answer="y\n")
    assert agreed.code == 0
    assert agreed.out.splitlines()[-1].startswith("gone: 6 snapshots (1 to 6), 6 data files, ")
    assert snapshots(table) == [7]
    why = "nothing to do: the last 1 snapshot stay (--retain-min), as do those since "
    assert command("expire", table, *RETAIN).out.startswith(why)
    assert "nothing to do: the last 10 snapshots stay (snapshot.num-retained.min)" in command("expire", table).out
    check_table(str(table))


def test_expire_says_that_a_limit_of_none_lets_none_go(table: Path) -> None:
    lets_none = "is 0, which lets no snapshot go; give --max-deletes 1 or more\n"
    for last in ("--dry-run", "--yes"):
        given = command("expire", table, *RETAIN, "--max-deletes", "0", last)
        assert (given.code, given.out) == (0, f"nothing to do: --max-deletes {lets_none}")
    stored = command("expire", table, *RETAIN, "-o", "snapshot.expire.limit=0", "--yes")
    assert stored.out == f"nothing to do: snapshot.expire.limit {lets_none}"
    of_changelogs = command("expire", table, "--changelogs", *RETAIN, "--max-deletes", "0", "--yes").out
    assert of_changelogs == f"nothing to do: --max-deletes {lets_none.replace('snapshot', 'changelog')}"
    assert snapshots(table) == [1, 2, 3, 4, 5, 6, 7]


def test_expire_without_a_question(table: Path) -> None:
    before = paths(table)
    planned = command("expire", table, *RETAIN, "--dry-run", "--output", "json").document
    assert (planned["ids"], planned["dry_run"], paths(table)) == ([1, 2, 3, 4, 5, 6], True, before)
    done = command("expire", table, *RETAIN, "--yes", "--output", "json").document
    assert done["dry_run"] is False
    assert sorted(done["paths"]) == sorted(planned["paths"])
    assert before - paths(table) >= {Path(path) for path in done["paths"]}
    asked = command("expire", table, "--output", "json")
    assert (asked.code, asked.out) == (2, "")
    assert "give --dry-run, or --yes" in " ".join(asked.err.split())


def test_expire_of_changelogs(tmp_path: Path) -> None:
    table = GoldenTable("java-2.1", "expire").unpack(tmp_path)
    told = command("expire", table, "--changelogs", "--retain-max", "3", "--retain-min", "3", "--yes")
    assert told.out.startswith("gone: 1 changelog (6)")


def test_orphans_are_shown_and_only_then_deleted(table: Path) -> None:
    orphan = table / "bucket-0" / "data-00000000-0000-0000-0000-000000000000-0.parquet"
    orphan.write_bytes(b"x" * 2048)
    young = (
        "left alone: 1 younger file (2.0 KiB) that nothing names; when no job is writing to the table, --older-than "
    )
    young += "with a later time takes it\n"
    for words in ([], ["--delete"], ["--delete", "--yes"]):
        why = "every older file has its place in the table"
        assert command("orphans", table, *words).out == f"nothing to do: {why}\n{young}"
    told = command("orphans", table, "--output", "json").document
    assert (told["paths"], told["younger_files"], told["younger_bytes"]) == ([], 1, 2048)
    os.utime(orphan, (LONG_AGO, LONG_AGO))
    shown = command("orphans", table)
    assert shown.out.startswith("would go: 1 file older than ")
    assert shown.out.endswith(f", 2.0 KiB\n  {orphan}\n")
    assert command("orphans", table, "--output", "json").document["paths"] == [str(orphan)]
    assert command("orphans", table, "--delete", answer="n\n").code == 1
    assert orphan.exists()
    assert command("orphans", table, "--delete", "--yes").out.startswith("gone: 1 file older than ")
    assert not orphan.exists()
    assert command("orphans", table, "--older-than", "2999-01-01").code == 2


def test_no_bar_is_drawn_over_a_question(table: Path) -> None:
    orphan = table / "bucket-0" / "data-00000000-0000-0000-0000-000000000000-0.parquet"
    orphan.touch()
    os.utime(orphan, (LONG_AGO, LONG_AGO))
    shown = on_a_terminal("orphans", table, "--delete", answer="y\n").err
    looking, question, deleting = shown.partition("Go on? [y/N]:")
    assert question
    assert SHOWS_CURSOR in looking  # the end of its bars
    assert "orphans" in deleting
    assert not orphan.exists()


def test_tags_come_and_go(table: Path) -> None:
    made = command("create-tag", table, "first", "--at", "1", "--time-retained", "36 h")
    assert made.out.startswith("tag 'first' keeps snapshot 1 of ")
    assert made.out.endswith(" for 1 d 12 h\n")
    assert command("create-tag", table, "now", "--output", "json").document["snapshot_id"] == 7
    assert "first" in command("create-tag", table, "first").err
    assert [row[:2] for row in command("tags", table).cells] == [["first", "1"], ["now", "7"]]
    assert command("read", table, "--at", "first").cells == command("read", table, "--at", "1").cells
    assert command("delete-tag", table, "first", "now", "--yes").out.startswith("gone: 2 tags (first, now), ")
    assert command("tags", table).cells == []


def test_tags_whose_time_is_over_go(table: Path) -> None:
    command("create-tag", table, "short", "--at", "1", "--time-retained", "1 ms")
    command("create-tag", table, "long", "--at", "1", "--time-retained", "36 h")
    command("create-tag", table, "kept")
    assert command("expire-tags", table, "--dry-run").out.startswith("would go: 1 tag (short), ")
    assert command("expire-tags", table, "--yes").out.startswith("gone: 1 tag (short), ")
    assert command("expire-tags", table, "--yes").out.startswith("nothing to do")
    assert command("expire-tags", table, "--older-than", "2999-01-01 00:00:00", "--yes").out.startswith("gone: 2 tags")
    assert command("tags", table).cells == []


def test_names_do_not_colour_the_terminal(table: Path) -> None:
    command("create-tag", table, "\x1b[31mred")
    told = [command(*words) for words in (["info", table], ["rollback", table, "1", "--dry-run"], ["tags", table])]
    assert all(r"\x1b[31mred" in printed.out for printed in told)
    assert command("delete-tag", table, "x").err.endswith("; its tags are \\x1b[31mred\n")


def test_a_wrong_name_among_tags_deletes_none(table: Path) -> None:
    command("create-tag", table, "first", "--at", "1")
    for names in (["nosuch"], ["first", "nosuch"], ["first,nosuch"]):
        told = command("delete-tag", table, *names, "--yes")
        assert (told.code, told.out) == (2, "")
        assert f"has no tag '{names[-1]}'; snapshots 1 to 7 are available" in told.err
        assert told.err.endswith("; its tags are first\n")
    assert len(command("tags", table).cells) == 1


def test_a_deletion_of_a_tag_that_broke_off_is_finished(table: Path) -> None:
    command("create-tag", table, "first", "--at", "1")
    command("expire", table, *RETAIN, "--yes")
    os.rename(table / "tag" / "tag-first", table / "tag" / ".deleting-first")
    told = "the deletion of first is under way, or broke off: delete-tag finishes it"
    assert told in command("info", table, "--output", "json").document["problems"]
    assert command("delete-tag", table, "first", "--yes").code == 0
    assert command("info", table, "--output", "json").document["problems"] == []
    check_table(str(table))


def test_a_tag_by_time(table: Path) -> None:
    (time,) = (row["commit_time"] for row in command("snapshots", table, "--output", "json").document[2:3])
    assert command("create-tag", table, "then", "--at", time, "--output", "json").document["snapshot_id"] == 3


@pytest.mark.parametrize(("target", "left"), [("t1", [1]), ("2", [1, 2])])
def test_rollback(tagged: Path, target: str, left: list[int]) -> None:
    before = paths(tagged)
    shown = command("rollback", tagged, target, "--dry-run")
    assert f"the latest snapshot is then {left[-1]}" in shown.out
    assert paths(tagged) == before
    assert command("rollback", tagged, target, "--yes").out.startswith("gone: ")
    assert snapshots(tagged) == left
    assert command("rollback", tagged, target).out.startswith("nothing to do")
    again = command("rollback", tagged, "2999-01-01").out
    assert again == f"nothing to do: the state asked for is the latest snapshot, {left[-1]}\n"
    assert command("rollback", tagged, "t9").err.startswith("paimon-spark rollback: 't9' is neither a tag")


def test_compact(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"write-only": "true"})
    for start in (0, 5, 10):
        append(made, [(i, start, "x") for i in range(start, start + 10)])
    before = rows_of(made)
    told = command("compact", tmp_path / "t").out.splitlines()
    assert told[0].startswith("1 bucket: 3 files of 30 rows, ")
    assert ", became 1 of 20 rows, " in told[0]
    assert told[1].startswith("committed as snapshot 4 after ")
    assert (rows_of(made), [file.level for file in files_of(made)]) == (before, [5])
    assert command("compact", tmp_path / "t").out == "nothing to compact\n"
    again = command("compact", tmp_path / "t", "--output", "json")
    assert again.document["snapshot_ids"] == []
    assert again.err == ""


def test_compact_counts_what_waited_for_a_bucket(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"})
    append(made, [(i, 0, "x") for i in range(20)])
    append(made, [(i, 1, "x") for i in range(10)])
    told = command("compact", tmp_path / "t").out.splitlines()
    assert told[0] == "2 files of 30 rows waited for a bucket and went into theirs"
    assert told[1].startswith("1 bucket: 1 file of 20 rows, ")
    assert told[2].startswith("committed as snapshots 3, 4 after ")
    append(made, [(1, 2, "x")])
    moved = command("compact", tmp_path / "t", "--as-writers").out.splitlines()
    assert moved[0] == "1 file of 1 row waited for a bucket and went into theirs"
    assert moved[1].startswith("committed as snapshot 6 after ")
    assert command("compact", tmp_path / "t", "--as-writers").out == "nothing to compact\n"
    append(made, [(1, 3, "x"), (2, 3, "x")])
    told = command("compact", tmp_path / "t", "--output", "json").document
    assert (told["snapshot_ids"], told["postponed_files"], told["postponed_rows"]) == ([8, 9], 1, 2)
    assert (told["files_before"], told["rows_before"], told["rows_after"]) == (3, 23, 20)


def test_compact_as_writers_do_and_where(tmp_path: Path) -> None:
    made = new_table(tmp_path / "t", {"write-only": "true"})
    append(made, [(1, 1, "x")])
    append(made, [(2, 1, "x")])
    assert command("compact", tmp_path / "t", "--as-writers").out == "nothing to compact\n"
    assert "k is no partition column" in command("compact", tmp_path / "t", "--where", "k = 1").err
    assert "chooses what a read sees" in command("compact", tmp_path / "t", "-o", "scan.snapshot-id=1").err


def test_compact_manifest(table: Path) -> None:
    assert command("compact-manifest", table).out.startswith("7 manifests became 1, committed as snapshot 8 after ")
    assert command("compact-manifest", table).out == "nothing to merge\n"


def test_partitions_expire(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("k", pa.int32(), False), pa.field("dt", pa.string(), False)])
    create_table(str(tmp_path / "t"), new_schema(columns, (), ("dt",), {"bucket": "-1"}))
    made = open_table(str(tmp_path / "t"))
    write = TableWrite(made, "user")
    write.write(pa.record_batch([[1, 2, 3], ["2020-01-01", "2999-01-01", "soon"]], schema=columns))
    TableCommit(made, "user").append(write.finish())
    old = ("expire-partitions", tmp_path / "t", "--older-than", "90 d")
    shown = command(*old, "--dry-run")
    assert shown.out.startswith("would go: 1 partition of 1 file of 1 row, ")
    assert shown.out.endswith("\n  dt=2020-01-01\n")
    assert len(command("read", tmp_path / "t").cells) == 3
    assert command(*old, "--yes", "--output", "json").document["partitions"] == ["dt=2020-01-01"]
    assert command("read", tmp_path / "t").cells == [["2", "2999-01-01"], ["3", "soon"]]
    assert command(*old, "--yes").out == "nothing to do\n"
    assert "partition.expiration-time" in command("expire-partitions", tmp_path / "t").err


def test_lost_files_are_forgotten(table: Path) -> None:
    (lost,) = (Path(row["file_path"]) for row in command("files", table, "--output", "json").document)
    lost.unlink()
    assert command("read", table).code == 2
    shown = command("remove-lost-files", table, "--dry-run")
    assert shown.out.splitlines()[0].startswith("would go: 1 lost file of 5 rows, ")
    assert "rows of the same keys that these had replaced or deleted are read again" in shown.out
    assert command("remove-lost-files", table, "--yes").code == 0
    assert command("read", table).cells == []


def test_expire_names_the_consumer_that_holds_snapshots(table: Path) -> None:
    position = table / "consumer" / "consumer-night"
    position.parent.mkdir()
    position.write_text('{"nextSnapshot": 3}')
    expected = "left alone: the snapshots from 3 on, for the consumer 'night' reads 3 next; `CALL sys.reset_consumer`"
    assert expected in command("expire", table, *RETAIN, "--dry-run").out
    assert "gone: 2 snapshots (1 to 2)" in command("expire", table, *RETAIN, "--yes").out
    held = command("expire", table, *RETAIN, "--yes").out
    assert held.startswith("nothing to do")
    assert expected in held
    os.utime(position, (LONG_AGO, LONG_AGO))
    past = command("expire", table, *RETAIN, "--yes", "-o", "consumer.expiration-time=7 d").out
    assert "it has not moved for more than 7 d (consumer.expiration-time): the next commit deletes it" in past
    position.write_text('{"nextSnapshot": 7}')
    assert "left alone" not in command("expire", table, *RETAIN, "--yes").out
    assert snapshots(table) == [7]


def test_the_result_of_an_expiry_names_the_consumer_that_holds_snapshots(table: Path) -> None:
    for name, position in (("day", 4), ("night", 3), ("week", 6)):
        path = table / "consumer" / f"consumer-{name}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'{{"nextSnapshot": {position}}}')
    opened = open_table(str(table), {"snapshot.time-retained": "9999 d"})
    for retain_max, max_deletes, expected in (
        (1, None, ("night", 3)), (4, None, ("night", 3)), (5, None, (None, None)), (1, 2, (None, None)),
    ):  # fmt: skip
        result = expire_snapshots(opened, retain_max, 1, max_deletes=max_deletes, dry_run=True)
        assert (result.ids, result.held_by, result.held_from) == ((1, 2), *expected)
    assert expire_snapshots(opened, 7, 1, dry_run=True).held_by is None
    done = expire_snapshots(opened, 1, 1)
    assert (done.ids, done.held_by, done.held_from) == ((1, 2), "night", 3)
    again = expire_snapshots(opened, 1, 1)
    assert (again.ids, again.held_by, again.held_from) == ((), "night", 3)


def test_a_rollback_from_a_snapshot_that_is_lost_says_so(table: Path) -> None:
    (table / "snapshot" / "snapshot-7").unlink()
    said = "snapshot 7, which is lost already; the latest snapshot is then 6"
    assert command("rollback", table, "6", "--dry-run").out == f"would go: {said}\n"
    assert (table / "snapshot" / "LATEST").read_text() == "7"
    assert command("rollback", table, "6", "--yes").out == f"gone: {said}\n"
    assert command("rollback", table, "6", "--yes").out.startswith("nothing to do: ")
    assert command("rollback", table, "5", "--yes").out == "gone: 1 snapshot (6); the latest snapshot is then 5\n"
    check_table(str(table))


def test_a_dry_run_of_purge_says_how_many_files_go_at_most(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    for number in range(3):
        append(table, [(number, None, None)])
    planned = command("purge", tmp_path / "t", "--dry-run").out
    done = command("purge", tmp_path / "t", "--yes").out
    [most] = re.findall(r"3 snapshots, at most (\d+) files", planned)
    [gone] = re.findall(r"3 snapshots, (\d+) files", done)
    assert 0 < int(gone) <= int(most)


def test_older_than_takes_an_age_too(table: Path) -> None:
    many = ("expire", table, "--retain-min", "1", "--dry-run", "--older-than")
    assert command(*many, "1 h").out.startswith("would go: 6 snapshots (1 to 6)")
    assert command(*many, "36500 d").out.startswith("nothing to do")
    assert "--older-than is '7 x': expected" in command(*many, "7 x").err


@pytest.mark.parametrize("zone", ["+14:00", "-12:00"])
@pytest.mark.parametrize("age", ["9999999 d", "9223372036854775807 ms"])
def test_nothing_is_older_than_the_calendar(table: Path, age: str, zone: str) -> None:
    assert command("create-tag", table, "kept").code == 0
    before = paths(table)
    for name in ("expire", "orphans", "expire-tags"):
        done = command(name, table, "--older-than", age, "--time-zone", zone, "--yes")
        assert (done.code, done.err, done.out.splitlines()[0][:13]) == (0, "", "nothing to do")
    assert command("purge", table, "--orphans-older-than", age, "--dry-run").code == 0
    assert paths(table) == before


def test_a_retention_beyond_the_calendar(table: Path) -> None:
    assert command("create-tag", table, "kept", "--time-retained", "9999999 d").code == 0
    keys = ("snapshot.time-retained", "changelog.time-retained")
    assert command("alter", table, "set-options", *(f"{key}=9999999 d" for key in keys)).code == 0
    told = command("expire", table, "--retain-min", "1", "--time-zone", "UTC").out
    assert re.match(r"nothing to do: .* those since -25353-\d\d-\d\d ", told)
    assert command("info", table).code == 0
    assert snapshots(table) == list(range(1, 8))


@pytest.mark.parametrize("moment", [dt.datetime.min, dt.datetime.min.replace(tzinfo=dt.UTC)])
def test_nothing_is_older_than_the_first_day(table: Path, moment: dt.datetime) -> None:
    assert expire_snapshots(open_table(str(table)), older_than=moment, retain_min=1).ids == ()
