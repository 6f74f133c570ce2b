"""Rows of cross-partition tables: Java's cases, and a model that takes one row after the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.row_buckets import group_rows
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict, DataError, UnsupportedFeature
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.cross_partition import NEW, CrossPartitionAssigner, KeyRows, check_cross_partition_job
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import DynamicPlan, plan_write
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([
    pa.field("pt", pa.int32()), pa.field("pk", pa.int32(), False), pa.field("col", pa.int32()),
    pa.field("op", pa.string()),
])  # fmt: skip
Given = tuple[int, int | None, int, int]
"""(kind, partition, key, value)"""
Written = tuple[int, int | None, int, int, int]
"""(kind, partition, key, value, bucket)"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    """A table of each engine, three keys to a bucket."""
    found = {}
    for engine in ("deduplicate", "partial-update", "aggregation", "first-row"):
        path = str(tmp_path_factory.mktemp("cross") / engine)
        options = {"bucket": "-1", "merge-engine": engine, "dynamic-bucket.target-row-num": "3", "write-only": "true"}
        create_table(path, new_schema(COLUMNS, ("pk",), ("pt",), options))
        found[engine] = open_table(path)
    return found


def key_rows(rows: list[Given], known: dict[int, tuple[int | None, int]], first: int = 0) -> KeyRows:
    """Rows that come in, and the keys that the table has."""
    everything = [(0, part, key, None) for key, (part, _) in known.items()] + list(rows)
    kinds, parts, keys, values = zip(*everything, strict=True) if everything else ((), (), (), ())
    nullable = pa.schema([field.with_nullable(True) for field in COLUMNS])
    none = [None] * len(everything)
    columns = [pa.array(c, f.type) for c, f in zip((parts, keys, values, none), nullable, strict=True)]
    buckets = [bucket for _, bucket in known.values()] + [NEW] * len(rows)
    places = [-1] * len(known) + list(range(first, first + len(rows)))
    batch = pa.RecordBatch.from_arrays(columns, schema=nullable)
    return KeyRows(batch, np.array(kinds, np.int8), np.array(buckets, np.int32), np.array(places, np.int64))


def written(found: KeyRows) -> list[Written]:
    """In order of places; a deletion before the row that causes it."""
    columns = [found.rows.column(name).to_pylist() for name in ("pt", "pk", "col")]
    order = np.argsort(found.places, kind="stable").tolist()
    rows = list(zip(found.kinds.tolist(), *columns, found.buckets.tolist(), strict=True))
    return [rows[i] for i in order]


class Calls:
    """Java's assigner keeps its keys from row to row; here each call is told what the calls before have done."""

    def __init__(self, table: Table) -> None:
        self.assigner = CrossPartitionAssigner(table, DynamicPlan(), 0, 2)
        self.known: dict[int, tuple[int | None, int]] = {}

    def put(self, *rows: Given) -> list[Written]:
        keys = {key for _, _, key, _ in rows}
        known = {key: place for key, place in self.known.items() if key in keys}
        found = written(self.assigner.assign(key_rows(list(rows), known)))
        for kind, part, key, _, bucket in found:
            if kind != 3:
                self.known[key] = part, bucket
        return found


def test_buckets_are_filled(tables: dict[str, Table]) -> None:
    """Java: GlobalIndexAssignerTest.testBucketAssign."""
    calls = Calls(tables["deduplicate"])
    assert [row[-1] for row in calls.put((0, 1, 1, 1), (0, 1, 2, 2), (0, 1, 3, 3))] == [0, 0, 0]
    assert [row[-1] for row in calls.put((0, 1, 4, 4))] == [2]
    assert [row[-1] for row in calls.put((0, 2, 5, 5))] == [0]
    assert [row[-1] for row in calls.put((0, 1, 4, 4), (0, 1, 2, 2), (0, 1, 3, 3))] == [2, 0, 0]


def test_a_key_moves(tables: dict[str, Table]) -> None:
    """Java: GlobalIndexAssignerTest.testUpsert."""
    calls = Calls(tables["deduplicate"])
    assert calls.put((0, 1, 1, 1), (0, 2, 1, 2)) == [(0, 1, 1, 1, 0), (3, 1, 1, 2, 0), (0, 2, 1, 2, 0)]
    assert calls.put((2, 3, 1, 5)) == [(3, 2, 1, 5, 0), (2, 3, 1, 5, 0)]
    assert calls.put((3, 3, 1, 6)) == [(3, 3, 1, 6, 0)]


