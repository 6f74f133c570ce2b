"""`postpone.merge-on-read`: a read shows what it would show after a compaction of the postponed files."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables.staging import Row, put

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.engines.deduplicate import deduplicate
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.store.compact.compaction import compact_table
from paimon_spark.store.compact.local_pool import LocalRunner
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.sorted_runs import sorted_runs
from paimon_spark.store.read.splits import PostponeSplit
from paimon_spark.store.rescale.postpone_compact import compact_postponed
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("part", pa.string()), ("id", pa.int64()), ("a", pa.int64()), ("b", pa.string())])
WAITING = {"postpone.batch-write-fixed-bucket": "false"}
MERGED = {"postpone.merge-on-read": "true"}
ENGINES: dict[str, dict[str, str]] = {
    "deduplicate": {},
    "sequence": {"sequence.field": "a"},
    "partial-update": {"merge-engine": "partial-update"},
    "aggregation": {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"},
    "lookup": {"changelog-producer": "lookup"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "first-row": {"merge-engine": "first-row"},
}


def make(path: Path, parts: Sequence[str] = ("part",), **options: str) -> Table:
    stored = {"bucket": "-2", "postpone.default-bucket-num": "3"} | options
    create_table(str(path), new_schema(COLUMNS, (*parts, "id"), parts, stored))
    return open_table(str(path))


def wait(table: Table, rows: Sequence[Row], kinds: Sequence[int] | None = None) -> None:
    put(table.with_options(WAITING), rows, kinds=kinds)


def read(table: Table, columns: Sequence[str] | None = None, where: str | None = None, **options: str) -> list[Row]:
    opened = open_table(table.location, {k.replace("__", "-").replace("_", "."): v for k, v in options.items()})
    found = opened.scan(columns, where).to_arrow().to_pylist()
    return sorted((tuple(row.values()) for row in found), key=repr)


def merged(table: Table, *more: Any, **options: str) -> list[Row]:
    return read(table, *more, postpone_merge__on__read="true", **options)


@pytest.mark.parametrize("engine", list(ENGINES))
def test_a_merged_read_shows_what_a_compaction_will_show(tmp_path: Path, engine: str) -> None:
    table = make(tmp_path / "t", **ENGINES[engine])
    takes_deletes = engine in ("deduplicate", "sequence", "lookup", "vectors")
    rows = [(("x", "y")[i % 2], i, i, f"b{i}") for i in range(60)]
    put(table, rows)
    compact_table(table, LocalRunner())
    wait(table, [(p, k + 20, a + 5, None) for p, k, a, _ in rows])
    wait(table, [("x", 0, 1, "late"), ("y", 1, 2, None), ("z", 7, 7, "new")])
    if takes_deletes:
        wait(table, rows[10:20], kinds=[3] * 10)
    before = read(table)
    found = merged(table)
    assert found != before
    assert merged(table, ["id", "b"]) == sorted(((k, b) for _, k, _, b in found), key=repr)
    assert merged(table, ["a"], "id = 25 and b is null") == [(a,) for _, k, a, b in found if k == 25 and b is None]
    assert merged(table, ["a"], "a >= 30") == sorted(((a,) for _, _, a, _ in found if a >= 30), key=repr)
    assert merged(table, None, "part = 'z'") == [row for row in found if row[0] == "z"]
    assert open_table(table.location, MERGED).scan().count() == len(found)
    compact_postponed(table)
    compact_table(table, LocalRunner())
    assert read(table) == found
    assert merged(table) == found


def test_a_split_reads_only_its_buckets_of_what_waits(tmp_path: Path) -> None:
    table = make(tmp_path / "t", parts=())
    put(table, [("p", k, 0, "old") for k in range(100)])
    wait(table, [("p", k, 1, "new") for k in range(50, 150)])
    options = {**MERGED, "source.split.target-size": "1 b"}
    opened = open_table(table.location, options)
    splits = opened.scan().plan().splits
    assert len(splits) == 3
    assert all(isinstance(split, PostponeSplit) for split in splits)
    reader = opened.scan().reader()
    parts = [sorted(key for batch in reader.read(split) for key in batch["id"].to_pylist()) for split in splits]
    assert sorted(key for part in parts for key in part) == list(range(150))
    assert all(parts)
    assert merged(table) == merged(table, source_split_target__size="1 b")


def test_partitions_without_postponed_rows_are_read_as_ever(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    put(table, [("x", 1, 1, "a"), ("y", 1, 1, "a")])
    wait(table, [("y", 1, 2, "b"), ("w", 1, 3, "c")])
    splits = open_table(table.location, MERGED).scan().plan().splits
    assert sorted(isinstance(split, PostponeSplit) for split in splits) == [False, True, True]
    assert merged(table) == [("w", 1, 3, "c"), ("x", 1, 1, "a"), ("y", 1, 2, "b")]


def test_travel_sees_what_waited_then(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    wait(table, [("x", 1, 1, "a")])
    wait(table, [("x", 1, 2, "b")])
    assert merged(table, scan_snapshot__id="1") == [("x", 1, 1, "a")]


def test_files_by_creation_time_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    wait(table, [("x", 1, 1, "a")])
    with pytest.raises(UnsupportedFeature, match=r"postpone\.merge-on-read"):
        merged(table, scan_file__creation__time__millis="0")


def test_one_bucket_is_refused(tmp_path: Path) -> None:
    """Rows that wait have no bucket yet."""
    table = make(tmp_path / "t")
    wait(table, [("x", 1, 1, "a")])
    with pytest.raises(OptionError, match=r"'scan\.bucket' = 0 contradicts 'postpone\.merge-on-read'"):
        merged(table, scan_bucket="0")


def test_changes_are_refused(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    wait(table, [("x", 1, 1, "a")])
    with pytest.raises(UnsupportedFeature, match=r"postpone\.merge-on-read"):
        merged(table, incremental__between="0,1")


# --------------------------------------------------------------------------------------------------------- sorted runs

KEY = DataField(0, "id", DataType(Root.BIGINT, False))


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 40), max_size=6),
    run=st.sampled_from([1, 200, 10**9]),
    memory=st.sampled_from([0, 10**9]),
)
def test_runs_hold_all_rows_in_memory_or_in_files(sizes: list[int], run: int, memory: int) -> None:
    """Each run is sorted, one row a key; numbers go on from run to run."""
    values = np.random.default_rng(sum(sizes)).integers(0, 9, sum(sizes))
    starts = [0, *itertools.accumulate(sizes)]
    batches = [
        pa.RecordBatch.from_arrays([pa.array(values[a:b])], schema=pa.schema([pa.field("id", pa.int64(), False)]))
        for a, b in itertools.pairwise(starts)
    ]
    rows = iter([(batch, np.zeros(batch.num_rows, np.int8)) for batch in batches])
    newest: dict[int, int] = {}
    with sorted_runs(rows, MergeSpec((KEY,)), 100, deduplicate, run, memory) as runs:
        for found in runs:
            keys: list[int] = []
            for batch in found:
                keys += batch["id"].to_pylist()
                newest.update(zip(batch["id"].to_pylist(), batch["_SEQUENCE_NUMBER"].to_pylist(), strict=True))
            assert keys == sorted(set(keys))
    assert newest == {int(v): 100 + i for i, v in enumerate(values)}


def test_what_waits_in_a_partition_without_buckets_is_one_split(tmp_path: Path) -> None:
    """However many bytes it has: it is not known yet in how many buckets its rows will be."""
    table = make(tmp_path / "t")
    wait(table, [("x", k, k, f"{k}") for k in range(99)])
    small = table.with_options({**MERGED, "source.split.target-size": "1 b"})
    (split,) = small.scan().plan().splits
    assert isinstance(split, PostponeSplit)
    assert (split.total_buckets, split.every) == (1, 1)
