"""Which rows count where compaction looks keys up, and when a read has to care."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_sections import make_file

from paimon_spark.format.schema import SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.merge.engines.deduplicate import deduplicate
from paimon_spark.merge.engines.lookup import counts_levels, key_levels, lowest_level, with_level
from paimon_spark.merge.keys.sections import Section, SortedRun
from paimon_spark.merge.keys.window import MergeSpec
from paimon_spark.merge.keys.winners import Groups
from paimon_spark.merge.runs.sort_merge import merge_runs

INT = DataType(Root.INT)
SPEC = MergeSpec((DataField(0, "k", INT.with_nullable(False)),))


def section_of(*files: tuple[int, int, int]) -> Section:
    """Files of all the same key: (level, least and greatest sequence number)."""
    metas = (make_file(str(i), 1, 1, (low, high), level) for i, (level, low, high) in enumerate(files))
    return tuple(SortedRun((meta,)) for meta in metas)


OLDER_ABOVE = section_of((0, 30, 31), (0, 32, 40), (3, 20, 29), (5, 0, 19))
MIXED = section_of((0, 30, 31), (3, 19, 29), (5, 0, 19))


def test_one_level_above_0_needs_no_care() -> None:
    assert not counts_levels(section_of((0, 5, 6), (0, 3, 7), (5, 0, 4)), SPEC, whole_rows=False)
    assert not counts_levels(section_of((0, 5, 6), (0, 3, 7)), SPEC, whole_rows=False)
    assert not counts_levels(section_of((5, 5, 6), (5, 0, 4)), SPEC, whole_rows=False)


def test_engines_that_fold_count_one_of_several_levels() -> None:
    assert counts_levels(OLDER_ABOVE, SPEC, whole_rows=False)


def test_the_newest_row_is_on_the_lowest_level_if_all_its_rows_are_newer() -> None:
    assert not counts_levels(OLDER_ABOVE, SPEC, whole_rows=True)
    assert not counts_levels(section_of((5, 0, 3), (2, 7, 9), (4, 4, 4), (2, 5, 6)), SPEC, whole_rows=True)
    assert counts_levels(MIXED, SPEC, whole_rows=True)
    assert counts_levels(section_of((2, 9, 9), (5, 0, 3), (2, 2, 2)), SPEC, whole_rows=True)
    assert counts_levels(section_of((2, 9, 9), (3, 4, 5), (5, 0, 4)), SPEC, whole_rows=True)


@pytest.mark.parametrize(
    "spec",
    [
        replace(SPEC, sequence_fields=(DataField(1, "v", INT),)),
        replace(SPEC, ignore_delete=True),
        replace(SPEC, ignore_update_before=True),
    ],
)
def test_what_else_than_the_number_tells_the_newest_row_is_looked_at(spec: MergeSpec) -> None:
    assert counts_levels(OLDER_ABOVE, spec, whole_rows=True)


def test_the_engine_can_be_sent_to_a_worker() -> None:
    assert pickle.loads(pickle.dumps(lowest_level(deduplicate))) == lowest_level(deduplicate)


@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=5), min_size=1, max_size=6))
def test_levels_of_keys(keys: list[list[int]]) -> None:
    """Every key has any number of rows on level 0 and one at most on each level above."""
    levels_by_key = [
        [level for level, _ in itertools.groupby(sorted(key)) if level] + [0] * key.count(0) for key in keys
    ]
    levels = np.array([level for key in levels_by_key for level in key], np.int8)
    starts = np.cumsum([0, *map(len, levels_by_key)][:-1])
    order = np.random.default_rng(len(levels)).permutation(len(levels))
    scattered = np.empty_like(levels)
    scattered[order] = levels
    found = key_levels(Groups(order, starts), scattered)
    counts = np.ones(len(levels), np.bool_) if found.counts is None else found.counts
    for number, (key, start) in enumerate(zip(levels_by_key, starts.tolist(), strict=True)):
        rows = order[start : start + len(key)]
        lowest = min((level for level in key if level), default=None)
        assert found.has_level_0[number] == (0 in key)
        assert (found.upper[number] == -1) == (lowest is None)
        assert lowest is None or (found.upper[number] in rows and scattered[found.upper[number]] == lowest)
        assert counts[rows].tolist() == [level in (0, lowest) for level in key]


@pytest.mark.parametrize("ordered", [False, True])
def test_windows_of_several_levels_and_of_one(ordered: bool) -> None:
    def run(level: int, first: int, rows: dict[int, str]) -> list[pa.RecordBatch]:
        columns = {
            "k": pa.array(rows, pa.int32()),
            "v": pa.array(rows.values(), pa.string()),
            SEQUENCE_NUMBER: pa.array(range(first, first + len(rows)), pa.int64()),
            VALUE_KIND: pa.array([0] * len(rows), pa.int8()),
        }
        batch = with_level(pa.RecordBatch.from_pydict(columns), level)
        return [batch.slice(i, 2) for i in range(0, len(rows), 2)]

    older = run(2, 0, {1: "low", 2: "low", 7: "low"})
    newer = run(4, 50, {1: "high", 2: "high", 3: "high", 8: "high"})
    latest = run(0, 100, {2: "0", 3: "0", 9: "0"})
    merged = merge_runs(
        [iter(older), iter(newer), iter(latest)], SPEC, ["k", "v"], ordered=ordered, engine=lowest_level(deduplicate)
    )
    rows = sorted((row["k"], row["v"]) for batch in merged for row in batch.to_pylist())
    assert rows == [(1, "low"), (2, "0"), (3, "0"), (7, "low"), (8, "high"), (9, "0")]
