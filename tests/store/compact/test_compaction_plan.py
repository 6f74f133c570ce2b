"""Plans of compactions: which buckets, which tasks, where a big bucket is cut. No data file is there to be read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import compacting
from support.tables.files_by_hand import added, file, key, make, partition

from paimon_spark.errors import OptionError, PredicateError
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.options.option import MB
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.compaction.steps import CompactStep
from paimon_spark.merge.keys.sections import SortedRun, partition_sections
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.compact import plan as compaction_plan
from paimon_spark.store.compact.commit import commit_compaction
from paimon_spark.store.compact.live_buckets import place_of
from paimon_spark.store.compact.plan import CompactionPlan, cut_steps, plan_compaction
from paimon_spark.store.compact.task import CompactTaskResult, MergeTask
from paimon_spark.store.metadata.table import Table

X, Y = partition("x"), partition("y")
NO_OPTIONS: Mapping[str, str] = {}
BIGINT = (DataType(Root.BIGINT),)


def table_of(path: Path, options: Mapping[str, str] = NO_OPTIONS) -> Table:
    return make(path, ("part", "id"), ("part",), {"bucket": "2", **options})


def sized(name: str, size: int, keys: tuple[int, int] = (0, 9), level: int = 0, **more: Any) -> DataFileMeta:
    return file(name, level=level, keys=keys, **more)._replace(file_size=size)


def append(table: Table, *files: DataFileMeta, part: bytes = X, bucket: int = 0) -> None:
    messages = [added(*files, part=part, bucket=bucket, total=2)]
    TableCommit(table, f"{files[0].file_name} {part.hex()} {bucket}").append(messages)


def tasks_of(plan: CompactionPlan) -> list[tuple[bytes, int, set[str]]]:
    return [(t.partition, t.bucket, {f.file_name for f in t.files}) for t in plan.tasks]


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    assert plan_compaction(table) == CompactionPlan(table, None)


def test_full_takes_all_files_of_the_buckets_that_need_it_biggest_first(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    append(table, sized("a", 100), sized("b", 50, level=3))
    append(table, sized("c", 900), bucket=1)
    append(table, sized("done", 5000, level=5), part=Y)
    plan = plan_compaction(table)
    assert plan.snapshot is not None
    assert plan.snapshot.id == 3
    assert tasks_of(plan) == [(X, 1, {"c"}), (X, 0, {"a", "b"})] or tasks_of(plan) == [
        (X, 0, {"a", "b"}),
        (X, 1, {"c"}),
    ]
    merged = next(t for t in plan.tasks if t.bucket == 0)
    assert isinstance(merged, MergeTask)
    assert (merged.output_level, merged.drop_deletes, merged.total_buckets, merged.above) == (5, True, 2, ())
    assert plan.tasks == tuple(sorted(plan.tasks, key=lambda t: -t.weight))


LIFETIME = {"partition.expiration-time": "7 d"}
SKIPS = {**LIFETIME, "compaction.skip-expired-partitions": "true"}


@pytest.mark.parametrize("keys", [("part", "id"), ()])
@pytest.mark.parametrize(
    ("options", "parts"),
    [
        (LIFETIME, {"2020-01-01", "9999-01-01", "x", None}),
        (SKIPS, {"9999-01-01", "x", None}),
        ({**SKIPS, "partition.expiration-strategy": "update-time"}, {"2020-01-01", "9999-01-01", "x", None}),
        ({"compaction.skip-expired-partitions": "true"}, {"2020-01-01", "9999-01-01", "x", None}),
    ],
)
def test_partitions_that_are_too_old_are_left_alone(
    tmp_path: Path, keys: tuple[str, ...], options: dict[str, str], parts: set[str | None]
) -> None:
    table = make(
        tmp_path, keys, ("part",), {"bucket": "1" if keys else "-1", "compaction.min.file-num": "2", **options}
    )
    names = ["2020-01-01", "9999-01-01", "x", None]
    for number in range(2):
        files = [added(sized(f"{number} {p}", 100), part=partition(p), total=1 if keys else -1) for p in names]
        TableCommit(table, str(number)).append(files)
    assert {task.partition for task in plan_compaction(table).tasks} == {partition(p) for p in parts}
    place = place_of(table, partition("2020-01-01"), 0)
    assert len(plan_compaction(table, places=[place]).tasks) == 1  # a writer compacts what it wrote to


def test_a_pick_waits_for_the_trigger(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for number in range(4):
        append(table, sized(f"f{number}", 100, min_sequence_number=number, max_sequence_number=number))
        assert plan_compaction(table, full=False).tasks == ()
    append(table, sized("f4", 100, min_sequence_number=4, max_sequence_number=4))
    assert tasks_of(plan_compaction(table, full=False)) == [(X, 0, {f"f{n}" for n in range(5)})]


def test_the_newest_schema_and_its_options_count(tmp_path: Path) -> None:
    """A job that opened the table before a column came must not compact it away."""
    early = table_of(tmp_path, {"target-file-size": "1 gb"}).with_options({"num-levels": "3"})
    append(early, sized("a", 10), sized("b", 10))
    schema = json.loads((tmp_path / "schema" / "schema-0").read_text())
    column = {"id": 3, "name": "late", "type": "STRING"}
    newer = {"id": 1, "fields": [*schema["fields"], column], "highestFieldId": 3, "options": {"bucket": "2"}}
    (tmp_path / "schema" / "schema-1").write_text(json.dumps({**schema, **newer}))
    plan = plan_compaction(early)
    assert plan.table.schema.names == ("part", "id", "value", "late")
    assert dict(plan.table.settings) == {"bucket": "2", "num-levels": "3"}
    (task,) = plan.tasks
    assert isinstance(task, MergeTask)
    assert task.output_level == 2
    assert plan_compaction(plan.table).table is plan.table


def test_only_partitions_and_places_asked_for(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for part, bucket in ((X, 0), (X, 1), (Y, 0)):
        append(table, sized("a", 10), sized("b", 10), part=part, bucket=bucket)
    found = plan_compaction(table, where="part = 'x'")
    assert sorted((p, b) for p, b, _ in tasks_of(found)) == [(X, 0), (X, 1)]
    assert [(p, b) for p, b, _ in tasks_of(plan_compaction(table, places={place_of(table, X, 1)}))] == [(X, 1)]
    assert plan_compaction(table, where="part = 'y'", places={place_of(table, X, 1)}).tasks == ()
    assert plan_compaction(table, where="part in ('z', null)").tasks == ()
    assert len(plan_compaction(table).tasks) == 3


def test_conditions_on_other_columns_are_refused(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    with pytest.raises(OptionError, match=r"id is no partition column.*part"):
        plan_compaction(table, where="part = 'x' and id > 3")
    with pytest.raises(PredicateError):
        plan_compaction(table, where="nonsense(")


def test_lookups_get_the_files_above_that_may_hold_their_keys(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"changelog-producer": "lookup", "num-levels": "4"})
    top = [sized(f"top{n}", 10**9, (100 * n, 100 * n + 99), level=3) for n in range(3)]
    append(table, *top, sized("mid", 10**8, (0, 299), level=2))
    append(table, sized("new", 10, (150, 180), min_sequence_number=99, max_sequence_number=99))
    plan = plan_compaction(table, full=False)
    (task,) = plan.tasks
    assert isinstance(task, MergeTask)
    assert {f.file_name for f in task.files} == {"new"}
    assert (task.output_level, task.drop_deletes) == (1, False)
    assert {f.file_name for f in task.above} == {"mid", "top1"}
    assert plan.upper == {place_of(table, X, 0): frozenset({("mid", 2), ("top0", 3), ("top1", 3), ("top2", 3)})}


def test_plain_tables_look_nothing_up(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    append(table, sized("top", 10**9, level=5), *(sized(f"n{n}", 10, min_sequence_number=n) for n in range(6)))
    plan = plan_compaction(table, full=False)
    assert plan.upper == {}
    assert all(isinstance(t, MergeTask) and t.above == () for t in plan.tasks)


def test_vectors_travel_with_their_files(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"deletion-vectors.enabled": "true"})
    append(table, sized("top", 10**9, (0, 99), level=5), sized("far", 10**9, (200, 300), level=5))
    append(table, sized("low", 10, (1, 2)))
    deleted = {name: np.array([3], "<i8").tobytes() for name in ("top", "far")}
    moved = CompactTaskResult(X, 0, 2, (), (), superseded=deleted)
    base = table.snapshots.load(2)
    assert commit_compaction(table, base, {}, [moved]).snapshot_id == 3
    (task,) = plan_compaction(table, full=False).tasks
    assert isinstance(task, MergeTask)
    assert [f.file_name for f in task.above] == ["top"]
    assert set(task.deletions) == {"top"}
    assert set(plan_compaction(table).tasks[0].deletions) >= {"top"}


def test_files_with_vectors_are_rewritten_by_a_full_compaction(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"deletion-vectors.enabled": "true"})
    append(table, sized("a", 10**9, (0, 9), level=5), sized("b", 10**9, (20, 30), level=5))
    assert plan_compaction(table).tasks == ()
    deleted = CompactTaskResult(X, 0, 2, (), (), superseded={"a": np.array([0], "<i8").tobytes()})
    commit_compaction(table, table.snapshots.load(1), {}, [deleted])
    assert tasks_of(plan_compaction(table)) == [(X, 0, {"a"})]


def test_files_that_may_hold_rows_that_are_too_old_are_rewritten_by_a_full_compaction(tmp_path: Path) -> None:
    columns, now = pa.schema([("k", pa.int32()), ("t", pa.int32())]), int(time.time())
    expiry = {"record-level.expire-time": "1 h", "record-level.time-field": "t"}
    for age, options, tasks in ((4000, expiry, 1), (0, expiry, 0), (4000, NO_OPTIONS, 0)):
        table = compacting.make(tmp_path / f"{age}{len(options)}", columns, ["k"], {})
        compacting.write(table, [(1, now - age)])
        compacting.compact(table)
        assert len(plan_compaction(table.with_options(options), full=True).tasks) == tasks


def test_a_big_bucket_is_cut_between_sections(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    pairs = [
        sized(f"{kind}{n}", 60 * MB, (10 * n, 10 * n + 9), min_sequence_number=i, max_sequence_number=i)
        for n in range(6)
        for i, kind in enumerate("ab")
    ]
    append(table, *pairs)
    plan = plan_compaction(table)
    assert [sorted(names) for _, _, names in tasks_of(plan)] == [
        ["a0", "a1", "b0", "b1"],
        ["a2", "a3", "b2", "b3"],
        ["a4", "a5", "b4", "b5"],
    ]
    assert all(t.weight == 240 * MB for t in plan.tasks)
    with patch.object(compaction_plan, "TASK_BYTES", 10**12):
        (whole,) = plan_compaction(table).tasks
        assert isinstance(whole, MergeTask)
        assert len(whole.steps) == 1, "small sections beside each other are rewritten together"


def sections(sizes: Sequence[int]) -> list[tuple[SortedRun, ...]]:
    files = [sized(f"f{i}", size, (10 * i, 10 * i + 5)) for i, size in enumerate(sizes)]
    twice = [f._replace(file_name=f.file_name + "'", file_size=0) for f in files]
    return partition_sections([*files, *twice], BIGINT)


@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=6), min_size=1, max_size=5), st.integers(1, 120))
def test_cutting_keeps_every_section_once_and_in_order(sizes: list[list[int]], limit: int) -> None:
    flat = sections([size for step in sizes for size in step])
    steps, start = [], 0
    for number, step in enumerate(sizes):
        rewrites = len(step) > 1 or number % 2 == 0
        steps.append(CompactStep(tuple(flat[start : start + len(step)]), rewrites, changelog=number % 3 == 0))
        start += len(step)
    parts = cut_steps(steps, limit)
    pieces = [(s, step.rewrites, step.changelog) for part in parts for step in part for s in step.sections]
    assert pieces == [(s, step.rewrites, step.changelog) for step in steps for s in step.sections]

    def weight(part: tuple[CompactStep, ...]) -> int:
        return sum(f.file_size for step in part if step.rewrites or step.changelog for f in step.files)

    for part in parts:
        assert weight(part) <= limit or sum(len(step.sections) for step in part if step.rewrites or step.changelog) <= 1
    if sum(map(weight, parts)) <= limit:
        assert parts == [tuple(steps)], "what is small enough is one task, its steps as they were"


def test_moves_alone_are_one_task() -> None:
    moves = [CompactStep((section,), rewrites=False, changelog=False) for section in sections([5, 6, 7])]
    assert cut_steps(moves, 1) == [tuple(moves)]
    assert cut_steps([], 1) == []


def test_keys_of_the_cut_are_those_of_the_table(tmp_path: Path) -> None:
    """Decoded, not compared as bytes: 256 comes after 1."""
    table = table_of(tmp_path, {"changelog-producer": "lookup", "num-levels": "3"})
    append(table, sized("top", 10**9, (256, 300), level=2), sized("new", 10, (1, 255)))
    (task,) = plan_compaction(table, full=False).tasks
    assert isinstance(task, MergeTask)
    assert key(256) < key(1), "or the test shows nothing"
    assert task.above == ()
