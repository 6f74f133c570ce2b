"""A change of rows of a table with keys: commits of others since it was read that it would undo are conflicts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.commit.row_conflicts import ReadState
from paimon_spark.store.commit.table_commit import CommitResult, TableCommit
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.history.rollback import rollback
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("v", pa.int64())])
Rows = Sequence[tuple[int, int]]


@pytest.fixture
def table(tmp_path: Path) -> ReadableTable:
    location = str(tmp_path / "t")
    create_table(location, new_schema(COLUMNS, ("id",), (), {"bucket": "1", "write-only": "true"}))
    opened = open_table(location)
    append(opened, [(1, 10), (5, 50), (9, 90)])
    return opened


def written(table: ReadableTable, rows: Rows, user: str) -> list[CommitMessage]:
    write = TableWrite(table, user, 0, plan_write(table))
    write.write(pa.record_batch([pa.array(column) for column in zip(*rows, strict=True)], schema=COLUMNS))
    return list(write.finish())


def append(table: ReadableTable, rows: Rows) -> None:
    TableCommit(table, f"other-{rows}").append(written(table, rows, "other"))


def changing(table: ReadableTable, rows: Rows) -> Callable[[], CommitResult | None]:
    """A change that has read the table, and written its rows; the call commits."""
    read = ReadState.of(table.snapshots.latest())
    messages = written(table, rows, "me")
    commit = TableCommit(table, "me", read.snapshot_id, read.base)
    return lambda: commit.append(messages, operation="UPDATE", read=read)


def test_an_update_of_the_same_row_in_between_is_not_lost(table: ReadableTable) -> None:
    commit = changing(table, [(5, 51)])
    append(table, [(5, 99)])
    with pytest.raises(CommitConflict, match=r"read snapshot 1, .* written rows in the same range .* \(snapshot 2\)"):
        commit()
    assert table.scan(where="id = 5").to_arrow().column("v").to_pylist() == [99]


def test_a_key_that_appears_in_between_is_not_overwritten(table: ReadableTable) -> None:
    commit = changing(table, [(7, 1)])
    append(table, [(7, 2)])
    with pytest.raises(CommitConflict):
        commit()


def test_rows_that_vanish_in_between_do_not_come_back(table: ReadableTable) -> None:
    commit = changing(table, [(5, 51)])
    truncate_table(table)
    with pytest.raises(CommitConflict, match="removed rows"):
        commit()


def test_other_keys_are_no_conflict(table: ReadableTable) -> None:
    commit = changing(table, [(1, 11), (5, 51)])
    append(table, [(9, 91)])
    made = commit()
    assert made is not None
    assert table.snapshots.load(made.snapshot_id).operation == "UPDATE"
    assert sorted(table.scan().to_arrow().column("v").to_pylist()) == [11, 51, 91]


def test_a_compaction_is_no_conflict(table: ReadableTable) -> None:
    append(table, [(5, 52)])
    commit = changing(table, [(5, 53)])
    runner = LocalRunner()
    try:
        compact_table(table, runner, full=True)
    finally:
        runner.stop()
    commit()
    assert table.scan(where="id = 5").to_arrow().column("v").to_pylist() == [53]


def test_a_snapshot_that_was_rolled_back_is_a_conflict(table: ReadableTable) -> None:
    append(table, [(5, 52)])
    commit = changing(table, [(5, 53)])
    rollback(table, 1)
    with pytest.raises(CommitConflict, match="rollback"):
        commit()
