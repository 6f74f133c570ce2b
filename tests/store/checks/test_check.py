"""The check of a table: genuine tables have no problem, and what is looked at. Damage: test_check_damage.py."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pytest
from support.faults.damage import change_entries, edit_json, snapshot_file
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When, is_killed, kill
from support.oracles.checker import check_table
from support.tables.compacting import compact, write
from support.tables.compacting import make as make_written
from support.tables.expiring import branch, consumer, copied, live_on, new_table, rules, state, tag
from support.tables.files_by_hand import COLUMNS, keyed_table, make
from support.tables.golden_tables import GoldenTable, golden_tables

from paimon_spark import check, open_table
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CorruptFile, DataError, OptionError, SnapshotNotFound, StorageError, TableNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.manifests.index_manifest import decode_index_manifest, encode_index_manifest
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.store.checks.buckets import check_one_partition
from paimon_spark.store.checks.report import KEPT, Findings, Rule
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.changes import UpdateType
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite


@pytest.mark.parametrize("table", golden_tables(), ids=str)
def test_genuine_tables_of_all_releases_are_good(table: GoldenTable, tmp_path: Path) -> None:
    report = check(str(table.unpack(tmp_path)))
    assert report.is_good, str(report)
    assert report.files_read == report.files or report.notes
    assert report.snapshots


def golden(name: str, target: Path) -> Path:
    return GoldenTable("java-2.1", name).unpack(target)


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    report = check(keyed_table(tmp_path / "t"))
    assert report.is_good
    assert (report.snapshots, report.files, report.live_rows) == ((), 0, 0)


def test_the_newest_snapshot_is_lost(tmp_path: Path) -> None:
    table = golden("overwrite", tmp_path)
    snapshot_file(table, 3).unlink()
    for latest_only in (False, True):
        (problem,) = check(str(table), latest_only=latest_only).problems
        assert (problem.rule, problem.where) == (Rule.SNAPSHOT, "snapshot 3")
        assert "names snapshot 3, and the newest one there is 2" in problem.found


def test_all_snapshots_are_lost(tmp_path: Path) -> None:
    table = golden("overwrite", tmp_path)
    shutil.rmtree(table / "snapshot")
    before = sorted(table.rglob("*"))
    (problem,) = check(str(table)).problems
    assert "which was written on top of one: its snapshots were lost" in problem.found
    opened = open_table(str(table))
    for call in (opened.scan().to_arrow, opened.snapshots.latest_id):
        with pytest.raises(CorruptFile, match="its snapshots were lost"):
            call()
    assert sorted(table.rglob("*")) == before


def test_what_a_first_commit_leaves_that_broke_off_is_a_note(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"changelog-producer": "input"})
    live_on(table, "w")
    shutil.rmtree(tmp_path / "t/snapshot")
    (note,) = check(table.location).notes
    assert "its first commit broke off, and a write can follow" in note
    live_on(table, "w")
    assert state(table, {}) == [(0, 1), (1, 1)]
    check_table(table.location)


def killed_at(table: Table, work: Callable[[Table], object], before_last: int) -> None:
    """Does the work, in a process that is killed before one of its last operations on storage."""
    log = FaultyFileIO(LocalFileIO())
    copy = copied(table, Path(f"{table.location}-copy"))
    work(replace(copy, file_io=log))
    faulty = FaultyFileIO(LocalFileIO(), len(log.log) - before_last, When.BEFORE, act=kill)
    assert is_killed(lambda: work(replace(table, file_io=faulty)))


def test_what_an_expiry_leaves_that_was_killed_is_a_note(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwwww")
    tag(table, "kept", 3)
    killed_at(table, lambda table: expire_snapshots_by(table, rules(2)), 4)
    assert len(table.snapshots.ids()) > 2, "some that the expiry has begun to delete"
    report = check(table.location)
    assert (report.problems, report.snapshots, report.tags) == ((), (4, 5), ("kept",))
    (note,) = report.notes
    assert note.startswith("not looked at: the snapshots below 4, because an expiry of them is under way, or broke off")
    with pytest.raises(SnapshotNotFound, match="snapshots 4 to 5 are available"):
        open_table(table.location, {"scan.snapshot-id": "2"}).scan().plan()
    expire_snapshots_by(table, rules(2))
    assert check(table.location).notes == ()


def test_what_a_rollback_leaves_that_was_killed_is_a_note(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwwww")
    killed_at(table, lambda table: rollback(table, 2), 7)
    between = table.snapshots.latest_id()
    assert between in (3, 4)
    report = check(table.location)
    assert report.is_good
    (note,) = report.notes
    assert f"names snapshot 2, and the newest one is {between}" in note
    assert f"a rollback to snapshot 2 broke off, then run it again (`paimon-spark rollback {table.location} 2`)" in note
    rollback(table, 2)
    assert check(table.location).notes == ()


def test_a_newest_snapshot_that_is_lost_with_its_hint_is_a_note(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "www")
    (tmp_path / "t/snapshot/LATEST").unlink()
    assert check(table.location).notes == ()
    lost = table.snapshots.load(3)
    later = time.time_ns() + 10**9  # the clock of the store may be too coarse to tell
    for name in (lost.base_manifest_list, lost.delta_manifest_list):
        os.utime(tmp_path / "t/manifest" / name, ns=(later, later))
    (tmp_path / "t/snapshot/snapshot-3").unlink()
    (note,) = check(table.location).notes
    assert f"{lost.delta_manifest_list} was written after snapshot 2, the newest one" in note
    assert "a later snapshot was lost together with the hint, then restore both" in note


def test_what_was_looked_at(tmp_path: Path) -> None:
    table = golden("cl_lookup", tmp_path)
    report = check(open_table(str(table)))
    assert report.snapshots == (1, 2, 3, 4, 5, 6)
    files = list(table.glob("bucket-0/*.parquet"))
    assert (report.files, report.files_read) == (len(files), len(files))
    assert report.bytes == sum(p.stat().st_size for p in files)
    assert (report.live_files, report.live_rows) == (1, 2)
    assert str(report).endswith("no problem")


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFound, match="nothing at this path"):
        check(str(tmp_path / "none"))


def test_a_problem_of_a_bucket_names_it(tmp_path: Path) -> None:
    table = golden("pk_dedup", tmp_path)
    change_entries(table, lambda e: [e._replace(file=e.file._replace(level=1))])
    found = {p.where for p in check(str(table)).problems if p.rule == Rule.LEVELS}
    assert found == {"the table, bucket 0"}


def test_metadata_alone(tmp_path: Path) -> None:
    table = golden("pk_dedup", tmp_path)
    change_entries(table, lambda e: [e._replace(file=e.file._replace(min_sequence_number=-1))])
    report = check(str(table), read_files=False)
    assert report.is_good
    assert report.files_read == 0
    assert not check(str(table)).is_good
    next(table.glob("bucket-0/data-*")).unlink()
    assert [p.rule for p in check(str(table), read_files=False).problems] == [Rule.STORED]


def test_the_latest_snapshot_alone(tmp_path: Path) -> None:
    table = golden("overwrite", tmp_path)
    edit_json(snapshot_file(table, 1), totalRecordCount=5)
    report = check(str(table), latest_only=True)
    assert report.is_good
    assert report.snapshots == (3,)
    assert not check(str(table)).is_good


def test_tags_of_expired_snapshots_are_checked_too(tmp_path: Path) -> None:
    table = golden("tags_branches", tmp_path)
    for snapshot_id in (1, 2):
        snapshot_file(table, snapshot_id).unlink()
    report = check(str(table))
    assert report.is_good, str(report)
    assert (report.snapshots, report.tags) == ((3,), ("t1", "t2"))
    edit_json(table / "tag" / "tag-t1", totalRecordCount=17)
    (problem,) = check(str(table)).problems
    assert (problem.rule, problem.snapshot) == (Rule.TOTALS, "tag t1")


def test_a_branch(tmp_path: Path) -> None:
    table = golden("tags_branches", tmp_path)
    last = sorted((table / "branch" / "branch-br1" / "snapshot").glob("snapshot-*"))[-1]
    edit_json(last, totalRecordCount=17)
    report = check(str(table))
    assert report.is_good
    assert f"of {table}$branch_br1, a branch, only the schemas and the newest snapshot were read" in report.notes
    for report in (check(f"{table}$branch_br1"), check(str(table), {"branch": "br1"})):
        assert [p.rule for p in report.problems] == [Rule.TOTALS]


def as_directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize("part", ["schema/schema-0", "snapshot/snapshot-2"])
@pytest.mark.parametrize(
    "damage", [lambda file: file.write_bytes(b""), lambda file: file.write_bytes(b"{}"), as_directory, Path.unlink]
)
def test_a_branch_that_cannot_be_opened(tmp_path: Path, part: str, damage: Callable[[Path], object]) -> None:
    table = golden("tags_branches", tmp_path)
    damage(table / "branch" / "branch-br1" / part)
    (problem,) = check(str(table)).problems
    assert (problem.rule, problem.snapshot) == (Rule.SNAPSHOT, "branch br1")


def test_a_snapshot_that_expires_concurrently_is_no_problem(tmp_path: Path) -> None:
    table = golden("overwrite", tmp_path)
    edit_json(snapshot_file(table, 1), totalRecordCount=5)

    def expire(what: str, done: int, total: int) -> None:
        snapshot_file(table, 1).unlink(missing_ok=True)

    assert check(str(table), progress=expire).is_good


def test_a_table_that_is_written_to_concurrently(tmp_path: Path) -> None:
    table = keyed_table(tmp_path / "t", write_only="true")

    def write() -> None:
        batch = pa.record_batch({"part": ["x"] * 4, "id": range(4), "value": ["v"] * 4}, schema=COLUMNS)
        task = TableWrite(table, "u")
        task.write(batch)
        TableCommit(table, f"u{table.snapshots.latest_id()}").append(task.finish())

    for _ in range(3):
        write()
    report = check(table, progress=lambda what, done, total: write())
    assert report.is_good, str(report)
    assert report.snapshots == (1, 2, 3)
    assert check(table).snapshots == tuple(range(1, 3 + 3 + report.files + 1))


def test_progress_goes_up_to_the_end(tmp_path: Path) -> None:
    table = golden("cl_lookup", tmp_path)
    told: dict[str, list[tuple[int, int]]] = {}
    report = check(str(table), progress=lambda what, done, total: told.setdefault(what, []).append((done, total)))
    assert told["snapshots"] == [(n, 6) for n in range(6)]
    assert told["files"] == sorted(told["files"])
    assert told["files"][-1] == (report.bytes, report.bytes)


@pytest.mark.parametrize("named", ["read", "open_input", "list"])
def test_a_storage_that_fails_is_no_problem_of_the_table(named: str, tmp_path: Path) -> None:
    good = open_table(str(golden("pk_dv32", tmp_path)))
    count = FaultyFileIO(good.file_io)
    assert check(Table(good.location, count, good.schema, good.settings)).is_good
    for at in range(count.log.count(named)):
        broken = FaultyFileIO(good.file_io, at=at, named=named)
        with pytest.raises(InjectedFault):
            check(Table(good.location, broken, good.schema, good.settings))


def test_many_problems_of_a_rule_are_counted() -> None:
    findings = Findings()
    for number in range(KEPT + 7):
        findings.add(Rule.STORED, f"snapshot {number}", f"file {number}", "gone")
        findings.add(Rule.STORED, "later", f"file {min(number, KEPT - 1)}", "gone")
    findings.add(Rule.SNAPSHOT, "snapshot 1", "s", "t")
    problems, more = findings.problems()
    assert [p.rule for p in problems] == [Rule.SNAPSHOT] + [Rule.STORED] * KEPT
    assert more == {Rule.STORED: 7}
    findings.forget(["snapshot 3", "snapshot 4"])
    problems, more = findings.problems()
    assert (len(problems), more) == (KEPT - 1, {Rule.STORED: 7})


@pytest.mark.parametrize("keys_at_once", [1 << 20, 3, 1])
def test_keys_in_two_partitions(keys_at_once: int, tmp_path: Path) -> None:
    table = make(tmp_path / "t", ("id",), ("part",), {"bucket": "-1", "write-only": "true"})
    findings = Findings()
    for part, ids in (("x", range(10)), ("y", range(7, 12))):
        batch = pa.record_batch({"part": [part] * len(ids), "id": ids, "value": ["v"] * len(ids)}, schema=COLUMNS)
        since = table.snapshots.latest_id() or 0
        write = TableWrite(table, part)
        write.write(batch, buckets=np.zeros(len(ids), np.int32))
        TableCommit(table, part, since).append(write.finish())
        snapshot = table.snapshots.latest()
        assert snapshot is not None
        check_one_partition(table, "now", snapshot, findings, keys_at_once)
        found = [(p.rule, p.found[:40]) for p in findings.problems()[0]]
        assert found == [(Rule.ONE_ROW, "3 keys live in more than one partition o")] * (part == "y")
    assert [p.rule for p in check(table).problems] == [Rule.ONE_ROW]
    next((tmp_path / "t").rglob("data-*")).unlink()
    lost = any("not looked for keys in more than one partition" in note for note in check(table).notes)
    assert lost, "a file that cannot be read is a problem of its own"


def test_texts_that_are_none_of_the_type_that_their_column_has_now(tmp_path: Path) -> None:
    """Each file is as it was written, and the table cannot be read."""
    table = tmp_path / "t"
    columns = pa.schema([("k", pa.int32()), ("s", pa.string()), ("n", pa.int32())])
    create_table(str(table), new_schema(columns, ("k",), (), {"bucket": "1"}))
    write = TableWrite(open_table(str(table)), "1")
    write.write(pa.record_batch([pa.array([1, 2], pa.int32()), ["7", "seven"], pa.array([1, 2], pa.int32())], columns))
    TableCommit(open_table(str(table)), "1").append(write.finish())
    alter_table(open_table(str(table)), [UpdateType(("n",), DataType(Root.BIGINT))])
    assert check(str(table)).problems == ()
    alter_table(open_table(str(table)), [UpdateType(("s",), DataType(Root.INT))])
    with pytest.raises(DataError, match="'seven' is no INT"):
        open_table(str(table)).scan("s").to_arrow()
    (problem,) = check(str(table)).problems
    assert (problem.rule, problem.snapshot) == (Rule.ROWS, "snapshot 1")
    assert "reading column 's', whose type was changed: the text 'seven' is no INT" in problem.found
    assert "give the column its old type again" in problem.found
    assert check(str(table), keys_only=True).problems == ()
    alter_table(open_table(str(table)), [UpdateType(("s",), DataType(Root.VARCHAR, length=MAX_LENGTH))])
    assert check(str(table)).problems == ()


def test_an_option_that_chooses_a_snapshot_is_refused(tmp_path: Path) -> None:
    table = golden("overwrite", tmp_path)
    with pytest.raises(OptionError, match=r"'scan\.snapshot-id' chooses what a read sees"):
        check(str(table), {"scan.snapshot-id": "1"})


def test_texts_without_their_blanks_in_keys_are_a_note(tmp_path: Path) -> None:
    """Spark pads them, and other engines do not."""
    table = tmp_path / "t"
    columns = pa.schema([("c", pa.string()), ("k", pa.int32())])
    fields = (DataField(0, "c", DataType(Root.CHAR, False, 4)), DataField(1, "k", DataType(Root.INT)))
    create_table(str(table), replace(new_schema(columns, ("c",), (), {"bucket": "1"}), fields=fields))
    for number, texts in enumerate((["full", "pads"], ["abc", "ab", "full"])):
        write = TableWrite(open_table(str(table)), f"{number}")
        rows = pa.record_batch([texts, [1] * len(texts)], schema=arrow_schema(fields))
        write.write(rows)
        TableCommit(open_table(str(table)), f"{number}").append(write.finish())
        notes = [note for note in check(str(table)).notes if "without the blanks" in note]
        assert len(notes) == number
    assert "the column 'c' CHAR(4) holds texts without the blanks with which Spark pads them, such as 'ab'" in notes[0]


def test_a_store_that_fails_is_no_damage(tmp_path: Path) -> None:
    """Whatever the check reads when the store goes down, it says so: nobody must take it for a report."""

    def down() -> NoReturn:
        raise StorageError("the store is down")

    columns = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
    options = {"deletion-vectors.enabled": "true", "changelog-producer": "input"}
    table = make_written(tmp_path / "t", columns, ["p", "k"], options, ["p"])
    for _ in range(2):
        write(table, [("a", k, k) for k in range(9)])
        compact(table, full=False)
    tag(table, "t", 2)
    branch(table, "b", 3)
    consumer(table, "c", 3)
    whole = FaultyFileIO(table.file_io)
    assert check(replace(table, file_io=whole)).is_good
    assert "list" in whole.log
    for at in range(len(whole.log)):
        with pytest.raises(StorageError, match="the store is down"):
            check(replace(table, file_io=FaultyFileIO(table.file_io, at, act=down)))


def test_one_damaged_file_hides_no_other(tmp_path: Path) -> None:
    """Of tags, consumers and long-lived changelogs the first is garbled, and what the next one needs is lost."""
    table = new_table(tmp_path / "t", {"changelog-producer": "input"})
    live_on(table, "wwww")
    for name, number in (("a", 1), ("b", 2)):
        tag(table, name, number)
        consumer(table, name, 4)
    expire_snapshots_by(table, rules(1, changelogs=9))
    assert table.snapshots.changelog_ids() == [1, 2, 3]
    root = tmp_path / "t"
    for name in ("changelog/changelog-1", "tag/tag-a", "consumer/consumer-a", "consumer/consumer-b"):
        (root / name).write_text("{")
    for path in root.glob("bucket-0/*"):
        path.unlink()
    found = {problem.where for problem in check(table).problems}
    assert {"changelog 1", "tag a", "consumer a", "consumer b"} <= found
    gone = [name for name in found if "/bucket-0/" in name]
    assert [sum(f"/{kind}-" in name for name in gone) for kind in ("changelog", "data")] == [3, 4], found


def test_what_was_not_looked_at_is_noted(tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int32()), ("v", pa.int64())])
    vectors = make_written(tmp_path / "v", columns, ["p", "k"], {"deletion-vectors.enabled": "true"}, ["p"])
    write(vectors, [("a", k, k) for k in range(9)])
    compact(vectors)
    write(vectors, [("a", 3, 100)])
    compact(vectors, full=False)
    latest = vectors.snapshots.latest()
    assert latest is not None
    path = tmp_path / "v/manifest" / str(latest.index_manifest)
    entries = decode_index_manifest(path.read_bytes(), path.name)
    other = [replace(entry, index_type="btree", deletion_ranges=None) for entry in entries]
    path.write_bytes(encode_index_manifest(other))
    assert "index files of the type btree are not opened" in check(vectors).notes
