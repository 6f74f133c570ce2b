"""Which row of a key a read shows: age by sequence number, by run, by sequence field; retractions; levels; vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paimon_spark import open_table
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.storage.local_time import epoch_millis_of_wall
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write

FIELDS = (DataField(0, "k", DataType(Root.INT, nullable=False)), DataField(1, "v", DataType(Root.INT)))
INSERT, BEFORE, AFTER, DELETE = 0, 1, 2, 3


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")


def make(path: str, **options: str) -> None:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    create_table(path, TableSchema(0, FIELDS, 1, (), ("k",), {"bucket": "1", **named}))


def written(
    table: Table, user: str, rows: Sequence[tuple[int, Any]], kinds: Sequence[int] = (), **more: Any
) -> list[Any]:
    writer = TableWrite(table, user, **more)
    batch = pa.RecordBatch.from_pylist([{"k": k, "v": v} for k, v in rows], schema=arrow_schema(FIELDS))
    writer.write(batch, np.array(kinds, np.int8) if kinds else None)
    return writer.finish()


def write(path: str, user: str, rows: Sequence[tuple[int, Any]], kinds: Sequence[int] = ()) -> None:
    table = open_table(path)
    TableCommit(table, user).append(written(table, user, rows, kinds))


def read(path: str, where: str | None = None, columns: list[str] | None = None) -> list[Any]:
    rows = open_table(path).scan(columns, where).to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def test_a_later_commit_wins(path: str) -> None:
    make(path)
    write(path, "a", [(1, 10), (2, 20), (1, 11)])
    write(path, "b", [(2, None), (3, 30)])
    assert read(path) == [(1, 11), (2, None), (3, 30)]


def test_sequence_numbers_decide_where_ranges_of_files_meet(path: str) -> None:
    """Two writers that started from one state: the later commit has the smaller number for key 1."""
    make(path)
    table = open_table(path)
    plan = plan_write(table)
    first = written(table, "a", [(9, 0), (8, 0), (7, 0), (6, 0), (5, 0), (1, 100)], plan=plan)
    second = written(table, "b", [(1, 200), (9, 900)], plan=plan)
    TableCommit(table, "a").append(first)
    TableCommit(table, "b").append(second)
    assert read(path) == [(1, 100), (5, 0), (6, 0), (7, 0), (8, 0), (9, 900)]
    assert read(path, columns=["v"]) == [(0,), (0,), (0,), (0,), (100,), (900,)]
    assert read(path, "v = 200") == []
    assert read(path, "k = 1") == [(1, 100)]


@pytest.mark.parametrize("kind", [BEFORE, DELETE])
def test_a_retraction_hides_what_is_older(kind: int, path: str) -> None:
    make(path)
    write(path, "a", [(1, 10), (2, 20)])
    write(path, "b", [(1, 10)], [kind])
    assert read(path) == [(2, 20)]
    assert open_table(path).scan().count() == 1
    write(path, "c", [(1, 12)], [AFTER])
    assert read(path) == [(1, 12), (2, 20)]


def test_a_lone_file_of_retractions(path: str) -> None:
    """Nothing to merge with, and still no row."""
    make(path)
    write(path, "a", [(1, 10), (2, 20)], [DELETE, INSERT])
    assert read(path) == [(2, 20)]
    assert open_table(path).scan().count() == 1
    assert open_table(path).scan(["v"]).count() == 1


def test_an_old_writer_did_not_count_its_retractions(path: str) -> None:
    make(path)
    table = open_table(path)
    (message,) = written(table, "a", [(1, 10), (2, 20)], [DELETE, INSERT])
    (file,) = message.new_files
    TableCommit(table, "a").append([replace(message, new_files=(file._replace(delete_row_count=None),))])
    assert read(path) == [(2, 20)]
    assert open_table(path).scan().count() == 1


def test_ignore_delete(path: str) -> None:
    make(path)
    write(path, "a", [(1, 10), (2, 20)])
    write(path, "b", [(1, 10), (3, 0)], [DELETE, DELETE])
    assert read(path) == [(2, 20)]
    rows = open_table(path, {"ignore-delete": "true"}).scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["v"]) for row in rows) == [(1, 10), (2, 20)]


def test_values_are_judged_after_the_merge(path: str) -> None:
    make(path)
    write(path, "a", [(1, 10), (2, 20)])
    write(path, "b", [(1, 99), (2, 98)])
    assert read(path, "v = 10") == []  # the file that holds the 10 holds a row of the past
    assert read(path, "v > 50 and k = 1") == [(1, 99)]
    assert read(path, "v < 50 or k = 2") == [(2, 98)]


@pytest.mark.parametrize(("order", "winner"), [("ascending", 30), ("descending", 10)])
def test_sequence_field(order: str, winner: int, path: str) -> None:
    make(path, sequence__field="v", sequence__field__sort_order=order)
    write(path, "a", [(1, 20), (2, None)])
    write(path, "b", [(1, 30), (2, 5)])
    write(path, "c", [(1, 10), (2, None)])
    assert read(path) == [(1, winner), (2, 5)]


def upgraded(path: str, user: str, rows: Sequence[tuple[int, Any]], level: int) -> DataFileMeta:
    """A file at a higher level, as a compaction leaves it."""
    table = open_table(path)
    (message,) = written(table, user, rows)
    (file,) = (f._replace(level=level, file_source=1) for f in message.new_files)
    TableCommit(table, user).append([CommitMessage(message.partition, 0, 1, compact_after=(file,))])
    return file


def test_files_of_one_level_are_read_alone_and_pruned_by_value(path: str) -> None:
    make(path)
    upgraded(path, "a", [(1, 10), (2, 20)], 5)
    upgraded(path, "b", [(3, 30), (4, 40)], 5)
    (split,) = open_table(path).scan().plan().splits
    assert (len(split.raw_files), split.sections) == (2, ())
    assert open_table(path).scan().count() == 4
    (pruned,) = open_table(path).scan(where="v = 40").plan().splits
    assert pruned.file_count == 1
    assert read(path, "v = 40") == [(4, 40)]


def test_levels_that_share_keys_are_merged(path: str) -> None:
    make(path)
    upgraded(path, "a", [(1, 10), (2, 20), (5, 50)], 5)
    write(path, "b", [(2, 21)])
    write(path, "c", [(7, 70)])
    (split,) = open_table(path).scan().plan().splits
    assert len(split.raw_files) == 1  # key 7 meets nobody
    assert len(split.sections) == 1
    assert read(path) == [(1, 10), (2, 21), (5, 50), (7, 70)]
    assert open_table(path).scan(where="v = 70").plan().splits[0].file_count == 1
    assert open_table(path).scan(where="v = 20").plan().splits[0].file_count == 2  # a section goes whole or not at all
    assert open_table(path).scan(where="v = 1000").plan().splits == ()
    assert open_table(path).scan(where="k > 5").plan().splits[0].file_count == 1


def test_sections_are_cut_into_splits(path: str) -> None:
    make(path)
    for key in range(6):
        write(path, f"a{key}", [(10 * key, 0), (10 * key + 1, 0)])
        write(path, f"b{key}", [(10 * key, 1)])
    options = {"source.split.target-size": "1 b", "source.split.open-file-cost": "1 b"}
    splits = open_table(path, options).scan().plan().splits
    assert [split.file_count for split in splits] == [2] * 6
    assert len(open_table(path).scan().plan().splits) == 1
    rows = open_table(path, options).scan().to_arrow().to_pylist()
    assert sorted((row["k"], row["v"]) for row in rows) == read(path)


def test_point_reads_touch_one_bucket(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    create_table(path, TableSchema(0, FIELDS, 1, (), ("k",), {"bucket": "8"}))
    write(path, "a", [(k, k) for k in range(200)])
    every = open_table(path).scan().plan()
    assert ({split.bucket for split in every.splits}, every.hashed_buckets) == (set(range(8)), 8)
    found = open_table(path).scan(where="k = 17").plan().splits
    assert len({split.bucket for split in found}) == 1
    assert read(path, "k = 17") == [(17, 17)]
    assert read(path, "k in (3, 150, 999)") == [(3, 3), (150, 150)]
    one = open_table(path, {"scan.bucket": "3"}).scan().to_arrow().to_pylist()
    assert 0 < len(one) < 200


def test_from_file_creation_time(path: str) -> None:
    make(path)
    write(path, "a", [(1, 10)])
    write(path, "b", [(2, 20)])
    table = open_table(path)
    times = sorted(file.creation_time or 0 for split in table.scan().plan().splits for file in split.files)
    assert len(times) == 2
    far = 4_000_000_000_000
    assert open_table(path, {"scan.file-creation-time-millis": str(far)}).scan().count() == 0
    assert open_table(path, {"scan.file-creation-time-millis": "0"}).scan().count() == 2
    for time in times:
        for since in (time, time + 1):
            options = {"scan.file-creation-time-millis": str(epoch_millis_of_wall(since))}
            assert open_table(path, options).scan().count() == sum(one >= since for one in times)


def test_one_bucket_of_tables_without_fixed_buckets(tmp_path: Path) -> None:
    """Rows without a bucket are in bucket 0, as in Java."""
    path = str(tmp_path / "t")
    create_table(path, TableSchema(0, FIELDS, 1, (), (), {"bucket": "-1"}))
    write(path, "a", [(1, 1)])
    assert [open_table(path, {"scan.bucket": bucket}).scan().count() for bucket in ("0", "1", "-1")] == [1, 0, 0]
    assert open_table(path).scan().plan().hashed_buckets is None


def test_point_reads_of_a_bucket_key_that_changed_its_type(tmp_path: Path) -> None:
    """-5 hashes to other buckets as INT and as BIGINT: old files are found where they were put."""
    path = str(tmp_path / "t")
    schema = create_table(path, TableSchema(0, FIELDS, 1, (), (), {"bucket": "8", "bucket-key": "v"}))
    write(path, "a", [(k, -k) for k in range(1, 40)])
    fields = (FIELDS[0], replace(FIELDS[1], type=DataType(Root.BIGINT)))
    (Path(path) / "schema" / "schema-1").write_bytes(encode_schema(replace(schema, id=1, fields=fields)))
    for k in range(1, 40):
        assert read(path, f"v = {-k}") == [(k, -k)]
    assert open_table(path).scan().plan().hashed_buckets is None
