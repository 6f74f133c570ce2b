"""A snapshot that is gone under a reader: one clear error, whenever it is noticed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault
from support.simulation.interleaved_store import InterleavedStore
from support.tables.compacting import Row, make, write
from support.tables.expiring import COLUMNS, copied, live_on, new_table, rules, state, tag
from support.tables.golden_tables import GoldenTable

from paimon_spark.errors import MissingFile, SnapshotNotFound, TableNotFound
from paimon_spark.file_io import LocalFileIO
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import ReadUnit
from paimon_spark.store.scan.new_scan import new_scan
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.tables.open import open_table

OLD = {"scan.snapshot-id": "2"}


def scan(table: Table, options: Mapping[str, str]) -> Scan:
    return table.with_options(options).scan()


def read(splits: Sequence[ReadUnit], of: Scan) -> list[Row]:
    reader = of.reader()
    rows = [row for split in splits for batch in reader.read(split) for row in batch.to_pylist()]
    return sorted(tuple(row.values()) for row in rows)


def assert_tells_all(error: pytest.ExceptionInfo[SnapshotNotFound], available: str) -> None:
    """What is there, what is kept, and what to do."""
    message = str(error.value)
    assert re.search(available, message)
    assert re.search(r"keeps snapshots for 1 h \('snapshot.time-retained'\), at least 10 of them", message)
    assert message.endswith(": give it a longer time, or keep what must stay with a tag or a consumer")


# ------------------------------------------------------------------------------------------------------------ planning


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (OLD, "reading snapshot 2 of the table at .* it has expired"),
        ({"scan.version": "1"}, "reading snapshot 1"),
        ({"scan.mode": "from-snapshot-full", "scan.version": "1"}, "reading snapshot 1"),
        ({"scan.timestamp-millis": "5000"}, r"as of 1970-01-01 .* \(5000\): no snapshot is that old"),
        ({"scan.timestamp": "1980-02-03"}, "as of 1980-02-03 00:00:00.000.* no snapshot is that old"),
        ({"incremental-between": "1,4"}, "the commits 2 to 4 .* there are commits 3 to 4"),
        ({"incremental-between": "2,4", "incremental-between-scan-mode": "diff"}, "reading snapshot 2"),
    ],
)
def test_asked_for_what_has_expired(options: dict[str, str], what: str, tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwww")
    expire_snapshots_by(table, rules(2))
    with pytest.raises(SnapshotNotFound, match=what) as error:
        scan(table, options).plan()
    assert_tells_all(error, r"snapshots 3 to 4 are available, committed \d{4}-\d\d-\d\d .* to \d{4}-")


def test_retention_in_force_is_that_of_the_table(tmp_path: Path) -> None:
    stored = {"snapshot.time-retained": "3 d", "snapshot.num-retained.min": "4", "snapshot.num-retained.max": "9"}
    table = new_table(tmp_path / "t", stored)
    live_on(table, "ww")
    expire_snapshots_by(table, rules(1))
    text = r"the only snapshot is 2, committed .* for 3 d .* at least 4 of them"
    with pytest.raises(SnapshotNotFound, match=text):
        scan(table, {"scan.snapshot-id": "1"}).plan()


@pytest.mark.parametrize(
    "options",
    [{"scan.snapshot-id": "3"}, {"scan.snapshot-id": "0"}, {"scan.version": "3"}, {"scan.watermark": "1"}],
)
def test_what_never_was_needs_no_advice(options: dict[str, str], tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    with pytest.raises(SnapshotNotFound, match="snapshots 1 to 2 are available") as error:
        scan(table, options).plan()
    assert "a longer time" not in str(error.value)


def test_long_lists_of_tags_are_cut(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "w")
    for number in range(25):
        tag(table, f"t{number:02}", 1)
    with pytest.raises(SnapshotNotFound, match=r"its tags are t00, .*, t19 and 5 more\. A tag lives as long as"):
        scan(table, {"scan.tag-name": "none"}).plan()


# ------------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("keys", "stored", "options"),
    [
        (["k"], {}, OLD),
        ([], {"bucket": "-1"}, OLD),
        (["k"], {}, {"incremental-between": "0,2"}),
        (["k"], {}, {"incremental-between": "1,2", "incremental-between-scan-mode": "diff"}),
        (["k"], {"changelog-producer": "input"}, {"incremental-between": "0,2"}),
        (
            ["k"],
            {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"},
            OLD | {"postpone.merge-on-read": "true"},
        ),
    ],
    ids=["merged", "append", "delta", "diff", "changelog", "postponed"],
)
def test_expired_between_plan_and_read(
    keys: list[str], stored: dict[str, str], options: dict[str, str], tmp_path: Path
) -> None:
    table = make(tmp_path / "t", COLUMNS, keys, stored)
    for number in range(3):
        write(table, [(0, number), (1, number)])
    old = scan(table, options)
    planned = old.plan()
    assert read(planned.splits, old)
    for path in tmp_path.rglob("data-*"):  # as an expiry after compactions leaves it
        path.unlink()
    for path in tmp_path.rglob("changelog-*.*"):
        path.unlink()
    with pytest.raises(MissingFile):
        read(planned.splits, old)
    write(table, [(2, 0)])
    for number in range(1, 4):
        (tmp_path / "t" / "snapshot" / f"snapshot-{number}").unlink()
    with pytest.raises(
        SnapshotNotFound, match=r"snapshot [123] of the table .* expired while it was being read"
    ) as error:
        read(planned.splits, old)
    assert_tells_all(error, r"the only snapshot is 4, committed .*")
    assert re.search(r"(data|changelog)-\S+ is deleted", str(error.value))


def test_vectors_are_files_too(tmp_path: Path) -> None:
    path = GoldenTable("java-2.1", "append_dv32").unpack(tmp_path)
    old = open_table(str(path)).scan()
    plan = old.plan()
    for file in (path / "index").iterdir():
        file.unlink()
    for file in (path / "snapshot").iterdir():
        file.unlink()
    with pytest.raises(SnapshotNotFound, match=r"index-\S+ is deleted; the table has no snapshot"):
        read(plan.splits, old)


@pytest.mark.parametrize(
    "options", [OLD, {"incremental-between": "1,3", "incremental-between-scan-mode": "diff"}], ids=str
)
def test_expired_at_any_moment(options: dict[str, str], tmp_path: Path) -> None:
    """Another process expires all old snapshots before any operation of a read: right rows or the one error."""
    outcomes = set()
    whole = new_table(tmp_path / "whole")
    live_on(whole, "wwcww")
    right = state(whole, options)
    for number in range(60):
        table = copied(whole, tmp_path / str(number))
        io = InterleavedStore(LocalFileIO(), number, partial(expire_snapshots_by, table, rules(1)))
        plain = scan(table, options)
        watched = new_scan(replace(plain.table, file_io=io), plain.fields, plain.predicate)
        try:
            assert read(watched.plan().splits, watched) == right
            outcomes.add("rows")
        except SnapshotNotFound as error:
            outcomes.add(re.sub(".*; (the only snapshot is 5), .*", r"\1", str(error)))
        if io.count < number:
            break
    else:
        raise AssertionError("a read has more operations than that: look at all")
    assert outcomes == {"rows", "the only snapshot is 5"}


def test_files_go_before_their_snapshot(tmp_path: Path) -> None:
    """An expiry under way, or broken off, is as good as over: its snapshots are still there."""
    table = new_table(tmp_path / "t")
    live_on(table, "wwc")
    old = scan(table, OLD)
    splits = old.plan().splits
    broken = replace(table, file_io=FaultyFileIO(LocalFileIO(), 2, named="!delete", lasting=True))
    with pytest.raises(InjectedFault):
        expire_snapshots_by(broken, rules(1))
    assert table.snapshots.exists(2)
    with pytest.raises(SnapshotNotFound, match="snapshot 2 of the table"):
        read(splits, old)


def test_a_tag_keeps_what_is_being_read(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    old = scan(table, OLD)
    splits, right = old.plan().splits, state(table, OLD)
    tag(table, "keep", 2)
    live_on(table, "c")
    expire_snapshots_by(table, rules(1))
    assert read(splits, old) == right == state(table, {"scan.tag-name": "keep"})


def test_a_lost_file_is_no_expiry(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    old = scan(table, OLD)
    splits = old.plan().splits
    for path in tmp_path.rglob("data-*"):
        path.unlink()
    with pytest.raises(MissingFile, match="it does not exist") as error:
        read(splits, old)
    assert error.value.path.rpartition("/")[2].startswith("data-")
    for path in tmp_path.rglob("manifest-list-*"):
        path.unlink()
    with pytest.raises(MissingFile, match="manifest list"):
        old.plan()
    assert open_table(table.location).snapshots.exists(2)


@pytest.mark.parametrize("name", ["files", "partitions", "buckets", "manifests"])
def test_system_tables_tell_it_too(tmp_path: Path, name: str) -> None:
    outcomes: set[object] = set()
    whole = new_table(tmp_path / "whole")
    live_on(whole, "wwcw")
    rows = whole.with_options(OLD).system_table(name).to_arrow().num_rows
    for number in range(8):
        table = copied(whole, tmp_path / str(number))
        io = InterleavedStore(LocalFileIO(), number, partial(expire_snapshots_by, table, rules(1)))
        try:
            found = replace(table.with_options(OLD), file_io=io).system_table(name).to_arrow()
            outcomes.add(found.num_rows == rows)
        except SnapshotNotFound as error:
            outcomes.add(re.sub(".*; (the only snapshot is 4), .*", r"\1", str(error)))
    assert outcomes == {True, "the only snapshot is 4"}


def test_a_table_that_is_dropped_while_it_is_read(tmp_path: Path) -> None:
    """It did not expire, and keeping snapshots longer would not help."""
    table = new_table(tmp_path / "t")
    live_on(table, "ww")
    of = scan(table, {})
    splits = of.plan().splits
    Path(table.location).rename(tmp_path / ".dropped")
    with pytest.raises(TableNotFound, match=r"it was dropped or renamed since it was opened: .* is deleted"):
        read(splits, of)


def test_a_snapshot_that_is_missing_between_others_has_not_expired(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    live_on(table, "wwwww")
    Path(table.location, "snapshot/snapshot-4").unlink()
    with pytest.raises(SnapshotNotFound, match="it is missing, while snapshot 3 before it and later ones are there"):
        scan(table, {"scan.snapshot-id": "4"}).plan()
