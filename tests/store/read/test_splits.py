"""Packing sections into splits, and what a split knows of its rows."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, DataFileMeta, SimpleStats
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.keys.sections import SortedRun
from paimon_spark.store.read.known_totals import live_rows
from paimon_spark.store.read.splits import DeletionFile, Split, group_splits, pack_ordered, pack_parts

KEY = encode_arity_row((1,), (DataType(Root.INT),))


def file(name: str, size: int = 100, rows: int = 10, deletes: int | None = 0, key: bytes = KEY) -> DataFileMeta:
    return DataFileMeta(
        file_name=name,
        file_size=size,
        row_count=rows,
        min_key=key,
        max_key=key,
        key_stats=SimpleStats(),
        value_stats=SimpleStats(),
        min_sequence_number=0,
        max_sequence_number=0,
        schema_id=0,
        level=0,
        delete_row_count=deletes,
    )


@given(weights=st.lists(st.integers(0, 12), max_size=30), target=st.integers(1, 20))
def test_bins_keep_order_and_are_as_full_as_they_can(weights: list[int], target: int) -> None:
    bins = [weights[start:end] for start, end in pack_ordered(weights, target)]
    assert [w for each in bins for w in each] == weights
    assert all(sum(each) <= target or len(each) == 1 for each in bins)
    assert all(sum(left) + right[0] > target for left, right in itertools.pairwise(bins))


def test_a_small_file_weighs_what_opening_it_costs() -> None:
    files = [file(str(i), size=1) for i in range(6)]
    assert [len(group) for group, _ in pack_parts(files, [], target=100, open_cost=40)] == [2, 2, 2]
    assert [len(group) for group, _ in pack_parts(files, [], target=100, open_cost=1)] == [6]


def test_a_section_is_never_cut() -> None:
    x, y = file("x", 60), file("y", 60)
    section = (SortedRun((file("a", 90), file("b", 90))), SortedRun((file("c", 90),)))
    other = (SortedRun((file("d", 5),)), SortedRun((file("e", 5),)))
    assert list(pack_parts([x, y], [section, other], target=100, open_cost=1)) == [
        ((x,), ()),
        ((y,), ()),
        ((), (section,)),
        ((), (other,)),
    ]
    assert list(pack_parts([x, y], [section, other], target=390, open_cost=1)) == [((x, y), (section,)), ((), (other,))]
    assert list(pack_parts([x, y], [section, other], target=400, open_cost=1)) == [((x, y), (section, other))]
    assert list(pack_parts([], [section, other], target=400, open_cost=1)) == [((), (section, other))]


def test_no_parts_no_splits() -> None:
    assert list(pack_parts([], [], 100, 1)) == []


@pytest.mark.parametrize(
    ("one", "deletion", "count"),
    [
        (file("f", deletes=0), None, 10),
        (file("f", deletes=None), None, None),  # an old writer did not count its deletes
        (file("f", deletes=3), None, None),
        (file("f", deletes=None, key=EMPTY_ROW), None, 10),  # append tables have none
        (file("f", deletes=0), DeletionFile("i", 1, 9, 4), 6),
        (file("f", deletes=0), DeletionFile("i", 1, 9, None), None),
        (file("f", deletes=0), DeletionFile("i", 1, 9, 10), 0),
    ],
)
def test_rows_that_are_known(one: DataFileMeta, deletion: DeletionFile | None, count: int | None) -> None:
    found = live_rows(one, deletion)
    assert (None if isinstance(found, str) else found) == count


def test_the_files_of_a_split() -> None:
    section = (SortedRun((file("a"),)), SortedRun((file("b"),)))
    split = Split(EMPTY_ROW, 0, "b", (file("c"),), (section,))
    assert [f.file_name for f in split.files] == ["c", "a", "b"]
    assert (split.file_count, split.row_count, split.size) == (3, 30, 300)


def splits(count: int, size: int) -> list[Split]:
    return [Split(EMPTY_ROW, bucket, "b", (file("f", size),)) for bucket in range(count)]


@pytest.mark.parametrize(
    ("count", "size", "groups"),
    [
        (0, 1, []),
        (1, 10_000, [1]),
        (1600, 1, [32] * 50),  # many tiny buckets: as big as a split may be
        (16, 1, [2] * 8),  # few of them: no fewer than eight tasks
        (2, 50, [1, 1]),
        (3, 10_000, [1, 1, 1]),
    ],
)
def test_groups_of_splits(count: int, size: int, groups: list[int]) -> None:
    found = group_splits(splits(count, size), target=128, open_cost=4)
    assert [len(group) for group in found] == groups
    assert [split.bucket for group in found for split in group] == list(range(count))
