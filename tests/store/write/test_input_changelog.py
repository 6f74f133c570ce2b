"""``changelog-producer`` = ``input``: all rows that a task gets, in changelog files beside its data files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracles.checker import check_table
from support.oracles.comparing import Row, arrow_batch, comparable
from support.tables.compacting import compact, file_rows

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.format.manifest import DataFileMeta, FileSource
from paimon_spark.format.paths import data_file_path
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write

FIELDS = (
    DataField(0, "p", DataType(Root.INT, False)),
    DataField(1, "k", DataType(Root.INT, False)),
    DataField(2, "v", DataType(Root.INT)),
)
I, UB, UA, D = range(4)  # noqa: E741  # +I, -U, +U, -D


def make(path: Path, **options: str) -> Table:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    stored = {"bucket": "1", "changelog-producer": "input", "write-only": "true", **named}
    create_table(str(path), TableSchema(0, FIELDS, 2, ("p",), ("p", "k"), stored))
    return open_table(str(path))


def write(
    table: Table, rows: Sequence[Row], kinds: Sequence[int] | None = None, at_once: int = 100, **more: Any
) -> list[CommitMessage]:
    writer = TableWrite(table, "u", **more)
    for start in range(0, len(rows), at_once):
        part = slice(start, start + at_once)
        codes = None if kinds is None else np.array(kinds[part], np.int8)
        writer.write(arrow_batch(rows[part], FIELDS), codes)
    return writer.finish()


def stored(table: Table, message: CommitMessage, file: DataFileMeta) -> list[Row]:
    """(sequence number, kind, k, v) of the rows of a file."""
    path = data_file_path(bucket_directory(table, message.partition, message.bucket), file)
    return file_rows(table, path, [*SYSTEM_FIELDS, *FIELDS[1:]])


def test_all_rows_come_in_the_order_of_keys_with_the_numbers_they_had(tmp_path: Path) -> None:
    table = make(tmp_path)
    rows = [(0, 2, 1), (0, 1, 1), (0, 2, 1), (0, 2, 2), (0, 1, 1), (0, 3, None)]
    (message,) = write(table, rows, [I, I, UB, UA, D, I])
    (changelog,), (data,) = message.changelog_files, message.new_files
    assert stored(table, message, changelog) == [
        (1, I, 1, 1), (4, D, 1, 1), (0, I, 2, 1), (2, UB, 2, 1), (3, UA, 2, 2), (5, I, 3, None)
    ]  # fmt: skip
    assert stored(table, message, data) == [(4, D, 1, 1), (3, UA, 2, 2), (5, I, 3, None)]
    assert changelog.file_name.startswith("changelog-")
    assert (changelog.row_count, changelog.delete_row_count) == (6, 2)
    assert (changelog.min_sequence_number, changelog.max_sequence_number) == (0, 5)
    assert (changelog.level, changelog.file_source) == (0, FileSource.APPEND)
    assert (changelog.min_key, changelog.max_key) == (data.min_key, data.max_key)


@pytest.mark.parametrize(("order", "values"), [("ascending", [None, 1, 5, 5]), ("descending", [None, 5, 5, 1])])
def test_rows_of_a_key_come_as_they_count(order: str, values: list[Any], tmp_path: Path) -> None:
    table = make(tmp_path, sequence__field="v", sequence__field__sort_order=order)
    (message,) = write(table, [(0, 1, 5), (0, 1, None), (0, 1, 1), (0, 1, 5)])
    (changelog,) = message.changelog_files
    assert [row[3] for row in stored(table, message, changelog)] == values
    assert [row[0] for row in stored(table, message, changelog) if row[3] == 5] == [0, 3]


def test_what_options_ignore_is_not_input(tmp_path: Path) -> None:
    rows, kinds = [(0, 1, 1), (0, 1, 2), (0, 2, 3), (0, 3, 4)], [I, UB, D, UA]
    deletes = make(tmp_path / "a", ignore_delete="true")
    befores = make(tmp_path / "b", ignore_update_before="true")
    for table, expected in ((deletes, [(I, 1), (UA, 3)]), (befores, [(I, 1), (D, 2), (UA, 3)])):
        (message,) = write(table, rows, kinds)
        assert [row[1:3] for row in stored(table, message, message.changelog_files[0])] == expected


def test_each_buffer_has_files_of_its_own_and_each_bucket_a_message(tmp_path: Path) -> None:
    table = make(tmp_path, write_buffer_size="1 b", bucket="2")
    rows = [(p, k, k) for k in range(12) for p in (0, 1)]
    messages = write(table, rows, at_once=8)
    assert len(messages) == 4
    assert all(len(m.changelog_files) == len(m.new_files) > 1 for m in messages)
    names = [f.file_name for m in messages for f in (*m.changelog_files, *m.new_files)]
    assert len(set(names)) == len(names)
    TableCommit(table, "u").append(messages)
    snapshot = table.snapshots.load(1)
    assert (snapshot.changelog_record_count, snapshot.delta_record_count) == (24, 24)
    assert (
        snapshot.changelog_manifest_list_size
        == (tmp_path / "manifest" / str(snapshot.changelog_manifest_list)).stat().st_size
    )
    found = open_table(str(tmp_path), {"incremental-between": "0,1"}).scan().to_arrow()
    assert comparable(found) == Counter(rows)
    check_table(table.location)


def test_files_follow_the_changelog_options(tmp_path: Path) -> None:
    table = make(
        tmp_path,
        changelog_file__prefix="cl-",
        changelog_file__format="avro",
        changelog_file__compression="none",
        changelog_file__stats_mode="none",
    )
    (message,) = write(table, [(0, 1, 7), (0, 1, 8)])
    (changelog,), (data,) = message.changelog_files, message.new_files
    assert changelog.file_name.startswith("cl-")
    assert changelog.file_name.endswith(".avro")
    assert data.file_name.endswith(".parquet")
    assert changelog.value_stats_cols == ()
    assert [row[3] for row in stored(table, message, changelog)] == [7, 8]


@pytest.mark.parametrize("options", [{"merge_engine": "partial-update"}, {"merge_engine": "aggregation"}])
def test_input_is_not_what_an_engine_makes_of_it(options: dict[str, str], tmp_path: Path) -> None:
    table = make(tmp_path, **options)
    messages = write(table, [(0, 1, 7), (0, 1, None), (0, 1, 8)])
    TableCommit(table, "u").append(messages)
    found = open_table(str(tmp_path), {"incremental-between": "0,1"}).scan(["v"]).to_arrow()
    assert comparable(found) == Counter({(7,): 1, (None,): 1, (8,): 1})


@pytest.mark.parametrize("producer", ["none", "lookup", "full-compaction"])
def test_other_producers_write_none_with_the_rows(producer: str, tmp_path: Path) -> None:
    messages = write(make(tmp_path, changelog_producer=producer), [(0, 1, 7)])
    assert [m.changelog_files for m in messages] == [()]


def test_an_aborted_task_leaves_no_changelog(tmp_path: Path) -> None:
    writer = TableWrite(make(tmp_path, write_buffer_size="1 b"), "u")
    writer.write(arrow_batch([(0, 1, 7)], FIELDS))
    writer.finish()
    assert len(list(tmp_path.glob("p=0/bucket-0/*"))) == 2
    writer.abort()
    assert list(tmp_path.glob("p=0/bucket-0/*")) == []


def test_an_overwrite_writes_and_commits_no_changelog(tmp_path: Path) -> None:
    table = make(tmp_path)
    messages = write(table, [(0, 1, 7)], plan=plan_write(table, overwrites=True))
    assert [m.changelog_files for m in messages] == [()]
    TableCommit(table, "u").overwrite(messages, None)
    assert table.snapshots.load(1).changelog_manifest_list is None


def test_an_overwrite_deletes_a_changelog_that_was_written_all_the_same(tmp_path: Path) -> None:
    table = make(tmp_path)
    TableCommit(table, "u").overwrite(write(table, [(0, 1, 7), (1, 1, 7)]), None)
    TableCommit(table, "v").overwrite(write(table, [(1, 1, 8)]), "dynamic")
    assert [table.snapshots.load(i).changelog_manifest_list for i in (1, 2)] == [None, None]
    assert [table.snapshots.load(i).changelog_record_count for i in (1, 2)] == [None, None]
    assert list(tmp_path.glob("p=*/bucket-0/changelog-*")) == []
    options = {"incremental-between": "0,2", "incremental-between-scan-mode": "changelog"}
    assert open_table(str(tmp_path), options).scan().to_arrow().num_rows == 0
    check_table(table.location)


def test_a_rescale_is_no_input(tmp_path: Path) -> None:
    table = make(tmp_path)
    TableCommit(table, "u").append(write(table, [(0, k, 7) for k in range(9)]))
    rescale(table, 3)
    assert len(list(tmp_path.glob("p=0/bucket-*/changelog-*"))) == 1
    options = {"incremental-between": "1,2", "incremental-between-scan-mode": "changelog"}
    assert open_table(str(tmp_path), options).scan().to_arrow().num_rows == 0
    check_table(table.location)


def test_a_compaction_is_no_input(tmp_path: Path) -> None:
    table = make(tmp_path)
    for value in (7, 8):
        TableCommit(table, f"u{value}").append(write(table, [(0, 1, value), (0, value, 0)]))
    assert [result.changelog for result in compact(table)] == [()]
    assert [table.snapshots.load(i).changelog_record_count for i in (1, 2, 3)] == [2, 2, None]
    found = open_table(str(tmp_path), {"incremental-between": "0,3"}).scan(["v"]).to_arrow()
    assert comparable(found) == Counter({(7,): 1, (8,): 1, (0,): 2})


def test_an_abort_of_the_job_deletes_changelogs(tmp_path: Path) -> None:
    table = make(tmp_path)
    messages = write(table, [(0, 1, 7)])
    TableCommit(table, "u").abort(messages)
    assert list(tmp_path.glob("p=0/bucket-0/*")) == []


def test_a_changelog_alone_is_a_commit(tmp_path: Path) -> None:
    table = make(tmp_path)
    (message,) = write(table, [(0, 1, 7)])
    TableCommit(table, "u").append([replace(message, new_files=())])
    snapshot = table.snapshots.load(1)
    assert (snapshot.commit_kind, snapshot.delta_record_count, snapshot.changelog_record_count) == ("APPEND", 0, 1)
