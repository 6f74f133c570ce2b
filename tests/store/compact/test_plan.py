"""Which files of append tables are compacted together, and that no row changes its place in a bucket."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles.checker import check_table

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact.append_plan import plan_append_compaction
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.compact.task import AppendTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("value", pa.int64())])
BUCKETED = {"bucket": "2", "bucket-key": "id"}


def make(path: Path, parts: Sequence[str] = (), **options: str) -> Table:
    stored = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    create_table(str(path), new_schema(COLUMNS, (), parts, stored))
    return open_table(str(path))


def put(table: Table, *rows: tuple[Any, ...]) -> None:
    schema = arrow_schema(table.schema.fields)
    arrays = [pa.array(list(c), f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    write = TableWrite(table, "u")
    write.write(pa.RecordBatch.from_arrays(arrays, schema=schema))
    TableCommit(table, str(uuid.uuid4())).append(write.finish())


def plan(table: Table, full: bool | None = None, **options: str) -> tuple[AppendTask, ...]:
    given = {k.replace("__", "-").replace("_", "."): v for k, v in options.items()}
    return plan_append_compaction(table.with_options(given), table.snapshots.latest(), full=full)


def read(table: Table) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in open_table(table.location).scan().to_arrow().to_pylist()]


def sizes(tasks: Sequence[AppendTask]) -> list[int]:
    return sorted(len(task.files) for task in tasks)


def test_small_files_wait_until_they_are_many_enough(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=("part",))
    for number in range(4):
        put(table, ("a", number, 0), ("b", number, 0))
    assert plan(table) == ()
    assert sizes(plan(table, compaction_min_file__num="4")) == [4, 4]
    assert sizes(plan(table, full=True)) == [4, 4]  # asked for by name: also few files
    put(table, ("a", 9, 0))
    assert sizes(plan(table)) == [5]
    ((task,),) = [plan(table)]
    assert (task.bucket, task.total_buckets, task.deletions) == (0, -1, {})


def test_large_files_are_left_alone(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    for number in range(6):
        put(table, ("a", number, 0))
    assert sizes(plan(table)) == [6]
    assert plan(table, target__file__size="100 b") == ()
    table = make(tmp_path / "u")
    for number in range(6):
        put(table, ("a", number, 0))
    size = max(file.file_size for task in plan(table) for file in task.files)
    assert plan(table, target__file__size=f"{size * 2} b", compaction_small__file__ratio="0.4") == ()
    assert plan(table, target__file__size=f"{size * 2} b", compaction_small__file__ratio="0.6") != ()


def test_in_buckets_neighbours_are_taken_in_the_order_they_were_written(tmp_path: Path) -> None:
    table = make(tmp_path / "t", **{k.replace("-", "__"): v for k, v in BUCKETED.items()})
    for number in range(11):
        put(table, ("a", 1, number))
    picked = plan(table, full=False)
    assert sizes(picked) == [5, 5]  # the last file waits for others
    starts = [[f.min_sequence_number for f in task.files] for task in picked]
    assert all(s == sorted(s) for s in starts)
    assert max(starts[0]) < min(starts[1])
    (whole,) = plan(table)
    assert len(whole.files) == 11
    assert whole.total_buckets == 2


def test_rows_keep_their_place_in_a_bucket(tmp_path: Path) -> None:
    table = make(tmp_path / "t", **{k.replace("-", "__"): v for k, v in BUCKETED.items()})
    for number in range(30):
        put(table, *(("a", key, number) for key in range(3)))
    compact_table(table, LocalRunner(), full=False)
    compact_table(table, LocalRunner())
    found = read(table)
    assert len(found) == 90
    for key in range(3):
        assert [value for _, k, value in found if k == key] == list(range(30))
    put(table, ("a", 1, 30))
    assert [value for _, k, value in read(table) if k == 1] == list(range(31))
    check_table(table.location)


def test_only_the_partitions_that_are_asked_for(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=("part",))
    for number in range(5):
        put(table, ("a", number, 0), ("b", number, 0))
    done = compact_table(table, LocalRunner(), "part = 'b'")
    assert (done.files_before, done.files_after, done.rows_after) == (5, 1, 5)
    assert sorted(read(table)) == sorted(("ab"[i % 2], i // 2, 0) for i in range(10))


@settings(max_examples=20)
@given(
    writes=st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), min_size=1, max_size=5), max_size=12),
    bucketed=st.booleans(),
    fulls=st.lists(st.booleans() | st.none(), min_size=1, max_size=2),
)
def test_histories(tmp_path_factory: pytest.TempPathFactory, writes: Any, bucketed: bool, fulls: Any) -> None:
    options = {"bucket": "2", "bucket__key": "id"} if bucketed else {}
    table = make(tmp_path_factory.mktemp("h") / "t", ("part",), compaction_min_file__num="2", **options)
    expected: dict[tuple[str, int], list[int]] = {}
    for number, rows in enumerate(writes):
        put(table, *((part, key, number * 10 + i) for i, (part, key) in enumerate(rows)))
        for i, (part, key) in enumerate(rows):
            expected.setdefault((part, key), []).append(number * 10 + i)
    for full in fulls:
        compact_table(table, LocalRunner(), full=full)
    found: dict[tuple[str, int], list[int]] = {}
    for part, key, value in read(table):
        found.setdefault((part, key), []).append(value)
    if not bucketed:
        found, expected = ({k: sorted(v) for k, v in rows.items()} for rows in (found, expected))
    assert found == expected
    if writes:
        check_table(table.location)
