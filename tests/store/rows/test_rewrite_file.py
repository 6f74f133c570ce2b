"""A file that is written again has the rows of a list from which some are removed, and in which some are replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.read.splits import DeletionFile, Split
from paimon_spark.store.rows import rewrite_file as rewriting
from paimon_spark.store.rows.live_files import append_tasks, files_by_name
from paimon_spark.store.rows.rewrite_file import RowChanges, rewrite_file
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("v", pa.string())])
ROWS = 40


def one_file(path: Path) -> tuple[ReadableTable, AppendTask]:
    location = str(path / "t")
    schema = new_schema(pa.schema([("id", pa.int64()), pa.field("v", pa.string(), nullable=False)]), (), (), {})
    create_table(location, schema, ignore_if_exists=True)
    table = open_table(location)
    if table.snapshots.latest() is None:
        write = TableWrite(table, "w")
        write.write(pa.record_batch([list(range(ROWS)), [f"r{i}" for i in range(ROWS)]], schema=schema_of(table)))
        TableCommit(table, "w").append(write.finish())
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    splits = [split for split in table.scan().plan().splits if isinstance(split, Split)]
    (task,) = append_tasks(table, snapshot, files_by_name(table, splits)).values()
    return table, task


def schema_of(table: ReadableTable) -> pa.Schema:
    return table.scan().arrow_schema


def changes(table: ReadableTable, changed: dict[int, str | None], parts: int) -> list[RowChanges]:
    positions = sorted(changed)
    found = []
    for part in np.array_split(np.array(positions, np.int64), parts):
        stays = np.array([changed[int(p)] is not None for p in part], np.bool_)
        new = [(int(p), changed[int(p)]) for p in part if changed[int(p)] is not None]
        rows = pa.record_batch([[p for p, _ in new], [v for _, v in new]], schema=schema_of(table))
        found += [RowChanges(part, stays, rows)] if len(part) else []
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rewrite")


@given(
    st.dictionaries(st.integers(0, ROWS - 1), st.one_of(st.none(), st.sampled_from(["new", "x"])), min_size=1),
    st.integers(1, 4),
    st.integers(1, 64),
)
def test_rows_that_stay_keep_their_place(
    folder: Path, changed: dict[int, str | None], parts: int, batch_rows: int
) -> None:
    table, task = one_file(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewriting, "BATCH_ROWS", batch_rows)
        message = rewrite_file(table, task, iter(changes(table, changed, parts)))
    expected = [(i, changed.get(i, f"r{i}")) for i in range(ROWS) if changed.get(i, "") is not None]
    assert message.deleted_files == task.files
    assert sum(file.row_count for file in message.new_files) == len(expected)
    split = Split(task.partition, task.bucket, f"{table.location}/bucket-0", message.new_files)
    found = [row for batch in table.scan().reader().read(split) for row in batch.to_pylist()]
    assert [(row["id"], row["v"]) for row in found] == expected
    if message.new_files:
        assert message.new_files[0].min_sequence_number == task.files[0].min_sequence_number
        assert message.new_files[-1].max_sequence_number <= task.files[0].max_sequence_number


def test_a_new_value_must_fit_and_nothing_is_left_behind(folder: Path) -> None:
    table, task = one_file(folder)
    before = {status.name for status in table.file_io.list(f"{table.location}/bucket-0")}
    rows = pa.record_batch([[3], pa.nulls(1, pa.string())], schema=pa.schema([*COLUMNS]))
    wrong = RowChanges(np.array([3], np.int64), np.array([True]), rows)
    with pytest.raises(DataError, match="NOT NULL column 'v'"):
        rewrite_file(table, task, iter([wrong]))
    assert {status.name for status in table.file_io.list(f"{table.location}/bucket-0")} == before


def test_files_of_one_name_and_rows_that_are_left(folder: Path) -> None:
    table, task = one_file(folder)
    splits = [split for split in table.scan().plan().splits if isinstance(split, Split)]
    (live,) = files_by_name(table, splits).values()
    assert (live.meta.file_name, live.live_rows) == (task.files[0].file_name, ROWS)
    for cardinality, rows in ((3, ROWS - 3), (None, None)):
        assert replace(live, deletion=DeletionFile("v", 1, 2, cardinality)).live_rows == rows
    with pytest.raises(UnsupportedFeature, match="two of its data files have the name"):
        files_by_name(table, splits * 2)
