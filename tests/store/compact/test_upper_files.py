"""The rows above a compaction: files and row groups that none of its keys falls into are not read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from support.faults.faulty_store import FaultyFileIO
from support.index_files import encode_vectors
from support.tables.compacting import compact, live_files, make, rows_of, tasks_of, write
from support.tables.files_by_hand import file

from paimon_spark.format.manifest import EMPTY_ROW
from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS, BucketRows, UpperLevel, files_above
from paimon_spark.store.compact.task import MergeTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import FileRequest
from paimon_spark.store.read.splits import DeletionFile
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("id", pa.int64(), False), ("v", pa.string())])
GROUP = 131072  # rows of a row group that our writer makes


def key(value: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"id": [value]}, schema=pa.schema([COLUMNS.field("id")]))


def wide_table(path: Path, count: int, **options: str) -> Table:
    """One file of so many rows on level 5."""
    table = make(path, COLUMNS, ["id"], {k.replace("_", "-"): v for k, v in options.items()})
    write(table, [(k, None) for k in range(count)])
    compact(table)
    return open_table(table.location)


def upper(table: Table, request: FileRequest, deletions: dict[str, DeletionFile]) -> tuple[UpperLevel, BucketRows]:
    files = live_files(table)
    rows = BucketRows(table, MergeTask(EMPTY_ROW, 0, 1, 1, False, (), tuple(files), deletions))
    keys = table.schema.key_fields
    (level,) = files_above(files, files, keys)
    return UpperLevel(rows, level, request, keys, 50_000, expires=True), rows


def test_only_files_that_share_keys_are_above_in_order(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["id"], {})
    inputs = [file("x", level=0, keys=(20, 30)), file("y", level=0, keys=(40, 50))]
    above = [
        file("late", level=3, keys=(50, 60)),
        file("before", level=2, keys=(1, 19)),
        file("early", level=3, keys=(5, 20)),
        file("behind", level=3, keys=(61, 70)),
        file("between", level=2, keys=(31, 39)),
    ]
    found = files_above(above, inputs, table.schema.key_fields)
    assert [[(one.number, one.file.file_name) for one in level] for level in found] == [
        [(4, "between")],
        [(2, "early"), (0, "late")],
    ]


def test_row_groups_between_the_keys_are_skipped(tmp_path: Path) -> None:
    table = wide_table(tmp_path / "t", 3 * GROUP)
    level, rows = upper(table, FileRequest(table.schema.key_fields), {})
    first = level.next_from(key(10))
    assert first is not None
    assert first.column("id")[0].as_py() == 0
    assert first.schema.names == ["id", "_LEVEL"]
    assert set(first.column("_LEVEL").to_pylist()) == {5}
    found = level.next_from(key(2 * GROUP + 5))
    while found is not None and found.column("id")[-1].as_py() < 2 * GROUP + 5:
        found = level.next_from(key(2 * GROUP + 5))
    assert found is not None
    assert found.column("id")[0].as_py() == 2 * GROUP
    assert rows.rows_read <= GROUP + 50_000


def test_files_before_the_key_are_not_opened_and_the_end_is_reported(tmp_path: Path) -> None:
    table = wide_table(tmp_path / "t", 10)
    store = FaultyFileIO(table.file_io)
    level, rows = upper(replace(table, file_io=store), FileRequest(table.schema.key_fields), {})
    store.log.clear()
    assert level.next_from(key(100)) is None
    assert (rows.rows_read, store.log) == (0, [])


def test_rows_have_places_and_deleted_ones_are_not_there(tmp_path: Path) -> None:
    table = wide_table(tmp_path / "t", 5)
    (only,) = live_files(table)
    data, (place,) = encode_vectors({only.file_name: [1, 3]})
    table.file_io.write_bytes(f"{table.location}/vectors", data)
    deletions = {only.file_name: DeletionFile(f"{table.location}/vectors", place.offset, place.length)}
    request = FileRequest(table.schema.fields, SYSTEM_FIELDS, positions=True)
    level, _ = upper(table, request, deletions)
    found = level.next_from(key(0))
    assert found is not None
    assert found.column("id").to_pylist() == found.column("_POSITION").to_pylist() == [0, 2, 4]
    assert found.column("_FILE").to_pylist() == [0, 0, 0]
    assert level.next_from(key(4)) is None


def test_a_compaction_with_lookups_reads_only_what_its_keys_need(tmp_path: Path) -> None:
    options = {"changelog_producer": "lookup", "num-sorted-run.compaction-trigger": "3"}
    table = wide_table(tmp_path / "t", 3 * GROUP, **options)
    write(table, [(1, "new"), (2, None)])
    (task,) = tasks_of(table, full=False)
    assert isinstance(task, MergeTask)
    assert task.output_level < 3
    result = run_task(table, task)
    assert result.rows_read <= 2 + GROUP
    assert sum(one.row_count for one in result.changelog) == 4


def test_a_first_file_that_moves_up_is_not_read_where_no_changelog_is_made(tmp_path: Path) -> None:
    table = make(tmp_path / "t", COLUMNS, ["id"], {"deletion-vectors.enabled": "true"})
    write(table, [(1, "a"), (2, "b")])
    (result,) = compact(table, full=False)
    assert (result.rows_read, result.created) == (0, ())
    assert [one.level for one in live_files(table)] == [5]
    assert rows_of(table) == [(1, "a"), (2, "b")]
