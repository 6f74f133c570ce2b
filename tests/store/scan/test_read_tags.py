"""`scan.plan-auto-tag-for-read.time-retained`: a tag keeps the snapshot that a long read stands on."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.tables.expiring import branch, live_on, new_table, rules, state, stored

from paimon_spark.arrow.predicates.predicate import AlwaysFalse
from paimon_spark.errors import MissingFile, SnapshotNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.tag_deletion import expire_tags
from paimon_spark.store.holds.marks import write_mark
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.new_scan import new_scan
from paimon_spark.store.scan.table_scan import Scan

HOUR = {"scan.plan-auto-tag-for-read.time-retained": "1 h"}
AT_ONCE = {"scan.plan-auto-tag-for-read.time-retained": "0 ms"}
DIFF = {"incremental-between": "1,2", "incremental-between-scan-mode": "diff"}
OLD = {"scan.snapshot-id": "2"}
NONE: Mapping[str, str] = {}


def scan(table: Table, options: Mapping[str, str]) -> Scan:
    return table.with_options(options).scan()


def kept(table: Table) -> list[int]:
    """The snapshots of all tags, each a tag of a read that lives for an hour."""
    for name, tag in table.snapshots.tags().items():
        assert re.fullmatch(rf"batch-read-{tag.snapshot.id}-[0-9a-f]{{8}}", name)
        assert tag.time_retained == 3_600_000_000_000
    return sorted(tag.snapshot.id for tag in table.snapshots.tags().values())


@pytest.mark.parametrize(
    ("options", "snapshots"),
    [
        (NONE, [3]),
        (OLD, [2]),
        ({"scan.mode": "compacted-full"}, [3]),
        (DIFF, [1, 2]),
        ({"incremental-between": "0,2", "incremental-between-scan-mode": "diff"}, [2]),
        ({"incremental-between": "0,2"}, [2]),
        ({"incremental-between": "2,2"}, []),
    ],
)
def test_while_it_is_read(options: dict[str, str], snapshots: list[int], tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwc")
    batches = scan(table, HOUR | options).to_batches()
    next(batches, None)
    assert kept(table) == snapshots
    batches.close()
    assert kept(table) == []
    planned = scan(table, HOUR | options)
    assert sorted(str(row) for row in planned.to_arrow().to_pylist()) == sorted(
        str(row) for row in scan(table, options).to_arrow().to_pylist()
    )
    assert planned.count() == scan(table, options).count()
    assert kept(table) == []


@pytest.mark.parametrize("name", ["audit_log", "binlog", "ro"])
def test_system_tables_of_rows_too(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwc")
    batches = table.with_options(HOUR).system_table(name).to_batches()
    next(batches)
    assert kept(table) == [3]
    batches.close()
    assert kept(table) == []
    io = FaultyFileIO(LocalFileIO(), 0, named="!create")
    replace(table, file_io=io).with_options(HOUR).system_table(name).to_arrow()
    assert "no tag keeps snapshot 3 of" in caplog.text


def test_tasks_run_on_after_the_plan(tmp_path: Path) -> None:
    """Nobody tells when they are through: the tag lives until its time is up."""
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    old, right = scan(table, HOUR | OLD), state(table, OLD)
    tasks = old.tasks()
    assert kept(table) == [2]
    live_on(table, "c")
    expire_snapshots_by(table, rules(1))
    reader = old.reader()
    rows = [row for task in tasks for split in task for batch in reader.read(split) for row in batch.to_pylist()]
    assert sorted(tuple(row.values()) for row in rows) == right


def test_what_it_alone_kept_goes_with_it(tmp_path: Path) -> None:
    table, other = new_table(tmp_path / "t"), new_table(tmp_path / "o")
    for each in (table, other):
        live_on(each, "ww")
    batches = scan(table, AT_ONCE).to_batches()
    next(batches)
    for each in (table, other):
        live_on(each, "c")
        expire_snapshots_by(each, rules(1))
    batches.close()
    (name,) = table.snapshots.tag_names()
    assert len(stored(table)) > len(stored(other))
    assert expire_tags(table).names == (name,)
    assert len(stored(table)) == len(stored(other))


def test_nothing_to_read_needs_no_tag(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    assert scan(table, HOUR).tasks() == []
    live_on(table, "w")
    read = scan(table, HOUR)
    assert new_scan(read.table, read.fields, AlwaysFalse()).tasks() == []
    assert kept(table) == []


def test_looking_at_a_plan_makes_no_tag(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    assert scan(table, HOUR).plan().splits
    assert kept(table) == []


@pytest.mark.parametrize("options", [NONE, {"incremental-between": "0,2"}])
def test_who_wants_no_tag_does_nothing_for_it(options: dict[str, str], tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    plain, fenced = FaultyFileIO(LocalFileIO()), FaultyFileIO(LocalFileIO())
    scan(replace(table, file_io=plain), options).plan()
    scan(replace(table, file_io=fenced), options).tasks()
    assert sorted(fenced.log) == sorted(plain.log)


def test_who_may_not_write_reads_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    io = FaultyFileIO(LocalFileIO(), 0, named="!create")
    with caplog.at_level(logging.WARNING):
        assert scan(replace(table, file_io=io), HOUR).to_arrow().num_rows == 2
    assert "no tag keeps snapshot 1 of" in caplog.text


def test_a_snapshot_that_expires_just_now(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "www")
    write_mark(table.snapshots, 3, None)
    with pytest.raises(SnapshotNotFound, match=r"tagging snapshot 2 .* it expires just now; .*must stay with a tag"):
        scan(table, HOUR | OLD).to_arrow()
    assert kept(table) == []


def test_a_plan_that_fails_leaves_no_tag(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    next(tmp_path.rglob("manifest-list-*-1")).unlink()
    with pytest.raises(MissingFile):
        scan(table, HOUR).tasks()
    assert kept(table) == []


def test_on_a_branch(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    other = branch(table, "b", 1)
    assert scan(other, HOUR).tasks()
    assert (kept(table), kept(other)) == ([], [1])


def test_system_tables_of_rows(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    assert table.with_options(HOUR).system_table("audit_log").tasks()
    assert kept(table) == [1]
