"""A task that writes buckets again: rows that stay become files, those that go become changelog, or nothing is left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.oracles.checker import check_table
from support.tables.commit_states import latest
from support.tables.compacting import compact, rows_of, write
from support.tables.expiring import COLUMNS, new_table
from support.tables.staging import put

from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.merged_buckets import BucketRewrite, by_place, replaced_buckets, tells_changes
from paimon_spark.store.write.write_plan import plan_write


def rewrite(path: Path, producer: str) -> tuple[BucketRewrite, Path]:
    table = new_table(path / "t", {"changelog-producer": producer, "target-file-size": "1 b"})
    write = BucketRewrite(table, "user", 0, plan_write(table))
    for keys, take in (([1, 2], write.keep), ([3], write.remove)):
        for key in keys:
            take(pa.record_batch([[key], [key]], schema=COLUMNS), np.zeros(1, np.int32))
    return write, Path(table.location)


def files(location: Path, prefix: str) -> int:
    return len(list(location.rglob(f"{prefix}-*")))


@pytest.mark.parametrize(("producer", "changelogs"), [("none", 0), ("input", 1)])
def test_rows_that_go_are_in_the_changelog_only(tmp_path: Path, producer: str, changelogs: int) -> None:
    write, location = rewrite(tmp_path, producer)
    messages = write.finish()
    new = [file for message in messages for file in message.new_files]
    assert sum(file.row_count for file in new) == 2
    assert files(location, "data") == len(new)
    deleted = [file for message in messages for file in message.changelog_files]
    assert (len(deleted), files(location, "changelog")) == (changelogs, changelogs)
    assert all((file.row_count, file.delete_row_count) == (1, 1) for file in deleted)


def test_a_task_that_fails_leaves_no_file(tmp_path: Path) -> None:
    write, location = rewrite(tmp_path, "input")
    write.finish()
    assert files(location, "data")
    write.abort()
    assert (files(location, "data"), files(location, "changelog")) == (0, 0)


def test_a_bucket_is_replaced_by_its_rows_that_stay(tmp_path: Path) -> None:
    """The new files go to the highest level, and the deletion vectors of the old ones go with them."""
    table = new_table(tmp_path / "t", {"bucket": "2", "num-levels": "4"})
    for _ in range(2):
        write(table, [(k, k) for k in range(20)])
    snapshot = latest(table)
    live = by_place(table, table_state(table, snapshot).live_entries(None))
    assert {bucket for _, bucket in live} == {0, 1}
    assert all(len(entries) == 2 for entries in live.values())
    keep = next(place for place in live if place[1] == 0)
    scan = table.scan()
    (split,) = (split for split in scan.plan().splits if isinstance(split, Split) and split.bucket == 0)
    (rows,) = scan.reader().read(split)
    task = BucketRewrite(table, "user", 0, plan_write(table))
    task.keep(rows.slice(1), np.zeros(rows.num_rows - 1, np.int32))
    messages = replaced_buckets(table, snapshot, {keep: live[keep]}, task.finish())
    TableCommit(table, "user", snapshot.id).append(messages)
    gone = rows.column("k")[0].as_py()
    assert rows_of(table) == sorted([(k, k) for k in range(20) if k != gone], key=repr)
    after = by_place(table, table_state(table, latest(table)).live_entries(None))
    assert [entry.file.level for entry in after[keep]] == [3]
    assert len(next(entries for place, entries in after.items() if place[1] == 1)) == 2
    check_table(table.location)


def test_postponed_files_are_in_no_bucket(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"})
    put(table, [(1, 1)])
    entries = table_state(table, latest(table)).live_entries(None)
    assert [entry.bucket for entry in entries] == [-2]
    assert by_place(table, entries) == {}


def test_deletion_vectors_of_a_replaced_bucket_go(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t", {"deletion-vectors.enabled": "true"})
    write(table, [(k, k) for k in range(9)])
    compact(table)
    write(table, [(1, 100)])
    compact(table, full=False)
    snapshot = latest(table)
    assert table_state(table, snapshot).index_entries
    live = by_place(table, table_state(table, snapshot).live_entries(None))
    TableCommit(table, "user", snapshot.id).append(replaced_buckets(table, snapshot, live, []))
    assert rows_of(table) == []
    assert table_state(table, latest(table)).index_entries == []
    check_table(table.location)


@pytest.mark.parametrize(("producer", "tells"), [("none", False), ("input", True), ("lookup", True)])
def test_who_tells_of_deleted_rows(tmp_path: Path, producer: str, tells: bool) -> None:
    assert tells_changes(new_table(tmp_path / "t", {"changelog-producer": producer})) is tells


@pytest.mark.parametrize(
    ("options", "level"), [({}, 5), ({"num-sorted-run.compaction-trigger": "3"}, 3), ({"num-levels": "3"}, 2)]
)
def test_rows_that_stay_go_to_the_highest_level(options: dict[str, str], level: int, tmp_path: Path) -> None:
    """A table has one level more than the runs that it compacts, if its options do not say how many (Java)."""
    table = new_table(tmp_path / "t", options)
    write(table, [(k, k) for k in range(4)])
    snapshot = latest(table)
    live = by_place(table, table_state(table, snapshot).live_entries(None))
    task = BucketRewrite(table, "user", 0, plan_write(table))
    task.keep(pa.record_batch([[1], [1]], schema=COLUMNS), np.zeros(1, np.int32))
    messages = replaced_buckets(table, snapshot, live, task.finish())
    assert [file.level for message in messages for file in message.new_files] == [level]
    TableCommit(table, "user", snapshot.id).append(messages)
    assert rows_of(table) == [(1, 1)]
