"""Postponed buckets and rescaled tables, written by us and by genuine Java in turns and read by both."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import our_engine
import pytest
from genuine import KINDS, Genuine, table_path
from random_tables import FORMAT_HAS_NOT, NESTED, VALUES
from readers import assert_same
from support.oracles.checker import check_table
from support.oracles.comparing import Row, arrow_batch

from paimon_spark import open_table
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.rescale.postpone_compact import compact_postponed
from paimon_spark.store.rescale.postpone_placement import place_staged
from paimon_spark.store.rescale.rescale import rescale
from paimon_spark.store.write.task_write import open_task_write
from paimon_spark.store.write.write_plan import plan_write

pytestmark = pytest.mark.interop

COLUMNS = {"p": "STRING NOT NULL", "k": "INT NOT NULL", "v": "STRING", "at": "TIMESTAMP(6)", "n": "DECIMAL(20, 3)"}
TWO = {"postpone.default-bucket-num": "2"}


def rows_of(turn: int, count: int = 30) -> list[Row]:
    return [("ab"[i % 2], turn * 5 + i, f"{turn}-{i}", None, None) for i in range(count)]


def kinds_of(count: int) -> list[str]:
    return ["-D" if i % 7 == 0 else "+I" for i in range(count)]


def write_at_once(path: str, rows: Sequence[Row], kinds: Sequence[str] | None = None) -> None:
    """A batch write of ours, visible at once."""
    table, user = open_table(path), str(uuid.uuid4())
    plan = plan_write(table)
    write = open_task_write(table, user, 0, plan)
    codes = None if kinds is None else np.array([KINDS.index(kind) for kind in kinds], np.int8)
    write.write(arrow_batch(rows, table.schema.fields), codes)
    TableCommit(table, user, plan.since).append(place_staged(table, user, plan, write.finish()))


@pytest.mark.parametrize("partitions", [[], ["p"]], ids=["whole", "partitioned"])
def test_java_moves_what_we_postponed(partitions: list[str], java: Genuine, tmp_path: Path) -> None:
    path, mirror = table_path(tmp_path), table_path(tmp_path, "mirror")
    our_engine.create(path, COLUMNS, ["p", "k"], partitions, {"bucket": "-2", **TWO})
    our_engine.create(mirror, COLUMNS, ["p", "k"], partitions, {"bucket": "2"})
    for turn in range(4):
        parts = [(rows_of(turn), kinds_of(30)), (rows_of(turn + 10, 9), None)]
        our_engine.write(path, parts)
        our_engine.write(mirror, parts)
    assert assert_same(path, [java]).total() == 0
    groups = java.compact_postponed(path, 2)
    assert all(len({name.split("-w-")[0] for name in names}) == 1 for names in groups)
    assert len(groups) == 8 * (len(partitions) + 1)
    assert assert_same(path, [java]) == our_engine.read(mirror)
    check_table(path)


@pytest.mark.parametrize("partitions", [[], ["p"]], ids=["whole", "partitioned"])
def test_we_move_what_java_postponed(partitions: list[str], java: Genuine, tmp_path: Path) -> None:
    path, mirror = table_path(tmp_path), table_path(tmp_path, "mirror")
    java.create(path, COLUMNS, ["p", "k"], partitions, {"bucket": "-2", "target-file-row-num": "8", **TWO})
    java.create(mirror, COLUMNS, ["p", "k"], partitions, {"bucket": "2"})
    for turn in range(4):
        for table in (path, mirror):
            java.write(table, rows_of(turn), kinds_of(30))
        if turn == 2:
            done = compact_postponed(open_table(path))
            assert done.files >= 3
            assert assert_same(path, [java]) == our_engine.read(mirror)
    assert compact_postponed(open_table(path)).snapshot_ids
    assert assert_same(path, [java]) == our_engine.read(mirror)
    java.compact(path, options={"bucket": "2"})
    assert assert_same(path, [java]) == our_engine.read(mirror)
    check_table(path)


@pytest.mark.parametrize("writer", ["us", "Java"])
def test_values_of_every_type_wait_and_move(writer: str, java: Genuine, tmp_path: Path) -> None:
    """Postponed files are Avro whatever the table's format is; the values come through it and into parquet."""
    shapes = [(t, values) for t, values in VALUES.items() if t not in FORMAT_HAS_NOT["avro"]] + NESTED
    columns = {"k": "INT NOT NULL"} | {f"c{i}": t for i, (t, _) in enumerate(shapes)}
    random = Random(5)
    rows = [(k, *(random.choice([None, *values]) for _, values in shapes)) for k in range(60)]
    path, mirror = table_path(tmp_path), table_path(tmp_path, "mirror")
    java.create(path, columns, ["k"], [], {"bucket": "-2", **TWO})
    java.create(mirror, columns, ["k"], [], {"bucket": "2"})
    java.write(mirror, rows)
    if writer == "Java":
        java.write(path, rows)
        compact_postponed(open_table(path))
    else:
        _ours(path, rows)
        java.compact_postponed(path, 2)
    assert assert_same(path, [java]) == our_engine.read(mirror)


