"""More runs than may be open at once: the merge comes out the same, the biggest runs are not moved, no file is left."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables.compacting import compact, live_files, make, rows_of

from paimon_spark.arrow.types import arrow_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.runs.sort_merge import merge_runs
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.sorted_runs import MOST_RUNS, RunSpill, SizedRun
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write
from paimon_spark.tables.open import open_table

KEY = DataField(0, "k", DataType(Root.INT, False))
SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int32())])
Runs = Sequence[Sequence[tuple[int, int]]]
RUNS = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=6).map(sorted), max_size=9)


def batches(run: Sequence[tuple[int, int]], begun: list[int], number: int) -> Iterator[pa.RecordBatch]:
    begun.append(number)
    for start in range(0, len(run), 2):
        rows = run[start : start + 2]
        yield pa.RecordBatch.from_pydict({"k": [k for k, _ in rows], "v": [v for _, v in rows]}, schema=SCHEMA)


def sized(runs: Runs, begun: list[int]) -> list[SizedRun]:
    return [SizedRun(batches(run, begun, number), len(run)) for number, run in enumerate(runs)]


@given(RUNS, st.integers(2, 4), st.integers(1, 5))
def test_the_same_rows_win(runs: Runs, most: int, batch_rows: int) -> None:
    def winners(left: Sequence[Iterator[pa.RecordBatch]]) -> list[dict[str, Any]]:
        spec = MergeSpec((KEY,), has_sequence=False, has_kind=False)
        return [row for batch in merge_runs(left, spec, ["k", "v"], ordered=True) for row in batch.to_pylist()]

    with RunSpill(most) as spill:
        fewer = spill.fewer(sized(runs, []), (KEY,), ["k", "v"], batch_rows)
        assert len(fewer) == min(len(runs), max(most, 1))
        found = winners(fewer)
    expected = {k: v for run in runs for k, v in run}
    assert found == [{"k": k, "v": expected[k]} for k in sorted(expected)]


@given(RUNS, st.integers(2, 4))
def test_no_row_gets_lost(runs: Runs, most: int) -> None:
    with RunSpill(most) as spill:
        fewer = spill.fewer(sized(runs, []), (KEY,), ["k", "v"], 3)
        found = [tuple(row.values()) for run in fewer for batch in run for row in batch.to_pylist()]
    assert sorted(found) == sorted(row for run in runs for row in run)


def test_the_smallest_neighbours_are_merged_and_their_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runs = [[(k, 0) for k in range(count)] for count in (50, 3, 2, 1, 40)]
    begun: list[int] = []
    with RunSpill(3) as spill:
        fewer = spill.fewer(sized(runs, begun), (KEY,), ["k", "v"], 100)
        assert len(fewer) == 3
        assert sorted(begun) == [1, 2, 3]
        assert sum(batch.num_rows for batch in fewer[1]) == 6
        assert len(list(tmp_path.rglob("part-*"))) == 1
    assert list(tmp_path.iterdir()) == []


def test_few_runs_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runs = sized([[(1, 1)], [(1, 2)]], [])
    with RunSpill(2) as spill:
        assert spill.fewer(runs, (KEY,), ["k", "v"], 100) == [run.batches for run in runs]
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options",
    [{}, {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}, {"changelog-producer": "lookup"}],
    ids=["newest", "sum", "with levels"],
)
def test_a_bucket_of_very_many_runs_is_compacted(options: dict[str, str], tmp_path: Path) -> None:
    table = make(tmp_path / "t", SCHEMA, ["k"], options)
    write_at_once(table, MOST_RUNS + 9)
    before = rows_of(table)
    assert len(live_files(table)) == MOST_RUNS + 9
    (result,) = compact(table)
    assert len(result.after) == 1
    assert rows_of(table) == before


def write_at_once(table: Table, tasks: int) -> None:
    """One commit of so many tasks with a run each."""
    table = open_table(table.location)
    plan, messages, schema = plan_write(table), [], arrow_schema(table.schema.fields)
    for number in range(tasks):
        task = TableWrite(table, "u", number, plan)
        keys = [number % 7, 7, 8 + number]
        task.write(pa.RecordBatch.from_pydict({"k": keys, "v": [number] * 3}, schema=schema))
        messages += task.finish()
    TableCommit(table, "u").append(messages)
