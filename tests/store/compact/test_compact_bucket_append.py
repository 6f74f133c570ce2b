"""Compaction of append tables: the rows of the files one after the other, in the order of the task."""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from support.index_files import encode_vectors
from support.oracles.checker import check_table
from support.tables.compacting import Row, compact, file_rows, live_files, make, rows_of, tasks_of, write

from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta, FileSource
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.task import AppendTask, CompactTaskResult
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile

COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.string())])
PLAIN = {"bucket": "-1"}
BUCKETS = {"bucket": "1", "bucket-key": "k"}


def rows(*keys: int) -> list[Row]:
    return [(k, f"{k} é") for k in keys]


def in_order(table: Table) -> list[DataFileMeta]:
    return sorted(live_files(table), key=lambda f: (f.min_sequence_number, f.creation_time or 0, f.file_name))


def task_of(table: Table, files: list[DataFileMeta]) -> AppendTask:
    return AppendTask(EMPTY_ROW, 0, 1, tuple(files))


def new_rows(table: Table, result: CompactTaskResult) -> list[Row]:
    """What the new files hold, in their order."""
    directory = bucket_directory(table, EMPTY_ROW, 0)
    paths = [f"{directory}/{file.file_name}" for file in result.after]
    return [row for path in paths for row in file_rows(table, path, table.schema.fields)]


@pytest.mark.parametrize("form", ["parquet", "orc", "avro"])
def test_rows_come_out_in_the_order_of_the_files(form: str, tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, [], {**BUCKETS, "file.format": form})
    for keys in ((5, 1), (3,), (2, 2)):
        write(table, rows(*keys))
    files = in_order(table)
    result = run_task(table, task_of(table, [files[0], files[2]]))
    assert new_rows(table, result) == rows(5, 1, 2, 2)
    assert (result.rows_read, result.rows_written, result.before) == (4, 4, (files[0], files[2]))
    (file,) = result.after
    assert (file.level, file.file_source, file.min_key) == (0, FileSource.COMPACT, EMPTY_ROW)
    assert (file.min_sequence_number, file.max_sequence_number, file.delete_row_count) == (0, 3, 0)


def test_several_new_files_are_numbered_one_after_the_other(tmp_path: Path) -> None:
    options = {**BUCKETS, "target-file-size": "200 kb", "file.compression": "none", "target-file-row-num": "9"}
    table = make(tmp_path / "t", COLUMNS, [], {**BUCKETS, "file.compression": "none"})
    write(table, rows(7))
    for start in (0, 100_000):
        write(table, rows(*range(start, start + 100_000)))
    result = run_task(table.with_options(options), task_of(table, in_order(table)[1:]))
    assert len(result.after) > 2
    ranges = [(f.min_sequence_number, f.max_sequence_number) for f in result.after]
    assert ranges[0][0] == 1
    assert all(last + 1 == first for (_, last), (first, _) in itertools.pairwise(ranges))
    assert new_rows(table, result) == rows(*range(200_000))


def test_deleted_rows_are_gone(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, [], PLAIN)
    write(table, rows(0, 1, 2))
    write(table, rows(3))
    first, second = in_order(table)
    data, places = encode_vectors({first.file_name: [0, 2], second.file_name: [0]})
    table.file_io.write_bytes(f"{table.location}/vectors", data)
    deletions = {p.data_file: DeletionFile(f"{table.location}/vectors", p.offset, p.length) for p in places}
    result = run_task(table, AppendTask(EMPTY_ROW, 0, -1, (first, second), deletions))
    assert new_rows(table, result) == rows(1)
    nothing = run_task(table, AppendTask(EMPTY_ROW, 0, -1, (second,), deletions))
    assert (nothing.after, nothing.created, nothing.before) == ((), (), (second,))


@pytest.mark.parametrize("options", [PLAIN, {**BUCKETS, "bucket": "2"}], ids=["unaware", "buckets"])
def test_small_files_become_one(options: dict[str, str], tmp_path: Path) -> None:
    columns = pa.schema([("p", pa.string()), ("k", pa.int32())])
    table = make(tmp_path / "t", columns, [], options, ["p"])
    for turn in range(6):
        write(table, [(part, 10 * turn + n) for part in ("a", None) for n in range(4)])
    before = rows_of(table)
    assert compact(table)
    assert rows_of(table) == before
    assert len(live_files(table)) == (2 if options == PLAIN else 4)
    assert tasks_of(table) == ()
    check_table(table.location)