def test_both_postpone_and_move_in_turns(java: Genuine, tmp_path: Path) -> None:
    path, mirror = table_path(tmp_path), table_path(tmp_path, "mirror")
    our_engine.create(path, COLUMNS, ["p", "k"], ["p"], {"bucket": "-2", **TWO})
    our_engine.create(mirror, COLUMNS, ["p", "k"], ["p"], {"bucket": "2"})
    for turn in range(6):
        (java.write if turn % 2 else _ours)(path, rows_of(turn), kinds_of(30))
        _ours(mirror, rows_of(turn), kinds_of(30))
        if turn == 1:
            java.compact_postponed(path, 2)
        if turn == 4:
            compact_postponed(open_table(path))
        if turn == 3:
            java.compact(path, full=False, options={"bucket": "2"})
    compact_postponed(open_table(path))
    assert assert_same(path, [java]) == our_engine.read(mirror)
    write_at_once(path, rows_of(9), kinds_of(30))
    _ours(mirror, rows_of(9), kinds_of(30))
    assert assert_same(path, [java]) == our_engine.read(mirror)
    check_table(path)


def _ours(path: str, rows: Sequence[Row], kinds: Sequence[str] | None = None) -> None:
    our_engine.write(path, [(rows, kinds)])


def test_java_reads_and_compacts_what_we_wrote_into_buckets_at_once(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["p", "k"], ["p"], {"bucket": "-2", "postpone.target-row-num-per-bucket": "5"})
    for turn in range(3):
        write_at_once(path, rows_of(turn), kinds_of(30))
        assert assert_same(path, [java]).total() > 20
    java.compact(path, options={"bucket": "4"})
    assert_same(path, [java])
    check_table(path)


@pytest.mark.parametrize("keys", [["p", "k"], []], ids=["keys", "append"])
def test_java_goes_on_with_a_table_that_we_rescaled(keys: list[str], java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    options = {"bucket": "2"} if keys else {"bucket": "2", "bucket-key": "k"}
    java.create(path, COLUMNS, keys, ["p"], options)
    for buckets in (5, 3, 1):
        java.write(path, rows_of(buckets), kinds_of(30) if keys else None)
        java.write(path, rows_of(buckets + 1))
        before = assert_same(path, [java])
        rescale(open_table(path), buckets)
        assert assert_same(path, [java]) == before
        java.write(path, rows_of(buckets + 2))  # Java refuses a partition with another number than the option's
        java.compact(path)
        our_engine.write(path, [(rows_of(buckets + 3), None)])
        assert_same(path, [java])
    check_table(path)


def test_a_partition_that_we_rescaled_by_itself_is_read_and_refused_by_java_as_by_us(
    java: Genuine, tmp_path: Path
) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["p", "k"], ["p"], {"bucket": "2"})
    java.write(path, rows_of(0))
    rescale(open_table(path), 4, "p = 'a'")
    assert assert_same(path, [java]).total() == 30
    with pytest.raises(RuntimeError, match="new bucket num 2, but the previous bucket num is 4"):
        java.write(path, rows_of(1))
    java.alter(path, ("setOption", "bucket", "4"))
    java.write(path, [row for row in rows_of(1) if row[0] == "a"])
    rescale(open_table(path), 4)
    java.write(path, rows_of(2))
    assert_same(path, [java])
    check_table(path)


def test_we_rescale_tables_with_deletion_vectors_of_java(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, COLUMNS, ["p", "k"], ["p"], {"bucket": "2", "deletion-vectors.enabled": "true"})
    for turn in range(4):
        java.write(path, rows_of(turn), kinds_of(30))
    before = assert_same(path, [java])
    rescale(open_table(path), 3)
    assert assert_same(path, [java]) == before
    java.write(path, rows_of(5), kinds_of(30))
    assert_same(path, [java])
