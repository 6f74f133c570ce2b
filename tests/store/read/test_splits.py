"""Packing sections into splits, and what a split knows of its rows."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, SimpleStats
from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.keys.sections import SortedRun
from paimon_spark.store.read.metadata_aggregates import live_rows
from paimon_spark.store.read.splits import (
    DeletionFile,
    DiffSplit,
    Split,
    divided,
    group_splits,
    pack_ordered,
    pack_parts,
)

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


@given(
    sizes=st.lists(st.lists(st.integers(1, 2**24), max_size=8), max_size=4),
    merged=st.lists(st.booleans(), min_size=4, max_size=4),
    count=st.integers(1, 20),
)
def test_pieces_of_splits_have_the_same_files_in_the_same_order(
    sizes: list[list[int]], merged: list[bool], count: int
) -> None:
    section = (SortedRun((file("a", 30),)), SortedRun((file("b", 30),)))
    splits = [
        Split(EMPTY_ROW, number, "b", tuple(file(f"{number}-{i}", n) for i, n in enumerate(each)), (section,) * has)
        for number, (each, has) in enumerate(zip(sizes, merged, strict=False))
    ]
    pieces = [piece for piece in divided(splits, count) if isinstance(piece, Split)]
    assert [f for piece in pieces for f in piece.files] == [f for split in splits for f in split.files]
    assert [s for piece in pieces for s in piece.sections] == [s for split in splits for s in split.sections]
    most = max(sum(split.size for split in splits) // count, 2**21)
    assert all(p.size <= most or p.file_count == 1 or p.sections or not p.raw_files for p in pieces)


def test_a_piece_has_what_belongs_to_its_files() -> None:
    deletions, selections = {"1": DeletionFile("i", 1, 9, 1)}, {"0": b"rows"}
    whole = Split(EMPTY_ROW, 3, "b", (file("0", 2**21), file("1", 2**21)), (), deletions, 7, "side", selections)
    pieces = divided([whole], 2)
    assert [[f.file_name for f in piece.files] for piece in pieces] == [["0"], ["1"]]
    assert {(p.bucket, p.bucket_path, p.snapshot_id, p.branch) for p in pieces if isinstance(p, Split)} == {
        (3, "b", 7, "side")
    }
    assert all(p.deletions == deletions and p.selections == selections for p in pieces if isinstance(p, Split))


def test_small_files_stay_together() -> None:
    """Each thread costs about as much as the read of some of them."""
    files = [file(str(i), 2**18) for i in range(20)]
    pieces = divided([Split(EMPTY_ROW, 0, "b", tuple(files))], 16)
    assert [len(list(piece.files)) for piece in pieces] == [8, 8, 4]


def test_two_states_are_compared_as_a_whole() -> None:
    split = Split(EMPTY_ROW, 0, "b", (file("0", 2**22), file("1", 2**22)))
    both = DiffSplit((split,), (split,))
    assert divided([both], 4) == [both]


def test_what_travels_to_a_task_has_no_statistics() -> None:
    """Plans need them, and readers do not; all else stays."""
    full = SimpleStats(b"min", b"max", (1,))
    rich = [file(name)._replace(value_stats=full, value_stats_cols=("a",), embedded_index=b"index") for name in "abc"]
    deletions, selections = {"a": DeletionFile("i", 1, 2, 3)}, {"a": b"rows"}
    sections = ((SortedRun((rich[1],)), SortedRun((rich[2],))),)
    split = Split(EMPTY_ROW, 1, "/t/bucket-1", (rich[0],), sections, deletions, 7, "b", selections)
    found = split.without_statistics()
    plain = [one._replace(value_stats=EMPTY_STATS, value_stats_cols=None, embedded_index=None) for one in rich]
    assert list(found.files) == plain
    assert replace(found, raw_files=split.raw_files, sections=sections) == split
    assert [[run.files for run in section] for section in found.sections] == [[(plain[1],), (plain[2],)]]