@pytest.mark.parametrize("engine", ["partial-update", "aggregation"])
def test_rows_go_where_the_key_is(tables: dict[str, Table], engine: str) -> None:
    """Java: GlobalIndexAssignerTest.testUseOldPartition."""
    calls = Calls(tables[engine])
    assert calls.put((0, 1, 1, 1), (0, 2, 1, 2)) == [(0, 1, 1, 1, 0), (0, 1, 1, 2, 0)]
    assert [row[-1] for row in calls.put((0, 2, 2, 2), (0, 2, 3, 3), (0, 2, 4, 4))] == [0, 0, 0]


def test_the_first_row_stays(tables: dict[str, Table]) -> None:
    """Java: GlobalIndexAssignerTest.testFirstRow."""
    calls = Calls(tables["first-row"])
    assert calls.put((0, 1, 1, 1), (0, 2, 1, 2)) == [(0, 1, 1, 1, 0)]
    assert [row[-1] for row in calls.put((0, 2, 2, 2), (0, 2, 3, 3), (0, 2, 4, 4))] == [0, 0, 0]


def test_buckets_have_the_rows_of_their_files(tables: dict[str, Table]) -> None:
    plan = DynamicPlan(rows={key_partition(tables, 1): {0: 2, 1: 0, 2: 3, 4: 1}})
    assigner = CrossPartitionAssigner(tables["deduplicate"], plan, 0, 2)
    found = written(assigner.assign(key_rows([(0, 1, key, 0) for key in range(5)], {})))
    assert [row[-1] for row in found] == [0, 4, 4, 6, 6], "bucket 1 is the other assigner's"


def key_partition(tables: dict[str, Table], value: int) -> bytes:
    fields = tables["deduplicate"].schema.partition_fields
    return group_rows(key_rows([(0, value, 1, 1)], {}).rows, fields, None)[0][0]


def test_a_key_in_two_places_is_an_error(tables: dict[str, Table]) -> None:
    rows = key_rows([], {7: (1, 0)})
    twice = pa.concat_batches([rows.rows, key_rows([], {7: (2, 0)}).rows])
    given_twice = KeyRows(twice, np.zeros(2, np.int8), np.zeros(2, np.int32), np.full(2, -1))
    with pytest.raises(DataError, match=r"holds the key \{'pk': 7\} in two places"):
        CrossPartitionAssigner(tables["deduplicate"], DynamicPlan(), 0, 1).assign(given_twice)


def test_no_rows(tables: dict[str, Table]) -> None:
    for table in tables.values():
        found = CrossPartitionAssigner(table, DynamicPlan(), 0, 1).assign(key_rows([], {1: (1, 0)}))
        assert found.rows.num_rows == len(found.kinds) == 0


PARTS = st.sampled_from([None, 0, 1, 2])
ROWS = st.lists(st.tuples(st.sampled_from([0, 0, 1, 2, 3]), PARTS, st.integers(0, 5), st.integers(0, 99)), max_size=12)
KNOWN = st.dictionaries(st.integers(0, 7), st.tuples(PARTS, st.integers(0, 3)))


@given(st.sampled_from(["deduplicate", "partial-update", "first-row"]), ROWS, KNOWN)
def test_against_one_row_after_the_other(
    tables: dict[str, Table], engine: str, rows: list[Given], known: dict[int, tuple[int | None, int]]
) -> None:
    found = written(CrossPartitionAssigner(tables[engine], DynamicPlan(), 0, 1).assign(key_rows(rows, known)))
    state: dict[int, int | None] = {key: part for key, (part, _) in known.items()}
    expected: list[Given] = []
    taken_back: set[int] = set()
    for kind, part, key, value in rows:
        is_gone = key in taken_back
        taken_back = taken_back | {key} if kind in (1, 3) else taken_back - {key}
        if key not in state or state[key] == part:
            state[key] = part
            expected.append((kind, part, key, value))
        elif engine == "deduplicate":
            expected += [] if is_gone else [(3, state[key], key, value)]
            expected.append((kind, part, key, value))
            state[key] = part
        elif engine == "partial-update":
            expected.append((kind, state[key], key, value))
    assert [row[:-1] for row in found] == expected
    buckets = dict(known)
    for _, part, key, _, bucket in found:
        if key in buckets and buckets[key][0] == part:
            assert buckets[key][1] == bucket, "a key stays in its bucket while it stays in its partition"
        buckets[key] = part, bucket


