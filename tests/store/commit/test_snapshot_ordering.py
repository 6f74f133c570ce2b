"""``sequence.snapshot-ordering``: of rows with one key that of the later snapshot counts, whatever their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.oracles.checker import check_table

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.manifest import FileSource
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_rows import snapshot_sequence
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import WritePlan
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), False), ("a", pa.int32()), ("b", pa.int32())])
ORDERING = {"bucket": "1", "sequence.snapshot-ordering": "true", "write-only": "true"}
Rows = Sequence[tuple[int, int | None, int | None]]


def new_table(path: Path, **options: str) -> Table:
    more = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    create_table(str(path), new_schema(COLUMNS, ("k",), (), {**ORDERING, **more}))
    return open_table(str(path))


def written(table: Table, first_sequence: int, rows: Rows, kinds: Sequence[int] | None = None) -> list[CommitMessage]:
    """Files of a writer that planned before others wrote: its numbers may be below theirs."""
    write = TableWrite(table, "writer", 0, WritePlan(0, first_sequence))
    columns = [pa.array(column, f.type) for column, f in zip(zip(*rows, strict=True), COLUMNS, strict=True)]
    write.write(
        pa.RecordBatch.from_arrays(columns, schema=COLUMNS), None if kinds is None else np.array(kinds, np.int8)
    )
    return write.finish()


def commit(table: Table, *jobs: list[CommitMessage]) -> None:
    for number, messages in enumerate(jobs):
        TableCommit(table, f"job-{number}-{messages[0].new_files[0].file_name}").append(messages)


def rows_of(table: Table, **scan: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.scan(**scan).to_arrow().to_pylist())


def test_the_later_snapshot_counts_though_its_numbers_are_lower(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    commit(table, written(table, 1000, [(1, 10, 1), (2, 20, 1)]), written(table, 0, [(1, 11, 2), (3, 31, 2)]))
    assert rows_of(table) == [(1, 11, 2), (2, 20, 1), (3, 31, 2)]
    assert rows_of(table, columns=["a"], where="k = 1") == [(11,)]
    check_table(table.location)


def test_within_a_snapshot_the_later_row_of_a_writer_counts(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    commit(table, written(table, 0, [(1, 10, None), (1, 99, None)]))
    assert rows_of(table) == [(1, 99, None)]


def test_a_deletion_of_a_later_snapshot_counts(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    commit(table, written(table, 1000, [(1, 10, None), (2, 20, None)]), written(table, 0, [(1, None, None)], [3]))
    assert rows_of(table) == [(2, 20, None)]


def test_a_sum_and_an_overlay_follow_the_snapshots(tmp_path: Path) -> None:
    table = new_table(tmp_path / "p", merge_engine="partial-update")
    commit(table, written(table, 1000, [(1, 10, 7)]), written(table, 0, [(1, 11, None)]))
    assert rows_of(table) == [(1, 11, 7)]
    table = new_table(tmp_path / "a", merge_engine="aggregation", fields__a__aggregate_function="last_value")
    commit(table, written(table, 1000, [(1, 10, 7)]), written(table, 0, [(1, None, 8)]))
    assert rows_of(table) == [(1, None, 8)]


def test_added_files_carry_the_number_of_their_snapshot(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    commit(table, written(table, 1000, [(1, 10, None)]), written(table, 0, [(2, 20, None)]))
    found = sorted((f.min_sequence_number, f.max_sequence_number) for s in table.scan().plan().splits for f in s.files)
    assert found == [(1, 1), (2, 2)]


def test_compacted_files_keep_the_numbers_of_their_rows_and_old_ones_are_refused(tmp_path: Path) -> None:
    table = new_table(tmp_path / "t")
    commit(table, written(table, 5, [(1, 10, None)]))
    (file,) = (f for s in table.scan().plan().splits for f in s.files)
    assert snapshot_sequence(table.settings, "p", file) == 1
    assert snapshot_sequence(table.settings, "p", file._replace(file_source=FileSource.COMPACT)) is None
    with pytest.raises(UnsupportedFeature, match="for tables that had it from the start"):
        snapshot_sequence(table.settings, "p", file._replace(file_source=None))