def made(path: Path, **options: str) -> Table:
    given_options = {key.replace("_", "-"): value for key, value in options.items()}
    create_table(
        str(path), new_schema(COLUMNS, ("pk",), ("pt",), {"bucket": "-1", "write-only": "true"} | given_options)
    )
    return open_table(str(path))


def test_kinds_in_a_column_tell_the_deletion_too(tmp_path: Path) -> None:
    table = made(tmp_path / "t", **{"rowkind.field": "op"})
    given_rows = key_rows([(0, 2, 1, 5)], {1: (1, 0)})
    told = given_rows.rows.set_column(3, COLUMNS.field("op"), pa.array([None, "+I"]))
    given_rows = KeyRows(told, given_rows.kinds, given_rows.buckets, given_rows.places)
    found = CrossPartitionAssigner(table, DynamicPlan(), 0, 1).assign(given_rows)
    assert found.rows.column("op").to_pylist() == ["-D", "+I"]
    assert found.rows.column("pt").to_pylist() == [1, 2]


def test_an_update_that_moves_a_key_takes_the_old_row_back_once(tables: dict[str, Table]) -> None:
    """Applied in order to what each partition has, the changes leave the table: none takes back what is not there."""
    update: list[Given] = [(1, 1, 7, 5), (2, 2, 7, 6)]
    found = written(
        CrossPartitionAssigner(tables["deduplicate"], DynamicPlan(), 0, 1).assign(key_rows(update, {7: (1, 0)}))
    )
    assert [row[:-1] for row in found] == update


def test_jobs_that_would_leave_a_key_in_two_partitions_are_refused(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    check_cross_partition_job(table, overwrites=False, whole=True)
    check_cross_partition_job(table, overwrites=True, whole=True)
    with pytest.raises(UnsupportedFeature, match="overwrite the whole table, or append the rows"):
        check_cross_partition_job(table, overwrites=True, whole=False)
    ignoring = made(tmp_path / "ignoring", ignore_delete="true")
    with pytest.raises(UnsupportedFeature, match="'ignore-delete' = 'true'"):
        check_cross_partition_job(ignoring, overwrites=False, whole=True)
    other = made(tmp_path / "other", **{"ignore-delete": "true", "merge-engine": "partial-update"})
    check_cross_partition_job(other, overwrites=False, whole=True)


def write(table: Table, user: str, since: int | None) -> list[CommitMessage]:
    writer = TableWrite(table, user, 0, plan_write(table))
    batch = pa.RecordBatch.from_pylist([{"pt": 1, "pk": 1, "col": 1, "op": None}], schema=COLUMNS)
    writer.write(batch, buckets=np.zeros(1, np.int32))
    messages = writer.finish()
    TableCommit(table, user, since).append(messages)
    return messages


def test_a_row_written_since_the_plan_is_a_conflict(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    (message,) = write(table, "a", 0)
    with pytest.raises(CommitConflict, match=r"the job of user a \(snapshot 1\) may have written keys of this job"):
        write(table, "b", 0)
    (file,) = message.new_files
    moved = replace(message, new_files=(), compact_before=(file,), compact_after=(file._replace(level=1),))
    TableCommit(table, "compactor").append([moved])
    write(table, "b", 1)  # a compaction moves no key
    assert table.snapshots.latest_id() == 3
    with pytest.raises(ValueError, match="needs to know the snapshot it was planned on"):
        write(table, "c", None)


def test_what_nobody_can_tell_is_a_conflict(tmp_path: Path) -> None:
    table = made(tmp_path / "t")
    (message,) = write(table, "a", 0)
    (file,) = message.new_files
    moved = replace(message, new_files=(), compact_before=(file,), compact_after=(file._replace(level=1),))
    TableCommit(table, "compactor").append([moved])
    (tmp_path / "t" / "snapshot" / "snapshot-1").unlink()
    with pytest.raises(CommitConflict, match="between snapshots 0 and 2, of which some have expired"):
        write(table, "b", 0)
